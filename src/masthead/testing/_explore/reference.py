"""What a run without faults does: its end state, and what differs between such runs by itself."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from masthead.errors import ArgumentError
from masthead.testing._explore.canonical_state import (
    DERIVED,
    EDITED,
    CanonicalState,
    Meanings,
    canonicalize,
    replicas_of,
    simplify,
)
from masthead.testing._explore.comparison import (
    Difference,
    Path,
    compare_states,
    compare_values,
    format_path,
    generalise,
    walk_leaves,
)
from masthead.testing._explore.faults import Edit
from masthead.testing._explore.names import Names, generated_patterns, learn_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from masthead.testing._explore.canonical_state import CanonicalObject, Value
    from masthead.testing._explore.trace import RunResult

__all__ = [
    "EXTERNAL",
    "ChangeCounts",
    "Mask",
    "Place",
    "Reference",
    "count_changes",
    "count_pod_deletions",
    "count_rewrites",
    "find_value",
]

EXTERNAL: Final = "external"
"""The resource in masks and places of the external system."""
_MIN_SECRET: Final = 8
"""The minimum length of a random value: shorter ones are equal by chance."""


class Mask(NamedTuple):
    """A field that differs between runs without faults.

    Attributes:
        resource: The resource.
        path: The field, with ``[*]`` for all members of lists.
    """

    resource: str
    path: Path


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


class ChangeCounts(NamedTuple):
    """How often an object was created and deleted, by anybody.

    Attributes:
        created: The creations.
        deleted: The deletions.
    """

    created: int = 0
    deleted: int = 0


Counted = TypeVar("Counted")
Identity: TypeAlias = "tuple[str, str]"
"""Resource and common key of an object."""


@dataclass(slots=True)
class Reference:
    """What runs without faults have in common.

    Attributes:
        run: The first run.
        state: Its comparable end state.
        names: The names that differ between runs.
        masks: The fields that differ between runs.
        equalities: Places with the same random value, such as a password and its copy.
        counters: Numbers and lists in statuses that grow when the operator is merely restarted.
        lowest: The fewest creations and deletions of each object in any run.
        highest: The most creations and deletions of each object in any run.
        rewrites: The most changes of a text within one object in any run, by its field.
        pod_deletions: The fewest deletions of pods by the operator, of those that built-in controllers replace.
        calls: The highest number of calls of the external system in any run, by call.
        free_calls: Calls that a mere restart repeats: they have no effect of their own.
        surviving: Objects that keep the annotation of another client, if it is written when all is idle.
        nondeterminism: What differed first between two runs with the same seed; empty if nothing did.
    """

    run: RunResult
    state: CanonicalState
    names: Names
    masks: frozenset[Mask] = frozenset()
    equalities: tuple[tuple[Place, ...], ...] = ()
    counters: frozenset[Mask] = frozenset()
    lowest: Mapping[Identity, ChangeCounts] = field(default_factory=dict[Identity, ChangeCounts])
    highest: Mapping[Identity, ChangeCounts] = field(default_factory=dict[Identity, ChangeCounts])
    rewrites: Mapping[Place, int] = field(default_factory=dict[Place, int])
    pod_deletions: Mapping[str, int] = field(default_factory=dict[str, int])
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    free_calls: frozenset[str] = frozenset()
    surviving: set[Identity] = field(default_factory=set[Identity])
    nondeterminism: str = ""

    @classmethod
    def learn(cls, runs: Sequence[RunResult], restarts: Sequence[RunResult] = ()) -> Reference:
        """Learn from runs without faults.

        Args:
            runs: At least two runs with different seeds and, if possible, start times. A further run with the seed of
                another one shows whether the operator is deterministic.
            restarts: Runs in which the operator was merely restarted, when all was idle: status counters that grow
                there do not count as differences.

        Raises:
            ArgumentError: If there are no runs.
        """
        if not runs:
            raise ArgumentError("a reference needs at least one run without faults", value=runs)
        names = _learn_names(runs)
        states = [_state_of(run, names) for run in runs]
        externals = [_external_of(run, names) for run in runs]
        masks = _learn_masks(states, externals)
        counts = [count_changes(run, names) for run in runs]
        reference = cls(
            runs[0],
            states[0],
            names,
            masks=masks,
            equalities=_learn_equalities(states, externals, masks),
            lowest=_combine(counts, min),
            highest=_combine(counts, max),
            rewrites=_maximum([count_rewrites(run, names) for run in runs]),
            pod_deletions=_minimum([count_pod_deletions(run, names) for run in runs]),
            calls=_maximum([_calls_of(run, names) for run in runs]),
            nondeterminism=_find_nondeterminism(runs),
        )
        reference.counters = _learn_counters(reference, restarts)
        reference.free_calls = frozenset(
            call
            for restart in restarts
            for call, times in _calls_of(restart, names).items()
            if times > reference.calls.get(call, 0)
        )
        return reference

    def learn_edit(self, result: RunResult) -> None:
        """Learn from a run with `Edit` at the end of a step whether the annotation survives."""
        for fault in result.schedule.faults:
            if isinstance(fault, Edit) and not fault.write:
                obj = result.objects.get(fault.resource, {}).get(fault.key)
                if obj is not None and EDITED in (obj["metadata"].get("annotations") or {}):
                    self.surviving.add((fault.resource, self.names.key_of(fault.resource, fault.key)))

    def names_of(self, result: RunResult) -> Names:
        """Return the names that differ between runs, with those of a run."""
        return self.names | generated_patterns(result)

    def state_of(self, result: RunResult) -> CanonicalState:
        """Return the comparable end state of a run."""
        return _state_of(result, self.names_of(result))

    def external_of(self, result: RunResult) -> Value:
        """Return the comparable state of the external system."""
        return _external_of(result, self.names_of(result))

    def calls_of(self, result: RunResult) -> Counter[str]:
        """Count the calls of the external system by what they mean."""
        return _calls_of(result, self.names_of(result))

    def is_masked(self, resource: str, path: Path) -> bool:
        """Whether a field differs between runs without faults."""
        return _is_masked(self.masks, resource, path)

    def is_benign(self, resource: str, difference: Difference) -> bool:
        """Whether a difference says nothing: a random value, or a counter that has grown."""
        path, _, actual = difference
        if _is_masked(self.masks, resource, path):
            return True
        if path[-1] == "observedGeneration" and actual == "current":
            return True
        return _has_grown(difference) and _is_masked(self.counters, resource, path)


def count_changes(result: RunResult, names: Names) -> dict[Identity, ChangeCounts]:
    """Count the changes of each object, except of those that built-in controllers derive from others."""
    derived = _derived_uids(result, replicas_of(result))
    counts: dict[Identity, list[int]] = {}
    for change in result.changes:
        if change.uid in derived or change.type == "MODIFIED":
            continue
        count = counts.setdefault((change.resource, names.key_of(change.resource, change.key)), [0, 0])
        count[0 if change.type == "ADDED" else 1] += 1
    return {identity: ChangeCounts(*count) for identity, count in counts.items()}


def count_rewrites(result: RunResult, names: Names) -> Counter[Place]:
    """Count how often a text was replaced by another one within the life of an object."""
    counts: Counter[tuple[str, Place]] = Counter()
    known: dict[tuple[str, str], int] = {}
    for change in result.changes:
        for part, checksum in change.parts.items():
            if known.setdefault((change.uid, part), checksum) != checksum:
                known[change.uid, part] = checksum
                section, _, name = part.partition(".")
                place = Place(change.resource, names.key_of(change.resource, change.key), (section, name))
                counts[change.uid, place] += 1
    highest: Counter[Place] = Counter()
    for (_, place), times in counts.items():
        highest[place] = max(highest[place], times)
    return highest


def count_pod_deletions(result: RunResult, names: Names) -> Counter[str]:
    """Count the pods of built-in controllers that the operator has deleted, by common key."""
    derived = _derived_uids(result, replicas_of(result))
    deleted = {change.uid for change in result.changes if change.type == "DELETED"} & derived
    pods = {
        write.live.uid: names.key_of("pods", write.key)
        for write in result.writes
        if write.verb == "delete" and write.resource == "pods" and write.live.uid in deleted
    }
    return Counter(pods.values())


def find_value(state: CanonicalState, external: Value, place: Place) -> Value:
    """Return the value at a place; None if it does not exist, or has no single object."""
    if place.resource == EXTERNAL:
        value = external
    else:
        group = state.objects.get((place.resource, place.key), ())
        value = group[0].content if len(group) == 1 else None
    for name in place.path:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name[1:-1].isdigit() and int(name[1:-1]) < len(value):
            value = value[int(name[1:-1])]
        else:
            return None
    return _decode(value) if place.resource == "secrets" and isinstance(value, str) else value


def _state_of(run: RunResult, names: Names) -> CanonicalState:
    return canonicalize(run.objects, run.changes, names, replicas_of(run))


def _external_of(run: RunResult, names: Names) -> Value:
    return simplify(run.external, Meanings(run.objects, run.changes, names)) or {}


def _calls_of(run: RunResult, names: Names) -> Counter[str]:
    meanings = Meanings(run.objects, run.changes, names)
    return Counter(meanings.replace_in(call) for call in run.calls)


def _derived_uids(result: RunResult, replicas: frozenset[str]) -> frozenset[str]:
    return frozenset(
        change.uid
        for change in result.changes
        if change.type == "ADDED" and change.resource in DERIVED and change.client not in replicas | {"user", ""}
    )


def _learn_names(runs: Sequence[RunResult]) -> Names:
    names = Names(pattern for run in runs for pattern in generated_patterns(run))
    first = _created_keys(runs[0])
    for run in runs[1:]:
        names |= learn_patterns(first, _created_keys(run), names)
    return names


def _created_keys(run: RunResult) -> dict[str, list[str]]:
    derived = _derived_uids(run, replicas_of(run))
    keys: dict[str, list[str]] = {}
    for change in run.changes:
        if change.type == "ADDED" and change.uid not in derived:
            keys.setdefault(change.resource, []).append(change.key)
    return {resource: list(dict.fromkeys(members)) for resource, members in keys.items()}


def _learn_masks(states: Sequence[CanonicalState], externals: Sequence[Value]) -> frozenset[Mask]:
    """Return the fields that differ between the first run and the others."""
    masks: set[Mask] = set()
    for state, external in zip(states[1:], externals[1:], strict=True):
        for changed in compare_states(states[0], state, lambda _item, _difference: True):
            masks |= _masks_of(changed.object.resource, changed.fields)
        masks |= _masks_of(EXTERNAL, list(compare_values(externals[0], external)))
    return frozenset(masks)


def _masks_of(resource: str, differences: Sequence[Difference]) -> set[Mask]:
    added = {difference.path[:-1] for difference in differences if difference.expected is None}
    removed = {difference.path[:-1] for difference in differences if difference.actual is None}
    masks: set[Mask] = set()
    for path, expected, actual in differences:
        # Where each run has fields of its own, their names are random: all are masked.
        has_random_name = (expected is None or actual is None) and path[:-1] in added & removed
        masks.add(Mask(resource, (*generalise(path[:-1]), "*") if has_random_name else generalise(path)))
    return masks


def _is_masked(masks: frozenset[Mask], resource: str, path: Path) -> bool:
    if not masks:
        return False
    general = generalise(path)
    return any(
        Mask(resource, general[:length]) in masks or Mask(resource, (*general[: length - 1], "*")) in masks
        for length in range(1, len(general) + 1)
    )


def _learn_equalities(
    states: Sequence[CanonicalState], externals: Sequence[Value], masks: frozenset[Mask]
) -> tuple[tuple[Place, ...], ...]:
    """Return the places that have the same random value in each run."""
    places: dict[str, list[Place]] = {}
    for place, value in _random_values(states[0], externals[0], masks):
        places.setdefault(value, []).append(place)
    groups = [tuple(group) for group in places.values() if len(group) > 1]
    for state, external in zip(states[1:], externals[1:], strict=True):
        groups = [group for group in groups if len({str(find_value(state, external, place)) for place in group}) == 1]
    return tuple(groups)


def _random_values(state: CanonicalState, external: Value, masks: frozenset[Mask]) -> Iterator[tuple[Place, str]]:
    objects = [
        (group[0].resource, group[0].key, group[0].content) for group in state.objects.values() if len(group) == 1
    ]
    for resource, key, content in [*objects, (EXTERNAL, "", external)]:
        for path, _ in walk_leaves(content):
            place = Place(resource, key, path)
            value = find_value(state, external, place) if _is_masked(masks, resource, path) else None
            if isinstance(value, str) and len(value) >= _MIN_SECRET:
                yield place, value


def _decode(value: str) -> str:
    """Return the text of a value in a Secret."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value


