"""Random values: fields that differ between runs without faults, and their copies in other places."""

from __future__ import annotations

import base64
import binascii
import hashlib
from itertools import permutations
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead.testing._explore.comparison import (
    Difference,
    Path,
    compare_states,
    compare_values,
    format_path,
    generalise,
    walk_leaves,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead.testing._explore.canonical_state import CanonicalState, Value

__all__ = ["EXTERNAL", "Mask", "Place", "find_value", "hides", "is_copy", "is_masked", "learn_copies", "learn_masks"]

EXTERNAL: Final = "external"
"""The resource in masks and places of the external system."""
_MIN_LENGTH: Final = 8
"""The minimum length of a random value: shorter ones are equal by chance."""
_HASHES: Final = ("md5", "sha1", "sha256", "sha512")
_MAX_VALUES: Final = 200
"""The maximum number of random values whose copies are searched for."""


class Mask(NamedTuple):
    """A field that differs between runs without faults.

    Attributes:
        resource: The resource.
        path: The field, with ``[*]`` for all members of lists, and ``*`` for all fields.
        is_optional: Whether some runs do not have it.
    """

    resource: str
    path: Path
    is_optional: bool = False


class Place(NamedTuple):
    """A field of an object.

    Attributes:
        resource: The resource.
        key: The object.
        path: The field.
    """

    resource: str
    key: str
    path: Path

    def __str__(self) -> str:
        what = "the external system" if self.resource == EXTERNAL else f"{self.resource} {self.key}"
        return f"{format_path(self.path)} of {what}"


def find_value(state: CanonicalState, external: Value, place: Place) -> Value:
    """Return the value at a place; None if it does not exist, or has no single object."""
    if place.resource == EXTERNAL:
        value = external
    else:
        # Of several objects with random names, none is the same in each run.
        group = state.objects.get((place.resource, place.key), ())
        value = group[0].content if len(group) == 1 else None
    for name in place.path:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name[1:-1].isdigit() and int(name[1:-1]) < len(value):
            value = value[int(name[1:-1])]
        else:
            return None
    # Copies outside of a Secret are plain text.
    return _decode(value) if place.resource == "secrets" and isinstance(value, str) else value


def learn_masks(states: Sequence[CanonicalState], externals: Sequence[Value]) -> frozenset[Mask]:
    """Return the fields that differ between the first run and the others."""
    masks: set[Mask] = set()
    for state, external in zip(states[1:], externals[1:], strict=True):
        # Only chance separates these runs, so every difference counts.
        for changed in compare_states(states[0], state, lambda _item, _difference: True):
            masks |= _masks_of(changed.object.resource, changed.fields)
        masks |= _masks_of(EXTERNAL, list(compare_values(externals[0], external)))
    return frozenset(masks)


def _masks_of(resource: str, differences: Sequence[Difference]) -> set[Mask]:
    added = {difference.path[:-1] for difference in differences if difference.expected is None}
    removed = {difference.path[:-1] for difference in differences if difference.actual is None}
    masks: set[Mask] = set()
    for path, expected, actual in differences:
        is_optional = expected is None or actual is None
        # Where each run has other fields, their names are random: all are masked.
        has_random_name = is_optional and path[:-1] in added & removed
        masks.add(Mask(resource, (*generalise(path[:-1]), "*") if has_random_name else generalise(path), is_optional))
    return masks


def is_masked(masks: frozenset[Mask], resource: str, path: Path) -> bool:
    """Whether the values of a field differ between runs without faults."""
    return _is_optional(masks, resource, path) or Mask(resource, generalise(path)) in masks


def hides(masks: frozenset[Mask], resource: str, difference: Difference) -> bool:
    """Whether runs without faults differ in this way: a random value does not excuse a missing one."""
    path, expected, actual = difference
    # Only where runs without faults lack the field, too.
    if expected is None or actual is None:
        return _is_optional(masks, resource, path)
    return is_masked(masks, resource, path)


def _is_optional(masks: frozenset[Mask], resource: str, path: Path) -> bool:
    # Every comparison asks, and most operators generate nothing.
    if not masks:
        return False
    general = generalise(path)
    # A masked parent covers its fields: a random structure has random members.
    return Mask(resource, general, True) in masks or any(
        Mask(resource, general[:length], is_optional) in masks
        or Mask(resource, (*general[:length], "*"), True) in masks
        for length in range(len(general))
        for is_optional in (False, True)
    )


def learn_copies(
    states: Sequence[CanonicalState], externals: Sequence[Value], masks: frozenset[Mask]
) -> tuple[tuple[Place, Place], ...]:
    """Return the places with the same random value in each run, or with a text that contains it."""
    # The pairs grow with the square of the values.
    values = list(_random_values(states[0], externals[0], masks))[:_MAX_VALUES]
    # A chance match would have to repeat in each run, so the other runs decide.
    pairs = [
        (place, other)
        for (place, value), (other, text) in permutations(values, 2)
        # Equal values match in both directions, and a single direction is enough.
        if _is_part(value, text) and (value != text or place < other)
    ]
    return tuple(
        pair
        for pair in pairs
        if all(is_copy(state, external, pair) for state, external in zip(states[1:], externals[1:], strict=True))
    )


def is_copy(state: CanonicalState, external: Value, pair: tuple[Place, Place]) -> bool:
    """Whether the second place contains the value of the first, or its hash; also if one of them does not exist."""
    value, text = (find_value(state, external, place) for place in pair)
    # A missing object is the matter of another oracle.
    return not isinstance(value, str) or not isinstance(text, str) or _is_part(value, text)


def _is_part(value: str, text: str) -> bool:
    """Whether a text contains a value, or is its hash."""
    if value in text:
        return True
    # Operators shorten hashes for labels and annotations.
    return any(hashlib.new(name, value.encode()).hexdigest().startswith(text) for name in _HASHES)


def _random_values(state: CanonicalState, external: Value, masks: frozenset[Mask]) -> Iterator[tuple[Place, str]]:
    objects = [
        (group[0].resource, group[0].key, group[0].content) for group in state.objects.values() if len(group) == 1
    ]
    for resource, key, content in [*objects, (EXTERNAL, "", external)]:
        for path, _ in walk_leaves(content):
            place = Place(resource, key, path)
            value = find_value(state, external, place) if is_masked(masks, resource, path) else None
            # Numbers and short texts are equal by chance.
            if isinstance(value, str) and len(value) >= _MIN_LENGTH:
                yield place, value


def _decode(value: str) -> str:
    """Return the text of a value in a Secret."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        # Binary data has no text to compare.
        return value
