"""Field management: which manager has set which fields of an object, tracked on every write.

From the bottom up: ``entries`` (managedFields), ``reset_fields`` (what a write leaves as it is), ``versions`` (an object in its
versions, and their types), ``last_applied`` (the annotation of client-side apply), ``field_manager`` (what a write does to the
entries), ``scale`` (the entries of the scale subresource), ``conflicts`` (the Status of a refused apply), ``own_entries`` (those of
the objects that every cluster has).
"""
