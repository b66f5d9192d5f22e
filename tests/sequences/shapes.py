"""What values of a field look like: makes random ones, and changes them a little.

The domains are small, so that several managers often write the same value, the same key or the same item.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

Plain = dict[str, Any]


class Shape(Protocol):
    """The values of a field."""

    def make(self, random: Random) -> Any:
        """A new value."""
        ...

    def change(self, random: Random, value: Any) -> Any:
        """A value that differs in a detail; it may also be the same."""
        ...


@dataclass(frozen=True)
class Scalar:
    """One of a few values."""

    values: Sequence[Any]

    def make(self, random: Random) -> Any:
        return deepcopy(random.choice(self.values))

    def change(self, random: Random, value: Any) -> Any:
        del value
        return self.make(random)


@dataclass(frozen=True)
class Struct:
    """An object with known fields.

    Attributes:
        fields: The fields.
        always: Those that every new value has.
        often: How likely another field is in a new value.
    """

    fields: dict[str, Shape]
    always: Sequence[str] = ()
    often: float = 0.3

    def make(self, random: Random) -> Plain:
        return {
            name: shape.make(random)
            for name, shape in self.fields.items()
            if name in self.always or random.random() < self.often
        }

    def change(self, random: Random, value: Any) -> Any:
        if not isinstance(value, dict):
            return self.make(random)
        changed = dict(value)
        name = random.choice(list(self.fields))
        present = [each for each in self.fields if each in value]
        if present and random.random() < 0.6:
            name = random.choice(present)
        if name not in changed:
            changed[name] = self.fields[name].make(random)
        elif random.random() < 0.25 and name not in self.always:
            del changed[name]
        else:
            changed[name] = self.fields[name].change(random, changed[name])
        return changed


@dataclass(frozen=True)
class Dictionary:
    """A map from a few keys."""

    keys: Sequence[str]
    value: Shape
    least: int = 0

    def make(self, random: Random) -> Plain:
        count = max(self.least, random.choice((0, 1, 1, 2, 2, 3)))
        return {key: self.value.make(random) for key in random.sample(self.keys, min(count, len(self.keys)))}

    def change(self, random: Random, value: Any) -> Any:
        return Struct(dict.fromkeys(self.keys, self.value)).change(random, value)


@dataclass(frozen=True)
class Items:
    """A list.

    Attributes:
        item: What its items look like.
        keys: The fields of an item that tell it from others; empty for scalars, which are told by their value.
        repeats: How likely it is that two items have the same key.
        least: The fewest items.
    """

    item: Shape
    keys: Sequence[str] = ()
    repeats: float = 0.03
    least: int = 0

    def make(self, random: Random) -> list[Any]:
        made: list[Any] = []
        for _ in range(max(self.least, random.choice((0, 1, 1, 2, 2, 3)))):
            self._add(random, made)
        return made

    def change(self, random: Random, value: Any) -> Any:
        if not isinstance(value, list) or not value:
            return self.make(random)
        changed = list(value)
        match random.choice(("add", "add", "remove", "change", "change", "shuffle")):
            case "add":
                self._add(random, changed)
            case "remove" if len(changed) > self.least:
                del changed[random.randrange(len(changed))]
            case "shuffle":
                random.shuffle(changed)
            case _:
                index = random.randrange(len(changed))
                changed[index] = self._changed(random, changed[index])
        return changed

    def _changed(self, random: Random, item: Any) -> Any:
        """Change an item, which mostly keeps its key."""
        changed = self.item.change(random, item)
        if isinstance(item, dict) and isinstance(changed, dict) and random.random() < 0.9:
            changed |= {key: item[key] for key in self.keys if key in item}
        return changed

    def _add(self, random: Random, items: list[Any]) -> None:
        item = self.item.make(random)
        if random.random() < self.repeats or all(self._key(item) != self._key(each) for each in items):
            items.insert(random.randint(0, len(items)), item)

    def _key(self, item: Any) -> Any:
        return [item.get(key) for key in self.keys] if self.keys and isinstance(item, dict) else item


@dataclass(frozen=True)
class AnyOf:
    """A value of one of several shapes, such as an integer or a string."""

    shapes: Sequence[Shape] = field(default_factory=list)

    def make(self, random: Random) -> Any:
        return random.choice(self.shapes).make(random)

    def change(self, random: Random, value: Any) -> Any:
        return random.choice(self.shapes).change(random, value)


def spoil(random: Random, value: Any) -> Any:
    """Put something unusual somewhere into a value: a null, another type, an unknown field, an item twice."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        key = random.choice(list(value))
        return {**value, key: spoil(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.7:
        index = random.randrange(len(value))
        return [*value[:index], spoil(random, value[index]), *value[index + 1 :]]
    if isinstance(value, dict) and random.random() < 0.4:
        return {**value, random.choice(("unknown", "other")): random.choice((1, "x", None, {"a": 1}, [1]))}
    if isinstance(value, list) and value and random.random() < 0.5:
        return [*value, deepcopy(random.choice(value))]
    return random.choice((None, None, {}, [], "text", 7, True, 1.5, "", [None], {"a": None}))
