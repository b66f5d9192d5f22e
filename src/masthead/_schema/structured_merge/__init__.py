"""Structured merge: how the fields of an object are owned, compared, merged and removed, for server-side apply.

The same engine is in the client (`extract`, migration from client-side apply) and in the embedded server. Pure: no I/O.

- `types`: how the values of a kind merge, compiled from its schema. `items`: how the items of lists are identified.
- `type_checking`: whether a value fits. `ownership`: the field set of a value. `comparison`: what a write has changed.
- `merging`, `removal`: applying a configuration to an object, and taking fields out of one.
- `reconciliation`: field sets after a schema change. `managers`: who owns what after an update or an apply.
"""
