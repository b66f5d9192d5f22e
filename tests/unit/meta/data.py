"""Random valid data for API types, derived from their shapes."""

from __future__ import annotations

import base64
import functools
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from masthead._meta import shape
from masthead._meta.quantity import Quantity
from masthead._meta.time import MicroTime, format_micro_time, format_time

if TYPE_CHECKING:
    from masthead._meta.model import StructType

texts = st.text(st.characters(codec="utf-8"), max_size=8)
times = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)

SCALARS: dict[object, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(-(2**31), 2**31),
    float: st.floats(allow_nan=False, allow_infinity=False, width=32),
    bool: st.booleans(),
    bytes: st.binary(max_size=8).map(lambda data: base64.b64encode(data).decode()),
    datetime: times.map(format_time),
    MicroTime: times.map(format_micro_time),
    Quantity: st.sampled_from(["0", "1", "100m", "128Mi", "1500m", "2Gi", "3k"]),
}


@functools.cache
def data_for(cls: StructType, *, depth: int = 3, unknown: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Data for a type: any of its fields, and a few unknown ones."""
    fields = {
        wire: _value(field.shape, depth - 1, unknown=unknown)
        for wire, field in shape.fields_of(cls).items()
        if wire not in {"apiVersion", "kind"}
    }
    known = st.fixed_dictionaries({}, optional=fields)
    if not unknown:
        return known
    names = st.sampled_from(["newField", "node_name", "x-dash", "class", "copy", "ünï"])
    extra = st.dictionaries(names, json_values, max_size=2)
    return st.builds(lambda one, more: {**one, **more}, known, extra)


def _value(target: shape.Shape, depth: int, *, unknown: bool) -> st.SearchStrategy[Any]:
    match target:
        case shape.StructShape(cls=cls):
            return data_for(cls, depth=depth, unknown=unknown) if depth > 0 else st.just({})
        case shape.ListShape(item=item):
            return st.lists(_value(item, depth, unknown=unknown), max_size=2)
        case shape.MapShape(value=value):
            return st.dictionaries(texts, _value(value, depth, unknown=unknown), max_size=2)
        case shape.ScalarShape(exact=exact):
            members = exact or (datetime,)
            return st.one_of([SCALARS[member] for member in members])
        case shape.NullableShape(shape=inner):
            return st.none() | _value(inner, depth, unknown=unknown)
        case shape.UnionShape(shapes=shapes):
            return st.one_of([_value(each, depth, unknown=unknown) for each in shapes])
        case _:
            return json_values.filter(lambda value: value is not None)
