"""Reports as JSON, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead.testing._explore.describe import describe
from masthead.testing._explore.rules import rule_of

if TYPE_CHECKING:
    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.replay_call import ReplayCall
    from masthead.testing._explore.report import Report
    from masthead.testing._explore.trace import RunResult

__all__ = ["to_json"]

_VERSION: Final = 1
_MAX_ENTRIES: Final = 2_000
"""The maximum number of entries of a timeline: the last ones."""


def to_json(report: Report) -> str:
    """Return a report as JSON."""
    content = {
        "version": _VERSION,
        "operator": report.call.make_app,
        "workload": report.call.workload,
        "seed": report.seed,
        "schedules": report.schedules,
        "seconds": round(report.seconds, 3),
        "coverage": {kind: {"tried": tried, "known": known} for kind, (tried, known) in report.coverage.items()},
        "findings": [_to_plain(finding, report.call) for finding in report.findings],
        "unreached": list(report.unreached),
        "notes": list(report.notes),
    }
    return json.dumps(content, indent=2) + "\n"


def _to_plain(finding: Finding, call: ReplayCall) -> dict[str, Any]:
    run, rule = finding.run, rule_of(finding)
    entries = [] if run is None else run.entries
    return {
        "oracle": finding.oracle,
        "summary": finding.summary,
        "details": list(finding.details),
        "subject": finding.subject,
        "count": finding.count,
        "schedule": str(finding.schedule),
        "faults": [_fault(fault, run) for fault in finding.schedule.faults],
        "rule": None if rule is None else {"text": rule.text, "link": rule.link},
        "replay": call.line(finding.schedule),
        "timeline": [msgspec.to_builtins(entry) for entry in entries[-_MAX_ENTRIES:]],
        "omitted": max(0, len(entries) - _MAX_ENTRIES),
    }


def _fault(fault: PlannedFault, run: RunResult | None) -> dict[str, Any]:
    fields = {name: getattr(fault, name) for name in fault.__struct_fields__}
    return {"kind": str(fault.__struct_config__.tag), **fields, "text": describe(fault, run)}
