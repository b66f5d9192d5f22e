"""Schemas: what the API says about the fields of a kind, and what follows from it.

There is one tree, `schema.Schema`: OpenAPI v3 with Kubernetes' extensions. It is read from OpenAPI documents, from
CustomResourceDefinitions and from generated classes. Each operation on it is a pure function in a module of its own. Nothing
here does I/O, so that client, generator and embedded server share it.

- `schema`: the tree. `errors`: errors of fields, and how Go writes values in messages.
- `prune`, `defaulting`: dropping undeclared fields and nulls, setting defaults.
- `validation`: compiled validators; `constraints` of scalars, `formats` and `addresses` of strings, `ratcheting` on update,
  `list_types` for duplicates.
- `field_sets`, `extraction`, `managed_fields_upgrade`: the fields that a manager owns. `field_paths`: paths of objects.
"""