def _learn_counters(reference: Reference, restarts: Sequence[RunResult]) -> frozenset[Mask]:
    """Return the numbers and lists in statuses that grow in all runs with a restart in which they differ."""
    grown: set[Mask] = set()
    others: set[Mask] = set()

    def note(item: CanonicalObject, difference: Difference) -> bool:
        if difference.path[0] == "status" and not reference.is_benign(item.resource, difference):
            mask = Mask(item.resource, generalise(difference.path))
            (grown if _has_grown(difference) else others).add(mask)
        return True

    for restart in restarts:
        compare_states(reference.state, reference.state_of(restart), note)
    return frozenset(grown - others)


def _has_grown(difference: Difference) -> bool:
    """Whether a number is higher, or a list has a further member."""
    path, expected, actual = difference
    if isinstance(expected, int) and isinstance(actual, int):
        return actual > expected
    return expected is None and path[-1].startswith("[")


def _combine(
    counts: Sequence[Mapping[Identity, ChangeCounts]], choose: Callable[[Iterable[int]], int]
) -> dict[Identity, ChangeCounts]:
    identities = {identity for count in counts for identity in count}
    nothing = ChangeCounts()
    return {
        identity: ChangeCounts(
            *(choose(count.get(identity, nothing)[index] for count in counts) for index in range(len(nothing)))
        )
        for identity in identities
    }


def _maximum(counts: Sequence[Counter[Counted]]) -> dict[Counted, int]:
    return {item: max(count[item] for count in counts) for item in {item for count in counts for item in count}}


def _minimum(counts: Sequence[Counter[Counted]]) -> dict[Counted, int]:
    return {item: least for item in counts[0] if (least := min(count[item] for count in counts))}


def _find_nondeterminism(runs: Sequence[RunResult]) -> str:
    """Return the first difference between two runs of the same schedule."""
    for index, run in enumerate(runs):
        for other in runs[index + 1 :]:
            if run.schedule == other.schedule:
                return _first_difference(run, other)
    return ""


def _first_difference(run: RunResult, other: RunResult) -> str:
    for entry, match in zip(run.entries, other.entries, strict=False):
        if entry != match:
            return f"{entry.text!r} at {entry.time:.3f} s in one run, {match.text!r} at {match.time:.3f} s in the other"
    if len(run.entries) != len(other.entries):
        longer = max(run.entries, other.entries, key=len)
        return f"{longer[min(len(run.entries), len(other.entries))].text!r} in one run only"
    return ""
