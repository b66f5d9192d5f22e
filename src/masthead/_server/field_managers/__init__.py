"""Field management: which manager has set which fields of an object, tracked on every write.

From the bottom up: ``entries`` (managedFields), ``reset_fields`` (what a write leaves as it is), ``versions`` (an object in its
versions, and their types), ``field_manager`` (what a write does to the entries), ``scale`` (the entries of the scale subresource).
"""
