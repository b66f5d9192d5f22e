"""The differences of two states of an object, field by field, with the field managers that made them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec

from masthead._meta.plain import entries, part, text
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from masthead._meta.plain import Plain

__all__ = ["FieldChange", "FieldOwner", "compare_objects", "managers_of"]

_ABSENT: Final = msgspec.UNSET
_BOOKKEEPING: Final = {("metadata", "managedFields"), ("metadata", "resourceVersion"), ("metadata", "generation")}
"""Changed by every write."""
_NAMES: Final = ("name", "type", "key", "containerPort", "ip", "uid")
"""Fields that name the items of a list, the usual ones first: lists of Kubernetes are mostly maps."""


@set_module("masthead.recording")
@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs between two states.

    Attributes:
        path: The field, as in ``spec.containers[name=web].image``.
        before: The value before; None if it was absent.
        after: The value after; None if it is absent.
        manager: The field manager of the change; empty if that is unknown.
    """

    path: str
    before: object
    after: object
    manager: str = ""

    def __str__(self) -> str:
        by = f"  ({self.manager})" if self.manager else ""
        return f"{self.path}: {_text(self.before)} → {_text(self.after)}{by}"


class FieldOwner(NamedTuple):
    """A field manager of an object.

    Attributes:
        name: Its name.
        fields: The fields that it owns.
        time: When it wrote last, to the second.
        has_written: Whether its entry has changed. A second write of the same fields within a second changes nothing.
    """

    name: str
    fields: Plain
    time: str
    has_written: bool


def compare_objects(before: Plain | None, after: Plain | None) -> Sequence[FieldChange]:
    """Return the fields that differ, apart from bookkeeping: versions and managed fields."""
    if before is None or after is None:
        return ()
    owners = managers_of(before, after)
    try:
        return [
            FieldChange(_path(steps), _value(old), _value(new), _manager_of(steps, owners))
            for steps, old, new in _compare(before, after, ())
            if steps[:2] not in _BOOKKEEPING
        ]
    except RecursionError:  # no object that a server accepts is that deep
        return [FieldChange("", before, after)]


def managers_of(before: Plain, after: Plain) -> Sequence[FieldOwner]:
    """Return the field managers after a change: first those whose entry has changed, the newest first."""
    known = entries(part(before, "metadata"), "managedFields")
    found = [
        FieldOwner(text(each, "manager"), part(each, "fieldsV1"), text(each, "time"), each not in known)
        for each in entries(part(after, "metadata"), "managedFields")
    ]
    return sorted(found, key=lambda manager: (manager.has_written, manager.time), reverse=True)


Steps = tuple[str, ...]


def _compare(before: object, after: object, steps: Steps) -> Iterator[tuple[Steps, object, object]]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_fields(cast("Plain", before), cast("Plain", after), steps)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_items(cast("list[object]", before), cast("list[object]", after), steps)
    elif before != after or isinstance(before, bool) is not isinstance(after, bool):  # True equals 1
        yield steps, before, after


def _compare_fields(before: Plain, after: Plain, steps: Steps) -> Iterator[tuple[Steps, object, object]]:
    for key in {**before, **after}:
        yield from _compare(before.get(key, _ABSENT), after.get(key, _ABSENT), (*steps, key))


def _compare_items(before: list[object], after: list[object], steps: Steps) -> Iterator[tuple[Steps, object, object]]:
    # Positions change when an item is inserted; names do not.
    name = next((name for name in _NAMES if _is_map_by(name, before) and _is_map_by(name, after)), "")
    if name:
        old, new = _by_name(before, name), _by_name(after, name)
        yield from _compare_fields(old, new, steps)
        return
    pairs = itertools.zip_longest(before, after, fillvalue=_ABSENT)
    for index, (one, other) in enumerate(pairs):
        yield from _compare(one, other, (*steps, f"[{index}]"))


def _is_map_by(name: str, items: list[object]) -> bool:
    names = [cast("Plain", item).get(name) for item in items if isinstance(item, dict)]
    return len(names) == len(items) == len(set(map(repr, names))) and None not in names


def _by_name(items: list[object], name: str) -> dict[str, Any]:
    return {f"[{name}={cast('Plain', item)[name]}]": item for item in items}


def _path(steps: Steps) -> str:
    path = ""
    for step in steps:
        if step.startswith("["):
            path += step
        elif "." in step or "/" in step:
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path


def _manager_of(steps: Steps, managers: Sequence[FieldOwner]) -> str:
    """The manager that owns a field, or all of an object above it; else the only writer."""
    owner = next((manager.name for manager in managers if _owns(manager.fields, steps)), "")
    writers = {manager.name for manager in managers if manager.has_written}
    return owner or (writers.pop() if len(writers) == 1 else "")


def _owns(fields: Plain, steps: Steps) -> bool:
    """Whether a set of fields has a path, or a leaf on the way."""
    node: Mapping[str, Any] = fields
    for step in steps:
        found = next((child for key, child in node.items() if _is_step(key, step)), None)
        if not isinstance(found, dict):
            return False
        if not found:
            return True
        node = cast("Mapping[str, Any]", found)
    return True


def _is_step(key: str, step: str) -> bool:
    if not step.startswith("["):
        return key == f"f:{step}"
    name, _, value = step[1:-1].partition("=")
    return key.startswith("k:") and str(_key_of(key).get(name)) == value


def _key_of(key: str) -> Plain:
    """The fields of an item's key, ``k:{"name":"web"}``; empty if it is malformed."""
    try:
        found: object = msgspec.json.decode(key[2:])
    except msgspec.DecodeError:
        return {}
    return cast("Plain", found) if isinstance(found, dict) else {}


def _value(value: object) -> object:
    return None if value is _ABSENT else value


def _text(value: object) -> str:
    if value is None:
        return "absent"
    encoded = msgspec.json.encode(value).decode()
    return encoded if len(encoded) <= _MAX_TEXT else f"{encoded[:_MAX_TEXT]}…"


_MAX_TEXT: Final = 200
