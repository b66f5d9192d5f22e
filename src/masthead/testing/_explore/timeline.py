"""The timeline of a run, and the part of it that explains a finding."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.trace import RunResult, TraceEntry

    _Signature: TypeAlias = tuple[int, str, str, str]

__all__ = ["Gap", "ShownEntry", "condense", "format_entry", "select_entries"]

_AROUND: Final = 2
"""Entries before and after a fault, and at the end."""
_INDENTS: Final = {"step": 0, "rest": 0, "replica": 1, "fault": 1, "failure": 1, "change": 1, "reconcile": 1}
_WEIGHTS: Final = {"step": 8, "replica": 5, "external": 3}
_MAX_TEXT: Final = 110
_END: Final = "after the workload"
_MIN_REPETITIONS: Final = 3
"""Entries of the same text, from which all but the first are left out."""
_WRITE: Final = re.compile(r"\bwrite (\d+)")


@dataclass(frozen=True, slots=True)
class Gap:
    """Entries that are left out.

    Attributes:
        count: Their number.
    """

    count: int


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry of the timeline.

    Attributes:
        entry: The entry.
        repetitions: The number of later entries with the same text, which are left out.
    """

    entry: TraceEntry
    repetitions: int = 0

    def __str__(self) -> str:
        return format_entry(self.entry, _format_repetitions(self))


def select_entries(finding: Finding, limit: int) -> list[ShownEntry | Gap]:
    """Return the relevant part of the timeline of a finding.

    Faults, failures and steps come first, then writes of the objects that the finding names, the reconciles of both,
    and neighbours of faults and of the end. Repetitions, such as retries, are left out.

    Args:
        finding: The finding.
        limit: The maximum number of entries.
    """
    run = finding.run
    if run is None:
        return []
    entries = condense(run)
    weights = _weigh(finding, run, entries)
    repetitions = _find_repetitions(entries)
    news = (index for index in range(len(entries)) if repetitions[index] >= 0)
    ranked = sorted(news, key=lambda index: (-weights[index], -index))
    chosen = set(ranked[:limit])
    # A line about a gap takes as much room as the entry.
    chosen |= {index for index in range(len(entries)) if {index - 1, index + 1} <= chosen}
    return list(_with_gaps(entries, sorted(chosen), repetitions))


def _find_repetitions(entries: Sequence[TraceEntry]) -> list[int]:
    """Return the number of repetitions of each entry; -1 for a repetition."""
    signatures: list[_Signature | None] = []
    section = 0
    for entry in entries:
        # What happens after a fault or in another step is news, even if it looks the same.
        section += entry.kind in {"step", "fault"}
        is_repeatable = entry.kind in {"reconcile", "write", "read", "change", "external"}
        signatures.append((section, entry.kind, entry.replica, _stem(entry)) if is_repeatable else None)
    counts = Counter(signatures)
    known: set[_Signature] = set()
    repetitions: list[int] = []
    for signature in signatures:
        is_folded = signature is not None and counts[signature] > _MIN_REPETITIONS
        repetitions.append(0 if not is_folded else -1 if signature in known else counts[signature] - 1)
        if signature is not None:
            known.add(signature)
    return repetitions


def _stem(entry: TraceEntry) -> str:
    # Messages of errors have versions and times, which differ in each attempt.
    return entry.text.partition("(" if " fails: " in entry.text else "\n")[0]


def _format_repetitions(shown: ShownEntry) -> str:
    if shown.repetitions <= 0:
        return ""
    if shown.entry.kind == "reconcile" and " fails: " in shown.entry.text:
        return f" ({shown.repetitions} more failures)"
    return f" ({shown.repetitions} times more)"


def condense(run: RunResult) -> list[TraceEntry]:
    """Return the entries of a run without repetitions: what a write shows, a change need not."""
    replicas = {entry.replica for entry in run.entries if entry.replica}
    own = {change.revision for change in run.changes if change.client in replicas}
    # After the last step, another one begins in which nothing happens.
    last = max((entry.step for entry in run.entries if entry.kind not in {"step", "rest"}), default=0)
    entries = [entry for entry in run.entries if entry.step <= last and not _is_redundant(entry, own)]
    return [_rename_end(entry, run) if entry.kind == "step" and entry.step == last else entry for entry in entries]


def _rename_end(entry: TraceEntry, run: RunResult) -> TraceEntry:
    """Give the time after the last step a name: it has a number, but the workload has no such step."""
    has_ended = any(other.kind == "rest" and other.step == entry.step for other in run.entries)
    is_used = any(change.step == entry.step and change.client == "user" for change in run.changes)
    # In a run with a problem, the last step has no end.
    if has_ended or is_used or run.problem or run.workload_error or len(run.rests) < entry.step - 1 or entry.step == 1:
        return entry
    return msgspec.structs.replace(entry, text=_END)


def _is_redundant(entry: TraceEntry, own: Container[int]) -> bool:
    if entry.kind == "change":
        # The server's own objects, before the first step, or what the operator itself has written.
        return entry.step == 0 or entry.number in own
    return entry.kind == "reconcile" and entry.text.endswith(" ends")


