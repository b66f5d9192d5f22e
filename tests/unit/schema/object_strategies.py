"""Hypothesis strategies for plain objects of real kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hypothesis import strategies as st

from masthead._meta import shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.apitype import ApiType
    from masthead._meta.merge import Merge
    from masthead._meta.object import Object

Plain = dict[str, Any]
_DEEPEST = 5
_TEXTS = st.sampled_from(["a", "b", "c", "d"])
_NUMBERS = st.integers(0, 3)


def objects(cls: type[Object], *parts: str) -> st.SearchStrategy[Plain]:
    """Objects of a class, of which only some top-level fields are set."""
    fields = shape.fields_of(cast("ApiType", cls))
    merges: Mapping[str, Merge] = getattr(cls, "MERGE", {})
    chosen = {part: _value(fields[part].shape, part, merges.get(part), _DEEPEST) for part in parts}
    return st.fixed_dictionaries({}, optional=chosen)


def _struct(cls: ApiType, depth: int) -> st.SearchStrategy[Plain]:
    if depth <= 0:
        return st.just({})
    fields = shape.fields_of(cls)
    merges: Mapping[str, Merge] = getattr(cls, "MERGE", {})

    @st.composite
    def made(draw: st.DrawFn) -> Plain:
        # Those that merge in a way of their own are the ones that matter.
        names = draw(st.sets(st.sampled_from(sorted(fields)), max_size=2))
        names |= draw(st.sets(st.sampled_from(sorted(merges)), max_size=2)) if merges else set()
        return {name: draw(_value(fields[name].shape, name, merges.get(name), depth - 1)) for name in sorted(names)}

    return made()


def _value(described: shape.Shape, name: str, merge: Merge | None, depth: int) -> st.SearchStrategy[Any]:
    match described:
        case shape.StructShape():
            return st.deferred(lambda: _struct(described.cls, depth))
        case shape.ListShape():
            return _list(described.item, name, merge, depth)
        case shape.MapShape():
            if not isinstance(described.value, shape.ScalarShape):
                return st.just({})
            return st.dictionaries(_TEXTS, _TEXTS, max_size=3)
        case shape.NullableShape():
            return _value(described.shape, name, merge, depth)
        case shape.ScalarShape():
            is_number = int in described.exact and str not in described.exact
            return _NUMBERS if is_number else _TEXTS
        case _:
            return st.just({})


def _list(item: shape.Shape, name: str, merge: Merge | None, depth: int) -> st.SearchStrategy[list[Any]]:
    strategy = merge.strategy if merge else ()
    items = _value(item, name, None, depth)
    if "merge" not in strategy or merge is None:
        return st.lists(items, max_size=3)
    key = merge.merge_key
    if not key:
        return st.lists(items, max_size=4, unique=True)
    keys = _NUMBERS if key in {"containerPort", "port"} else _TEXTS
    keyed = st.tuples(items, keys).map(lambda pair: {**pair[0], key: pair[1]})
    return st.lists(keyed, max_size=4, unique_by=lambda each: cast("Any", each[key]))
