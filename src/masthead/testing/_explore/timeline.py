"""The timeline of a run, and the part of it that explains a finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.trace import RunResult, TraceEntry

__all__ = ["Gap", "condense", "format_entry", "select_entries"]

_AROUND: Final = 2
"""Entries before and after a fault, and at the end."""
_INDENTS: Final = {"step": 0, "rest": 0, "replica": 1, "fault": 1, "failure": 1, "change": 1, "reconcile": 1}
_WEIGHTS: Final = {"step": 8, "replica": 5, "external": 3}
_MAX_TEXT: Final = 110


@dataclass(frozen=True, slots=True)
class Gap:
    """Entries that are left out.

    Attributes:
        count: Their number.
    """

    count: int


def select_entries(finding: Finding, limit: int) -> list[TraceEntry | Gap]:
    """Return the relevant part of the timeline of a finding.

    Faults, failures and steps come first, then writes of the objects that the finding names, the reconciles of both,
    and neighbours of faults and of the end.

    Args:
        finding: The finding.
        limit: The maximum number of entries.
    """
    run = finding.run
    if run is None:
        return []
    entries = condense(run)
    weights = _weigh(finding, run, entries)
    ranked = sorted(range(len(entries)), key=lambda index: (-weights[index], -index))
    chosen = set(ranked[:limit])
    # A line about a gap takes as much room as the entry.
    chosen |= {index for index in range(len(entries)) if {index - 1, index + 1} <= chosen}
    return list(_with_gaps(entries, sorted(chosen)))


def condense(run: RunResult) -> list[TraceEntry]:
    """Return the entries of a run without repetitions: what a write shows, a change need not."""
    replicas = {entry.replica for entry in run.entries if entry.replica}
    own = {change.revision for change in run.changes if change.client in replicas}
    # After the last step, another one begins in which nothing happens.
    last = max((entry.step for entry in run.entries if entry.kind not in {"step", "rest"}), default=0)
    return [entry for entry in run.entries if entry.step <= last and not _is_redundant(entry, own)]


def _is_redundant(entry: TraceEntry, own: Container[int]) -> bool:
    if entry.kind == "change":
        # The server's own objects, before the first step, or what the operator itself has written.
        return entry.step == 0 or entry.number in own
    return entry.kind == "reconcile" and entry.text.endswith(" ends")


def format_entry(entry: TraceEntry) -> str:
    """Return an entry as a line: virtual time, replica, text; indented by its place."""
    indent = "  " * _INDENTS.get(entry.kind, 2 if entry.reconcile else 1)
    mark = {"fault": "! ", "failure": "x "}.get(entry.kind, "")
    number = f"{entry.kind} {entry.number}: " if entry.kind in {"read", "write"} and entry.number else ""
    told = entry.text.removeprefix("read ")
    step = f"step {entry.step}: " if entry.kind == "step" and not entry.text.startswith("step") else ""
    has_name = entry.kind == "fault" or entry.text.startswith(entry.replica)
    replica = "" if has_name else f"{entry.replica}  "
    text = f"{step}{number}{_reconcile_text(entry) or told}"
    cut = text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
    return f"{entry.time:9.3f}  {indent}{mark}{replica}{cut}"


def _reconcile_text(entry: TraceEntry) -> str:
    # The reasons follow: which events made the controller reconcile.
    return f"reconcile {entry.text.replace(' begins: ', ': ')}" if entry.kind == "reconcile" else ""


def _weigh(finding: Finding, run: RunResult, entries: Sequence[TraceEntry]) -> list[int]:
    named = _named_writes(finding, run)
    relevant = {write.reconcile for write in run.writes if write.number in named and write.reconcile}
    strike = next((index for index, entry in enumerate(entries) if entry.kind == "fault"), len(entries))
    weights = [0] * len(entries)
    for index, entry in enumerate(entries):
        # The story begins with the fault; what users did before it is its background.
        later = 1 if index > strike else 0
        if entry.kind in {"fault", "failure"}:
            weights[index] += 12
            _add(weights, index - _AROUND, index + _AROUND, 3)
        elif entry.kind == "write":
            weights[index] += later + (7 if entry.number in named else 0 if "/status" in entry.text else 2)
        elif entry.kind == "reconcile":
            weights[index] += 6 if entry.reconcile in relevant else later
        elif entry.kind == "change":
            weights[index] += 6 if entry.text.endswith(" by user") else later
        else:
            weights[index] += _WEIGHTS.get(entry.kind, 0)
    _add(weights, len(entries) - _AROUND, len(entries), 1)
    return weights


def _named_writes(finding: Finding, run: RunResult) -> set[int]:
    """Return the numbers of the writes of objects that the finding names, and of the writes with faults."""
    text = " ".join([finding.summary, finding.subject, *finding.details])
    numbers = {getattr(fault, "write", 0) for fault in finding.schedule.faults}
    return numbers | {write.number for write in run.writes if f"{write.resource} {write.key}" in text}


def _add(weights: list[int], first: int, last: int, weight: int) -> None:
    for index in range(max(first, 0), min(last + 1, len(weights))):
        weights[index] += weight


def _with_gaps(entries: Sequence[TraceEntry], chosen: Sequence[int]) -> Iterator[TraceEntry | Gap]:
    following = 0
    for index in chosen:
        if index > following:
            yield Gap(index - following)
        yield entries[index]
        following = index + 1
    if chosen and following < len(entries):
        yield Gap(len(entries) - following)
