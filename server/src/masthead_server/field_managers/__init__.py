"""Field management: which manager has set which fields of an object, tracked on every write.

From the bottom up: ``entries`` (managedFields), ``reset_fields`` (the fields that a write cannot change), ``versions``
(conversion between versions, and their types), ``last_applied`` (the annotation of client-side apply),
``field_manager`` (the entries after a write), ``scale`` (the entries of the scale subresource), ``conflicts`` (the
Status of a refused apply), ``own_entries`` (the entries of the objects that every cluster has).
"""