def format_entry(entry: TraceEntry, remark: str = "") -> str:
    """Return an entry as a line: virtual time, replica, text and remark; indented by its place."""
    indent = "  " * _INDENTS.get(entry.kind, 2 if entry.reconcile else 1)
    mark = {"fault": "! ", "failure": "x "}.get(entry.kind, "")
    number = f"{entry.kind} {entry.number}: " if entry.kind in {"read", "write"} and entry.number else ""
    told = entry.text.removeprefix("read ")
    step = f"step {entry.step}: " if entry.kind == "step" and not entry.text.startswith(("step", _END)) else ""
    has_name = entry.kind == "fault" or entry.text.startswith(entry.replica)
    replica = "" if has_name else f"{entry.replica}  "
    text = f"{step}{number}{_reconcile_text(entry) or told}"
    room = _MAX_TEXT - len(remark)
    cut = text if len(text) <= room else f"{text[: room - 1]}…"
    return f"{entry.time:9.3f}  {indent}{mark}{replica}{cut}{remark}"


def _reconcile_text(entry: TraceEntry) -> str:
    # The reasons follow: which events made the controller reconcile.
    return f"reconcile {entry.text.replace(' begins: ', ': ')}" if entry.kind == "reconcile" else ""


def _weigh(finding: Finding, run: RunResult, entries: Sequence[TraceEntry]) -> list[int]:
    text = " ".join([finding.summary, *finding.details])
    named = _named_writes(finding, run)
    relevant = {write.reconcile for write in run.writes if write.number in named and write.reconcile}
    strike = _find_strike(entries)
    failed = _first_failure(finding, entries)
    weights = [0] * len(entries)
    for index, entry in enumerate(entries):
        # The story begins with the fault; what users did before it is its background.
        later = 1 if index > strike else 0
        if entry.kind in {"fault", "failure"}:
            weights[index] += 20
            _add(weights, index - _AROUND, index + _AROUND, 3)
        elif entry.kind == "write":
            weights[index] += later + (named.get(entry.number) or (0 if "/status" in entry.text else 2))
        elif entry.kind == "reconcile":
            weights[index] += 6 if entry.reconcile in relevant else later
        elif entry.kind == "change":
            weights[index] += _weigh_change(entry, text) or later
        else:
            weights[index] += _WEIGHTS.get(entry.kind, 0)
        if failed and entry.reconcile == failed:
            weights[index] += 12
        elif strike < len(entries) and entry.step < entries[strike].step and entry.kind != "step":
            # Steps that ended well before anything happened tell least.
            weights[index] -= 3
    _add(weights, len(entries) - _AROUND, len(entries), 1)
    return weights


def _find_strike(entries: Sequence[TraceEntry]) -> int:
    """Return the index of the first fault or, without one, of the first failure."""
    faults = (index for index, entry in enumerate(entries) if entry.kind in {"fault", "failure"})
    failures = (index for index, entry in enumerate(entries) if _has_failed(entry))
    return next(faults, next(failures, len(entries)))


def _first_failure(finding: Finding, entries: Sequence[TraceEntry]) -> str:
    """Return the id of the first failing reconcile, if the finding is about failures."""
    if finding.oracle not in {"exceptions", "not-converging"}:
        return ""
    return next((entry.reconcile for entry in entries if _has_failed(entry)), "")


def _has_failed(entry: TraceEntry) -> bool:
    return entry.kind == "reconcile" and " fails: " in entry.text


def _weigh_change(entry: TraceEntry, text: str) -> int:
    type_, _, subject = entry.text.partition(" ")
    # The creation and the deletion of the object in question are always of interest, by any author.
    if type_ in {"ADDED", "DELETED"} and subject.rpartition(" by ")[0] and subject.rpartition(" by ")[0] in text:
        return 14
    return 6 if entry.text.endswith(" by user") else 0


def _named_writes(finding: Finding, run: RunResult) -> dict[int, int]:
    """Return the weights of the writes of objects that the finding names, and of the writes with faults."""
    text = " ".join([finding.summary, finding.subject, *finding.details])
    numbers = {getattr(fault, "write", 0) for fault in finding.schedule.faults}
    numbers |= {write.number for write in run.writes if f"{write.resource} {write.key}" in text}
    # Details name writes by their numbers only if these are the cause.
    return dict.fromkeys(numbers, 7) | {int(number): 14 for number in _WRITE.findall(" ".join(finding.details))}


def _add(weights: list[int], first: int, last: int, weight: int) -> None:
    for index in range(max(first, 0), min(last + 1, len(weights))):
        weights[index] += weight


def _with_gaps(
    entries: Sequence[TraceEntry], chosen: Sequence[int], repetitions: Sequence[int]
) -> Iterator[ShownEntry | Gap]:
    following = 0
    for index in chosen:
        if index > following:
            yield Gap(index - following)
        yield ShownEntry(entries[index], repetitions[index])
        following = index + 1
    if chosen and following < len(entries):
        yield Gap(len(entries) - following)
