"""Changes of an object's state, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from masthead._schema.defaulting import copy_json
from masthead._schema.schema import Json, Schema, is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from masthead.testing._explore.generation.value_generation import Names, ValueGenerator

__all__ = [
    "UNMANAGED",
    "Path",
    "StateChange",
    "collect_values",
    "find_changes",
    "format_path",
    "general_path",
    "read_path",
]

Path: TypeAlias = tuple[str | int, ...]
UNMANAGED: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
"""The fields of an object that users do not set as its state."""
_MAX_DEPTH: Final = 8
_MAX_VALUE_TEXT: Final = 40


class StateChange(NamedTuple):
    """A change of one field.

    Attributes:
        path: The field.
        value: The new value; UNSET to remove the field.
        is_suspect: Whether an operator may be unable to satisfy the value.
        is_violation: Whether the schema forbids it.
    """

    path: Path
    value: Json
    is_suspect: bool = False
    is_violation: bool = False

    @property
    def name(self) -> str:
        """A short description: ``set spec.replicas to 3``."""
        where = format_path(self.path)
        if self.value is msgspec.UNSET:
            return f"remove {where}"
        if is_list(self.value):
            return f"set {where} to {len(self.value)} item{'' if len(self.value) == 1 else 's'}"
        text = msgspec.json.encode(self.value).decode()
        return f"set {where} to {text if len(text) <= _MAX_VALUE_TEXT else text[: _MAX_VALUE_TEXT - 1] + '…'}"

    def apply(self, state: dict[str, Json]) -> dict[str, Json]:
        """Return a changed copy of a state."""
        changed: dict[str, Json] = copy_json(state)
        parent: Json = changed
        for part in self.path[:-1]:
            parent = parent[part]
        last = self.path[-1]
        if self.value is not msgspec.UNSET:
            parent[last] = copy_json(self.value)
        # The field may already be absent, such as after another change.
        elif last in parent:
            del parent[last]
        return changed


def format_path(path: Path) -> str:
    """Return the text of a path: ``spec.parts[0].name``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_path(state: Json, path: Path) -> Json:
    """Return the value of a field; UNSET if it is not there."""
    for part in path:
        try:
            state = state[part]
        except (IndexError, KeyError, TypeError):
            return msgspec.UNSET
    return state


def general_path(path: Path) -> Path:
    """Return a path in which all items of a list are one."""
    return tuple(0 if isinstance(part, int) else part for part in path)


def collect_values(states: Iterable[Mapping[str, Json]]) -> dict[Path, list[Json]]:
    """Return the values of states, by their general paths."""
    found: dict[Path, list[Json]] = {}

    def visit(value: Json, path: Path) -> None:
        if path:
            found.setdefault(path, []).append(value)
        if is_object(value):
            for name, inner in value.items():
                visit(inner, (*path, name))
        elif is_list(value):
            for item in value:
                visit(item, (*path, 0))

    for state in states:
        visit(dict(state), ())
    return found


def find_changes(
    schema: Schema, state: dict[str, Json], generator: ValueGenerator, known: Mapping[Path, list[Json]]
) -> Iterator[StateChange]:
    """Yield changes of single fields of a state; whether the result is valid as a whole is for the caller to find out.

    Args:
        schema: The schema of the kind.
        state: The fields of the object that users set.
        generator: Makes values.
        known: Values of examples, by general paths.
    """
    finder = _Finder(generator, known)
    for name, field in schema.properties.items():
        if name not in UNMANAGED:
            yield from finder.change_field(schema, state, name, field, ())


class _Finder:
    def __init__(self, generator: ValueGenerator, known: Mapping[Path, list[Json]]) -> None:
        self._generator = generator
        self._known = known

    def change_field(
        self, schema: Schema, parent: dict[str, Json], name: str, field: Schema, path: Path
    ) -> Iterator[StateChange]:
        """Yield changes of a field of an object, present or not."""
        here = (*path, name)
        if name not in parent:
            names = _names_of(here)
            # Two variants, since alternatives of a schema differ in their required fields.
            for variant in (0, 1):
                yield StateChange(here, self._generator.build(field, names, variant))
            yield from self._known_values(here, None)
            suspects = (value for value, is_suspect in self._generator.scalars(field, names) if is_suspect)
            yield from (StateChange(here, value, is_suspect=True) for value in suspects)
            yield from self._violate(field, here)
            return
        yield from self._change_value(field, parent[name], here)
        # Users return to a default by removing the field.
        yield StateChange(here, msgspec.UNSET, is_violation=name in schema.required)

    def _change_value(self, schema: Schema, current: Json, path: Path) -> Iterator[StateChange]:
        names = _names_of(path)
        yield from self._known_values(path, current)
        for value, is_suspect in self._generator.candidates(schema, names, current):
            yield StateChange(path, value, is_suspect)
        yield from self._violate(schema, path)
        # Schemas may be recursive, and embedded objects have schemas of their kinds.
        if len(path) >= _MAX_DEPTH or schema.embedded_resource:
            return
        if is_object(current):
            yield from self._change_members(schema, current, path)
        elif is_list(current) and schema.items is not None:
            # Operators treat all items alike, except perhaps the first and the last.
            for index in sorted({0, len(current) - 1} if current else ()):
                yield from self._change_value(schema.items, current[index], (*path, index))

    def _violate(self, schema: Schema, path: Path) -> Iterator[StateChange]:
        for value in self._generator.violations(schema, _names_of(path)):
            yield StateChange(path, value, is_violation=True)

    def _change_members(self, schema: Schema, current: dict[str, Json], path: Path) -> Iterator[StateChange]:
        for name, field in schema.properties.items():
            yield from self.change_field(schema, current, name, field, path)
        extra = schema.additional_properties
        if schema.is_map and isinstance(extra, Schema) and current:
            # All values of a map have one schema, so one key represents them.
            key = next(iter(current))
            yield from self._change_value(extra, current[key], (*path, key))

    def _known_values(self, path: Path, current: Json) -> Iterator[StateChange]:
        for value in self._known.get(general_path(path), ()):
            if value != current:
                yield StateChange(path, value)


def _names_of(path: Path) -> Names:
    return tuple(part for part in path if isinstance(part, str))
