"""Schemas of kinds, and the operations that depend on them: validation, defaults, merging, managed fields.

There is one tree, `schema.Schema`: OpenAPI v3 with Kubernetes' extensions. It is read from OpenAPI documents, from
CustomResourceDefinitions and from generated classes. Each operation is a pure function in a separate module. Nothing
here does I/O, so that client, generator and embedded server share it.

- `schema`: the tree. `errors`: errors of fields, and how Go writes values in messages.
- `prune`, `defaulting`: dropping undeclared fields and nulls, setting defaults.
- `validation`: compiled validators; `constraints` of scalars, `formats` and `addresses` of strings, `ratcheting` on
  update, `list_types` for duplicates.
- `strategic_merge`, `strategic_diff`, `three_way_merge`: strategic merge patches, by the `merge_rules` of a schema.
- `path_elements`, `field_sets`: sets of fields in the FieldsV1 format. `structured_merge`: the engine of server-side
  apply. `class_definitions`: the schemas of classes that it merges by.
- `builtin`: the schemas of Kubernetes' own types.
- `extraction`, `managed_fields_upgrade`, `field_removal`: the fields that a manager owns. `field_paths`: paths of
  objects.
"""
