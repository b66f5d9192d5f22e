"""The reference: end state and effects of runs without faults, and the random differences between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

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
    generalise,
)
from masthead.testing._explore.faults import Edit
from masthead.testing._explore.names import Names, generated_patterns, learn_patterns
from masthead.testing._explore.random_values import EXTERNAL, Mask, Place, hides, is_masked, learn_copies, learn_masks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from masthead.testing._explore.canonical_state import CanonicalObject, Value
    from masthead.testing._explore.trace import RunResult

__all__ = [
    "EXTERNAL",
    "ChangeCounts",
    "LateState",
    "Mask",
    "Place",
    "ReferenceRuns",
    "count_changes",
    "count_modifications",
    "count_pod_deletions",
    "count_rewrites",
]


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


class LateState(NamedTuple):
    """The end of a run in which the operator saw the last state of the workload only.

    Attributes:
        state: The comparable end state.
        external: The comparable state of the external system.
    """

    state: CanonicalState
    external: Value


@dataclass(slots=True)
class ReferenceRuns:
    """What runs without faults have in common.

    Attributes:
        run: The first run.
        state: Its comparable end state.
        names: The names that differ between runs.
        masks: The fields that differ between runs.
        copies: Places with the same random value, such as a password and the address that contains it.
        counters: Numbers and lists in statuses that grow when the operator is merely restarted.
        lowest: The fewest creations and deletions of each object in any run.
        highest: The most creations and deletions of each object in any run.
        modifications: The most modifications of each object by the operator in any run.
        rewrites: The most changes of a text within one object in any run, by its field.
        pod_deletions: The fewest deletions by the operator of pods that built-in controllers replace.
        calls: The highest number of calls of the external system in any run, by call.
        free_calls: Calls that a mere restart repeats: they have no effect of their own.
        surviving: Objects that keep the annotation of another client, if it is written when all is idle.
        late: The end of a run in which the operator saw the last state of the workload only; None if unknown.
        nondeterminism: What differed first between two runs with the same seed; empty if nothing did.
    """

    run: RunResult
    state: CanonicalState
    names: Names
    masks: frozenset[Mask] = frozenset()
    copies: tuple[tuple[Place, Place], ...] = ()
    counters: frozenset[Mask] = frozenset()
    lowest: Mapping[Identity, ChangeCounts] = field(default_factory=dict[Identity, ChangeCounts])
    highest: Mapping[Identity, ChangeCounts] = field(default_factory=dict[Identity, ChangeCounts])
    modifications: Mapping[Identity, int] = field(default_factory=dict[Identity, int])
    rewrites: Mapping[Place, int] = field(default_factory=dict[Place, int])
    pod_deletions: Mapping[str, int] = field(default_factory=dict[str, int])
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    free_calls: frozenset[str] = frozenset()
    surviving: set[Identity] = field(default_factory=set[Identity])
    late: LateState | None = None
    nondeterminism: str = ""

    @classmethod
    def learn(
        cls, runs: Sequence[RunResult], restarts: Sequence[RunResult] = (), late: RunResult | None = None
    ) -> ReferenceRuns:
        """Learn from runs without faults.

        Args:
            runs: At least two runs with different seeds and, if possible, start times. A further run with the seed of
                another one shows whether the operator is deterministic.
            restarts: Runs in which the operator was merely restarted, when all was idle: status counters that grow
                there do not count as differences.
            late: A run in which the operator was down during all steps: what a late operator does not do either may be
                missing in runs in which it misses some states.

        Raises:
            ArgumentError: If there are no runs.
        """
        if not runs:
            raise ArgumentError("a reference needs at least one run without faults", value=runs)
        # Names first, since all comparisons depend on them.
        names = _learn_names(runs)
        states = [_state_of(run, names) for run in runs]
        externals = [_external_of(run, names) for run in runs]
        masks = learn_masks(states, externals)
        counts = [count_changes(run, names) for run in runs]
        reference = cls(
            runs[0],
            states[0],
            names,
            masks=masks,
            copies=learn_copies(states, externals, masks),
            # Oracles of surplus compare with the highest count, oracles of absence with the lowest.
            lowest=_combine(counts, min),
            highest=_combine(counts, max),
            modifications=_maximum([count_modifications(run, names) for run in runs]),
            rewrites=_maximum([count_rewrites(run, names) for run in runs]),
            pod_deletions=_minimum([count_pod_deletions(run, names) for run in runs]),
            calls=_maximum([_calls_of(run, names) for run in runs]),
            nondeterminism=_find_nondeterminism(runs),
        )
        # An operator that needs to see each state shows nothing by coming late.
        if late is not None and not late.problem and not late.workload_error:
            reference.late = LateState(reference.state_of(late), reference.external_of(late))
        # After the masks: fields that differ anyway are no counters.
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
            # Only an edit at rest reveals the operator's intention; an edit before a write tests the operator.
            if isinstance(fault, Edit) and not fault.write:
                obj = result.objects.get(fault.resource, {}).get(fault.key)
                # An operator that removes unknown annotations does so without faults, too.
                if obj is not None and EDITED in (obj["metadata"].get("annotations") or {}):
                    self.surviving.add((fault.resource, self.names.key_of(fault.resource, fault.key)))

    def names_of(self, result: RunResult) -> Names:
        """Return the names that differ between runs, with those of a run."""
        # A run with faults may use prefixes that no run without faults used.
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
        return is_masked(self.masks, resource, path)

    def is_benign(self, resource: str, difference: Difference) -> bool:
        """Whether a difference is meaningless: a random value, or a counter that has grown."""
        path, _, actual = difference
        if hides(self.masks, resource, difference):
            return True
        # Better than without faults.
        if path[-1] == "observedGeneration" and actual == "current":
            return True
        # A counter that falls has lost something.
        return _has_grown(difference) and is_masked(self.counters, resource, path)


def count_changes(result: RunResult, names: Names) -> dict[Identity, ChangeCounts]:
    """Count the changes of each object, except for objects that built-in controllers derive from others."""
    # Built-in controllers decide how many pods a Deployment goes through.
    derived = _derived_uids(result, replicas_of(result))
    counts: dict[Identity, list[int]] = {}
    for change in result.changes:
        # How often something is modified depends on the timing; see `count_modifications`.
        if change.uid in derived or change.type == "MODIFIED":
            continue
        count = counts.setdefault((change.resource, names.key_of(change.resource, change.key)), [0, 0])
        count[0 if change.type == "ADDED" else 1] += 1
    return {identity: ChangeCounts(*count) for identity, count in counts.items()}


def count_modifications(result: RunResult, names: Names) -> Counter[Identity]:
    """Count the modifications of each object by the operator, except of times."""
    replicas = replicas_of(result)
    digests: dict[str, int] = {}
    counts: Counter[Identity] = Counter()
    for change in result.changes:
        # Writes of times only have the same checksum.
        is_new = digests.get(change.uid) != change.digest
        # For other clients as well: a write that restores the operator's value is a modification.
        digests[change.uid] = change.digest
        if is_new and change.type == "MODIFIED" and change.client in replicas:
            counts[change.resource, names.key_of(change.resource, change.key)] += 1
    return counts


def count_rewrites(result: RunResult, names: Names) -> Counter[Place]:
    """Count how often a text was replaced by another one within the life of an object."""
    counts: Counter[tuple[str, Place]] = Counter()
    known: dict[tuple[str, str], int] = {}
    for change in result.changes:
        for part, checksum in change.parts.items():
            # By uid, because an object that was created again may have new texts.
            if known.setdefault((change.uid, part), checksum) != checksum:
                known[change.uid, part] = checksum
                # Certificates of webhooks, which are renewed, are not written by reconciles.
                if not change.reconcile:
                    continue
                section, _, name = part.partition(".")
                place = Place(change.resource, names.key_of(change.resource, change.key), (section, name))
                counts[change.uid, place] += 1
    # The maximum of a single object: objects under a common key have a value each.
    highest: Counter[Place] = Counter()
    for (_, place), times in counts.items():
        highest[place] = max(highest[place], times)
    return highest


def count_pod_deletions(result: RunResult, names: Names) -> Counter[str]:
    """Count the pods of built-in controllers that the operator has deleted, by common key."""
    derived = _derived_uids(result, replicas_of(result))
    # A request may fail, or come after the end of the pod.
    deleted = {change.uid for change in result.changes if change.type == "DELETED"} & derived
    # By uid, so that a repeated request for the same pod counts once.
    pods = {
        write.live.uid: names.key_of("pods", write.key)
        for write in result.writes
        if write.verb == "delete" and write.resource == "pods" and write.live.uid in deleted
    }
    return Counter(pods.values())


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
    # Objects of one kind whose names differ between equal runs have random names.
    first = _created_keys(runs[0])
    for run in runs[1:]:
        # With the known patterns, so that a further run adds only new differences.
        names |= learn_patterns(first, _created_keys(run), names)
    return names


def _created_keys(run: RunResult) -> dict[str, list[str]]:
    derived = _derived_uids(run, replicas_of(run))
    keys: dict[str, list[str]] = {}
    for change in run.changes:
        if change.type == "ADDED" and change.uid not in derived:
            keys.setdefault(change.resource, []).append(change.key)
    # A dict retains the order of creation, which pairs the names of two runs.
    return {resource: list(dict.fromkeys(members)) for resource, members in keys.items()}


def _learn_counters(reference: ReferenceRuns, restarts: Sequence[RunResult]) -> frozenset[Mask]:
    """Return the numbers and lists in statuses that grow in all runs with a restart in which they differ."""
    grown: set[Mask] = set()
    others: set[Mask] = set()

    def note(item: CanonicalObject, difference: Difference) -> bool:
        # A growing number in a spec is a decision of the operator, not a counter.
        if difference.path[0] == "status" and not reference.is_benign(item.resource, difference):
            mask = Mask(item.resource, generalise(difference.path))
            # A field that also shrinks is no counter.
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
    # A pod that some run does not delete is no obligation.
    return {item: least for item in counts[0] if (least := min(count[item] for count in counts))}


def _find_nondeterminism(runs: Sequence[RunResult]) -> str:
    """Return the first difference between two runs of the same schedule."""
    for index, run in enumerate(runs):
        for other in runs[index + 1 :]:
            # Equal schedules have equal seeds.
            if run.schedule == other.schedule:
                return _first_difference(run, other)
    return ""


def _first_difference(run: RunResult, other: RunResult) -> str:
    for entry, match in zip(run.entries, other.entries, strict=False):
        if entry != match:
            return f"{entry.text!r} at {entry.time:.3f} s in one run, {match.text!r} at {match.time:.3f} s in the other"
    # A common beginning is not enough: a run may do more at the end.
    if len(run.entries) != len(other.entries):
        longer = max(run.entries, other.entries, key=len)
        return f"{longer[min(len(run.entries), len(other.entries))].text!r} in one run only"
    return ""
