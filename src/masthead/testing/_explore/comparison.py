"""Differences between comparable states."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from masthead.testing._explore.canonical_state import sort_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from masthead.testing._explore.canonical_state import CanonicalObject, CanonicalState, Value

__all__ = [
    "Difference",
    "ObjectDifference",
    "Path",
    "Significance",
    "compare_states",
    "compare_values",
    "format_path",
    "generalise",
    "walk_leaves",
]

Path: TypeAlias = "tuple[str, ...]"
"""Names of fields, and members of lists as ``[0]`` or ``[web]``."""

_SEPARATED: Final = re.compile(r"[,;\n]")
_MAX_TEXT: Final = 80


class Difference(NamedTuple):
    """A field that differs; None for an absent one.

    Attributes:
        path: The field.
        expected: The value in the reference.
        actual: The value in the run.
    """

    path: Path
    expected: Value
    actual: Value

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {_shorten(self.actual)} instead of {_shorten(self.expected)}"


@dataclass(frozen=True, slots=True)
class ObjectDifference:
    """An object that is missing, surplus or different.

    Attributes:
        kind: How it differs.
        object: The object of the run; of the reference if it is missing.
        fields: The fields that differ.
    """

    kind: Literal["missing", "extra", "changed"]
    object: CanonicalObject
    fields: Sequence[Difference] = ()


Significance: TypeAlias = "Callable[[CanonicalObject, Difference], bool]"
"""Whether a difference matters."""


def compare_states(
    expected: CanonicalState, actual: CanonicalState, is_significant: Significance
) -> list[ObjectDifference]:
    """Return the objects that differ."""
    found: list[ObjectDifference] = []
    # A fixed order makes the first finding of a run reproducible.
    for place in sorted(expected.objects.keys() | actual.objects.keys()):
        found += _compare_groups(expected.objects.get(place, ()), actual.objects.get(place, ()), is_significant)
    return found


def _compare_groups(
    expected: Sequence[CanonicalObject], actual: Sequence[CanonicalObject], is_significant: Significance
) -> Iterator[ObjectDifference]:
    """Compare the objects of one key; several have different names in each run, and are paired by content."""
    remaining = list(actual)
    unmatched: list[CanonicalObject] = []
    # Equal objects first, so that only the others are paired and shown as changed.
    for wanted in expected:
        equal = next((item for item in remaining if not _compare_objects(wanted, item, is_significant)), None)
        if equal is None:
            unmatched.append(wanted)
        else:
            remaining.remove(equal)
    for wanted, item in zip(unmatched, remaining, strict=False):
        yield ObjectDifference("changed", item, _compare_objects(wanted, item, is_significant))
    # Objects of built-in controllers without other writers follow from other objects.
    for wanted in unmatched[len(remaining) :]:
        if wanted.is_touched or not wanted.is_derived:
            yield ObjectDifference("missing", wanted)
    for item in remaining[len(unmatched) :]:
        if item.is_touched or not item.is_derived:
            yield ObjectDifference("extra", item)


def _compare_objects(
    wanted: CanonicalObject, item: CanonicalObject, is_significant: Significance
) -> Sequence[Difference]:
    differences = compare_values(wanted.content, item.content)
    return [difference for difference in differences if is_significant(item, difference)]


def compare_values(expected: Value, actual: Value, path: Path = ()) -> Iterator[Difference]:
    """Yield the fields that differ."""
    if expected == actual or _have_equal_parts(expected, actual):
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        # In the order of the reference, for a stable report.
        for name in [*expected, *(name for name in actual if name not in expected)]:
            yield from compare_values(expected.get(name), actual.get(name), (*path, name))
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _compare_lists(expected, actual, path)
    else:
        yield Difference(path, expected, actual)


def _compare_lists(expected: list[Value], actual: list[Value], path: Path) -> Iterator[Difference]:
    """Compare lists in any order."""
    remaining = list(actual)
    unmatched: list[Value] = []
    # Equal members first: the others are compared one by one, for a short difference.
    for value in expected:
        if value in remaining:
            # A member matches only once, because duplicates count.
            remaining.remove(value)
        else:
            unmatched.append(value)
    # The index numbers differences, not places: a single change shifts the canonical order.
    for index in range(max(len(unmatched), len(remaining))):
        left = unmatched[index] if index < len(unmatched) else None
        right = remaining[index] if index < len(remaining) else None
        yield from compare_values(left, right, (*path, f"[{index}]"))


def _have_equal_parts(expected: Value, actual: Value) -> bool:
    """Whether two texts are the same list in another order."""
    # Another length is another list, and cheaper to see than its parts.
    if not isinstance(expected, str) or not isinstance(actual, str) or len(expected) != len(actual):
        return False
    return sorted(_SEPARATED.split(expected)) == sorted(_SEPARATED.split(actual))


def walk_leaves(value: Value, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    """Yield the scalar values of a tree, with their paths."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from walk_leaves(member, (*path, name))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from walk_leaves(member, (*path, f"[{index}]"))
    else:
        yield path, value


def generalise(path: Path) -> Path:
    """Return a path with ``[*]`` for all members of lists."""
    return tuple("[*]" if name.startswith("[") else name for name in path)


def format_path(path: Iterable[str]) -> str:
    """Return a path as text: ``spec.containers[web].image``."""
    text = ""
    for name in path:
        if name.startswith("["):
            text += name
        elif "." in name or "/" in name:
            # Labels and annotations have dots in their names.
            text += f'["{name}"]'
        else:
            text += f".{name}" if text else name
    return text


def _shorten(value: Value) -> str:
    if value is None:
        return "(absent)"
    # An empty text needs its quotes to be visible.
    text = value if isinstance(value, str) and value else sort_text(value)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
