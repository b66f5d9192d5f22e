"""Structured merge: how the fields of an object are owned, compared, merged and removed, for server-side apply.

The client (`extract`, migration from client-side apply) and the embedded server share this engine. It does no I/O.

- `types`, `class_types`: how the values of a kind merge, by its schema or class. `items`: how list items are
  identified.
- `type_checking`: whether a value fits. `ownership`: the field set of a value. `comparison`: what a write has changed.
- `merging`, `removal`: merging a configuration into an object, and removing fields from one.
- `extraction`: an object reduced to the fields of a set. `unchanged`: proof that an apply would change nothing.
- `reconciliation`: field sets after a schema change. `managers`: who owns what after an update or an apply.
"""
