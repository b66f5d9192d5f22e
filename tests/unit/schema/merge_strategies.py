"""A kind with every type of list and map, and hypothesis strategies for its objects."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from masthead._schema.schema import Definitions, Schema
from masthead._schema.structured_merge.types import MergeType, merge_type_of

Plain = dict[str, Any]

_STRING: Plain = {"type": "string"}
_SET: Plain = {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"}
_MAP: Plain = {"type": "object", "additionalProperties": _STRING}
_PORTS: Plain = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "properties": {
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "name": _STRING,
            "labels": _MAP,
            "tags": _SET,
        },
    },
}
_SPEC: Plain = {
    "replicas": {"type": "integer"},
    "paused": {"type": "boolean"},
    "labels": _MAP,
    "selector": {**_MAP, "x-kubernetes-map-type": "atomic"},
    "args": {"type": "array", "items": _STRING},
    "finalizers": _SET,
    "ports": _PORTS,
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_KIND: Plain = {
    "type": "object",
    "properties": {
        "apiVersion": _STRING,
        "kind": _STRING,
        "metadata": {"type": "object", "properties": {"name": _STRING, "labels": _MAP, "finalizers": _SET}},
        "spec": {
            "type": "object",
            "properties": {**_SPEC, "nested": {"type": "object", "properties": _SPEC}},
        },
    },
}
THING: MergeType = merge_type_of(Schema.from_plain(_KIND), Definitions())

_names = st.sampled_from("abc")
_values = st.sampled_from("xyz")
_maps = st.dictionaries(_names, _values, max_size=3)
_filled_maps = st.dictionaries(_names, _values, min_size=1, max_size=3)
_sets = st.lists(_names, unique=True, max_size=3)
_lists = st.lists(_values, max_size=2)
_free = st.recursive(
    st.integers(0, 2) | _values | _lists,
    lambda inner: st.dictionaries(_names, inner, min_size=1, max_size=2),
    max_leaves=4,
)


def _key(port: Plain) -> tuple[int, str]:
    return port["port"], port.get("protocol", "TCP")


_ports = st.lists(
    st.fixed_dictionaries(
        {"port": st.integers(80, 81)},
        optional={
            "protocol": st.sampled_from(["TCP", "UDP"]),
            "name": _values,
            "labels": _maps,
            "tags": _sets,
        },
    ),
    unique_by=_key,
    max_size=3,
)
_fields: dict[str, st.SearchStrategy[Any]] = {
    "replicas": st.integers(0, 2),
    "paused": st.booleans(),
    "labels": _maps,
    "selector": _maps,
    "args": _lists,
    "finalizers": _sets,
    "ports": _ports,
    "free": st.dictionaries(_names, _free, min_size=1, max_size=2),
}


def _with_head(parts: Plain) -> Plain:
    metadata = {"name": "it", **parts.get("metadata", {})}
    return {"apiVersion": "v1", "kind": "Thing", **parts, "metadata": metadata}


THINGS: st.SearchStrategy[Plain] = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": _maps, "finalizers": _sets}),
        "spec": st.fixed_dictionaries({}, optional={**_fields, "nested": st.fixed_dictionaries({}, optional=_fields)}),
    },
).map(_with_head)
"""Objects of the kind, with any of its fields."""
