"""Reports and findings as text: no longer than a screen for each finding."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from masthead._errors.control_characters import escape_controls
from masthead.testing._explore.describe import describe_schedule
from masthead.testing._explore.replay_call import ReplayCall
from masthead.testing._explore.rules import rule_of
from masthead.testing._explore.timeline import Gap, select_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.report import Report

__all__ = ["format_finding", "format_report", "format_title"]

_WIDTH: Final = 110
_MAX_ENTRIES: Final = 18
_MAX_DETAILS: Final = 16
_MAX_FINDINGS: Final = 10
"""Findings in full; the others have their titles only."""
_MAX_REMARKS: Final = 4
_MAX_REMARK_LINES: Final = 4


def format_title(report: Report) -> str:
    """Return the result of an exploration in a line."""
    count = len(report.findings)
    found = "no finding" if count == 0 else f"{count} finding{'s' if count > 1 else ''}"
    schedules = f"{report.schedules} schedule{'' if report.schedules == 1 else 's'}"
    return f"{found} in {schedules} ({report.seconds:.1f} s, {format_coverage(report)}seed {report.seed})"


def format_coverage(report: Report) -> str:
    """Return the coverage as the beginning of a list; empty if it is unknown."""
    known = sum(total for _, total in report.coverage.values())
    tried = sum(done for done, _ in report.coverage.values())
    return f"{tried} of {known} fault points, " if known else ""


def format_report(report: Report) -> str:
    """Return a report as text."""
    lines = [format_title(report)]
    count = len(report.findings)
    for number, finding in enumerate(report.findings[:_MAX_FINDINGS], 1):
        heading = f"finding {number} of {count}" if count > 1 else "finding"
        lines += ["", f"{heading}: {_format_oracle(finding)}", *_format_body(finding, report.call)]
    for finding in report.findings[_MAX_FINDINGS:]:
        lines += ["", f"{finding.oracle}: {finding.summary}", f"  {report.call.line(finding.schedule)}"]
    lines += _format_remarks("schedules with a fault that never struck", report.unreached)
    lines += _format_remarks("notes", report.notes)
    return "\n".join(escape_controls(line) for line in lines)


def format_finding(finding: Finding, call: ReplayCall | None = None) -> str:
    """Return a finding as text.

    Args:
        finding: The finding.
        call: How to replay its schedule.
    """
    lines = [f"finding: {_format_oracle(finding)}", *_format_body(finding, call or ReplayCall())]
    return "\n".join(escape_controls(line) for line in lines)


def _format_oracle(finding: Finding) -> str:
    return f"{finding.oracle}, in {finding.count} schedules" if finding.count > 1 else finding.oracle


def _format_body(finding: Finding, call: ReplayCall) -> Iterator[str]:
    yield from _wrap(finding.summary, "  ")
    yield ""
    yield "  schedule"
    for sentence in describe_schedule(finding.schedule, finding.run):
        yield from _wrap(sentence, "    ", mark="- ")
    timeline = list(_format_timeline(finding))
    if timeline:
        yield "  timeline"
        yield from timeline
    if finding.details:
        yield "  details"
        yield from _indent(_cut(finding.details, _MAX_DETAILS))
    rule = rule_of(finding)
    if rule is not None:
        yield "  likely rule"
        yield from _wrap(rule.text, "    ")
        yield f"    see {rule.link}"
    yield "  replay"
    yield f"    {call.line(finding.schedule)}"


def _format_timeline(finding: Finding) -> Iterator[str]:
    for entry in select_entries(finding, _MAX_ENTRIES):
        if isinstance(entry, Gap):
            yield f"{'…':>13} {entry.count} more" if entry.count > 1 else f"{'…':>13} 1 more"
        else:
            yield f"  {entry}"


def _format_remarks(title: str, remarks: Sequence[str]) -> Iterator[str]:
    if remarks:
        yield ""
        yield title
        for remark in _cut(remarks, _MAX_REMARKS):
            # Tracebacks, of which JSON has all.
            yield from _cut(_wrap(remark, "  ", mark="- "), _MAX_REMARK_LINES)


def _cut(lines: Sequence[str], limit: int) -> list[str]:
    # A line with "1 more line" would be as long as that line.
    if len(lines) <= limit + 1:
        return list(lines)
    return [*lines[:limit], f"… {len(lines) - limit} more lines"]


def _indent(lines: Iterable[str]) -> Iterator[str]:
    for block in lines:
        for line in block.splitlines() or [""]:
            is_whole = len(line) <= _WIDTH or line.lstrip().startswith("v1:")
            yield f"    {line if is_whole else f'{line[: _WIDTH - 1]}…'}"


def _wrap(text: str, indent: str, *, mark: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=indent + mark,
        subsequent_indent=indent + " " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent + mark]
