"""The resources that a server serves.

- `catalog`: the resources of one server, which may be added and removed while it runs.
- `resource`: one served version of a resource.
- `description`, `strategy`, `field_selectors`, `behavior`: what the server knows of a resource. The description is
  cheap; the behavior (defaulting, strategy hooks, validation, warnings, conversion) is imported on demand.
- `builtin`: the descriptions of Kubernetes' own resources, by group, and a package for each kind that has code:
  ``builtin/batch/job/validation.py``. `custom`: the description of custom resources.
- `validation`, `defaulting`, `warnings`: code that several kinds share, such as pod templates.
- `go_types`, `go_values`, `go_decoder`: the normal form of objects, as Go's structs make it.
- `names`, `selector_errors`, `storage_version_hash`, `allocator`: the rest.
"""
