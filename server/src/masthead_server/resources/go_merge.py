"""Objects with duplicate keys, as Go decodes them: each value is merged into the previous one.

A struct gets the fields of both, a map the keys of both, a list the items of the last, each decoded into the item that
was in its place. A scalar is the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._meta.quoting import quoted
from masthead_server.resources.go_decoder import GoList, GoMap, GoStruct
from masthead_server.resources.go_values import Decoding, Mismatch
from masthead_server.wire.go_duplicates import MAX_STRICT_ERRORS, Pairs

if TYPE_CHECKING:
    from masthead_server.resources.go_values import GoValue
    from masthead_server.wire.plain import Plain

__all__ = ["merge_duplicates"]

_MAX_REPORTED: Final = 1024 * 1024
"""The most characters of all errors that are listed."""


def merge_duplicates(struct: GoStruct, pairs: Pairs) -> tuple[Plain, list[str]]:
    """Merge the values of duplicate keys.

    Args:
        struct: The type of the object.
        pairs: The object.

    Returns:
        The object without unknown fields, and the errors of strict decoding in the order of the document: an unknown
        unknown field with two values is reported once, and not as a duplicate.

    Raises:
        Mismatch: If a value is not of its field's type, even if another one takes its place.
    """
    merging = _Merging()
    merged = merging.struct(struct, pairs, {})
    if merging.decoding.mismatch:
        raise Mismatch(str(merging.decoding.mismatch))
    return merged, list(merging.errors)


class _Merging:
    def __init__(self) -> None:
        self.decoding = Decoding()
        self.errors: dict[str, None] = {}
        self._size = 0

    def struct(self, struct: GoStruct, pairs: Pairs, old: Plain) -> Plain:
        """Decode an object into a struct."""
        path = self.decoding.path
        seen: set[str] = set()
        for key, pair in pairs:
            field = struct.fields.get(key)
            if field is None:
                self._add("unknown field", key)
                continue
            if key in seen:
                self._add("duplicate field", key)
            seen.add(key)
            if pair is None and not struct.is_set_to_null(key):
                continue
            path.append(struct.steps[key])
            old[key] = self._value(field, pair, old.get(key), struct.name)
            path.pop()
        return old

    def _value(self, type_: GoValue, value: object, old: object, owner: str) -> object:
        if isinstance(type_, GoStruct) and isinstance(value, Pairs):
            return self.struct(type_, value, cast("Plain", old) if isinstance(old, dict) else {})
        if isinstance(type_, GoMap) and isinstance(value, Pairs):
            return self._map(type_, value, cast("Plain", old) if isinstance(old, dict) else {}, owner)
        if isinstance(type_, GoList) and isinstance(value, list) and not isinstance(value, Pairs):
            values = cast("list[object]", value)
            return self._list(type_, values, cast("list[object]", old) if isinstance(old, list) else [], owner)
        # Types with a decoder, and values of the wrong type; the whole object is cleaned once more.
        plain = _plain(value)
        if plain is not None:
            type_.clean(plain, self.decoding, owner)
        return plain

    def _map(self, type_: GoMap, pairs: Pairs, old: Plain, owner: str) -> Plain:
        seen: set[str] = set()
        for key, pair in pairs:
            if key in seen:
                self._add("duplicate field", key)
            seen.add(key)
            self.decoding.path.append(f"{{{key}")
            # A value of a map is always a new one.
            old[key] = self._value(type_.item, pair, None, owner)
            self.decoding.path.pop()
        return old

    def _list(self, type_: GoList, values: list[object], old: list[object], owner: str) -> list[object]:
        made: list[object] = []
        for index, value in enumerate(values):
            before = old[index] if index < len(old) else None
            if value is None and not isinstance(type_.item, GoList | GoMap):
                made.append(before)
                continue
            self.decoding.path.append(f"[{index}]")
            made.append(self._value(type_.item, value, before, owner))
            self.decoding.path.pop()
        return made

    def _add(self, problem: str, key: str) -> None:
        if len(self.errors) < MAX_STRICT_ERRORS and self._size < _MAX_REPORTED:
            path = self.decoding.where(key)
            self._size += len(path)
            self.errors[f"{problem} {quoted(path)}"] = None


def _plain(value: object) -> object:
    if isinstance(value, Pairs):
        return {key: _plain(item) for key, item in value}
    if isinstance(value, list):
        return [_plain(entry) for entry in cast("list[object]", value)]
    return value
