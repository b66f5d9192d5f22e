"""Regression tests for findings, as a pytest module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._errors.control_characters import escape_controls
from masthead.testing._explore.describe import describe_schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.replay_call import ReplayCall
    from masthead.testing._explore.report import Report

__all__ = ["write_tests"]

_MAX_NAME: Final = 60
_WIDTH: Final = 110


def write_tests(report: Report) -> str:
    """Return a pytest module with a test for each finding; a test passes when its defect is repaired."""
    call = report.call
    lines = ['"""Schedules under which the operator went wrong. Written by `masthead.testing.explore`."""', ""]
    if call.missing:
        lines += ["# Move these to the top of a module, and import them here:"]
        lines += [f"# - {problem}" for problem in call.missing] + [""]
    lines += _write_imports([("masthead.testing", "explore"), *call.imports])
    names: set[str] = set()
    for finding in report.findings:
        name = _unique_name(finding, names)
        lines += ["", "", *_write_test(finding, call, name)]
    return "\n".join(lines) + "\n"


def _write_imports(imports: Iterable[tuple[str, str]]) -> Iterator[str]:
    names: dict[str, set[str]] = {}
    for module, name in imports:
        names.setdefault(module, set()).add(name)
    for module in sorted(names):
        yield f"from {module} import {', '.join(sorted(names[module]))}"


def _write_test(finding: Finding, call: ReplayCall, name: str) -> Iterator[str]:
    yield f"def {name}() -> None:"
    yield f"    # {finding.oracle}: {_cut(finding.summary)}"
    for sentence in describe_schedule(finding.schedule, finding.run):
        yield f"    # - {_cut(sentence)}"
    yield "    report = explore.replay("
    for argument in call.arguments(finding.schedule):
        yield f"        {argument},"
    yield "    )"
    yield "    assert not report.findings, report"


def _unique_name(finding: Finding, taken: set[str]) -> str:
    """Return the name of a test after the oracle and the subject of its finding."""
    words = re.sub(r"[^a-z0-9]+", "_", f"{finding.oracle} {finding.subject}".lower()).strip("_")
    stem = f"test_{words[:_MAX_NAME].strip('_') or 'finding'}"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name


def _cut(text: str) -> str:
    line = escape_controls(" ".join(text.split())).encode("utf-8", "replace").decode()
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
