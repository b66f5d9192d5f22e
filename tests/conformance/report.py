"""Writes docs/conformance.md and build/conformance.md: ``python -m tests.conformance.report [--check]``."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conformance.case import all_cases
from tests.conformance.compare import differences
from tests.conformance.known import known_differences
from tests.conformance.recording import read, recorded
from tests.conformance.run import responses
from tests.conformance.target import Targets, embedded_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.conformance.case import Case

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "conformance.md"
CASES = ROOT / "build" / "conformance.md"
HEAD = """\
# Conformance

The tests compare the responses of `masthead.server` with those of a real kube-apiserver. A case is a short script of
requests to both servers. Uids, times and versions are replaced by symbols; then status, headers, bodies and events
must be equal. The responses of the real server are committed in `tests/conformance/recorded`, so that the comparison
runs on every machine; with a real server at hand, the tests query it again.

Both servers run without controllers, kubelet and service accounts. Managed fields are compared in every case, except
for their times. Values that differ between any two servers (cluster IPs, node ports, the address) are excluded.
Garbage collection, deletion of namespace contents and the end of pods are the work of other components, not of
kube-apiserver, and are not compared here.

`make conformance` writes this page, and the list of all cases to `build/conformance.md`. `make conformance-record`
records the responses of the real server again.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every case against the embedded server, and write the results."""
    parser = argparse.ArgumentParser(description="Compare the embedded server with the recorded one.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not current")
    check: bool = parser.parse_args(arguments).check
    cases = all_cases()
    disagreeing = dict(_disagreements(cases))
    for title, found in disagreeing.items():
        if title not in known_differences():
            print(title, *(f"    {line}" for line in found), sep="\n")
    page = render(cases, disagreeing)
    if check:
        return 0 if DOCUMENT.is_file() and DOCUMENT.read_text("utf-8") == page else 1
    DOCUMENT.write_text(page, "utf-8")
    CASES.parent.mkdir(exist_ok=True)
    CASES.write_text(render_cases(cases, disagreeing), "utf-8")
    print(f"{len(cases) - len(disagreeing)} of {len(cases)} cases agree: docs/conformance.md, build/conformance.md")
    return 0 if disagreeing.keys() == known_differences().keys() else 1


def _disagreements(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    with Targets(embedded_target) as targets:
        for case in cases:
            if found := differences(recorded(case) or [], responses(case, targets.find(case))):
                yield case.title, found


def render(cases: Sequence[Case], disagreeing: Iterable[str]) -> str:
    """Return the page: totals for each area, and the differences.

    Args:
        cases: All cases.
        disagreeing: The titles of the cases that differ.
    """
    apart = set(disagreeing)
    parts = [HEAD, _totals(_by_area(cases), apart)]
    if apart:
        parts.append(_known(cases, apart))
    return "\n".join(parts)


def render_cases(cases: Sequence[Case], disagreeing: Iterable[str]) -> str:
    """Return the list of all cases.

    Args:
        cases: All cases.
        disagreeing: The titles of the cases that differ.
    """
    apart = set(disagreeing)
    areas = [_area(area, found, apart) for area, found in _by_area(cases).items()]
    return "\n".join(["# Conformance cases", "", *areas])


def _by_area(cases: Sequence[Case]) -> dict[str, list[Case]]:
    return {area: list(found) for area, found in itertools.groupby(cases, key=lambda case: case.area)}


def _totals(areas: dict[str, list[Case]], apart: set[str]) -> str:
    lines = ["| Area | Cases | Agree | Recorded from | On |", "|---|--:|--:|---|---|"]
    for area, cases in areas.items():
        recording = read(area)
        agree = sum(case.title not in apart for case in cases)
        lines.append(f"| {area} | {len(cases)} | {agree} | {recording.server} | {recording.recorded} |")
    total = sum(map(len, areas.values()))
    lines.append(f"| **All** | **{total}** | **{total - len(apart)}** | | |")
    return "\n".join([*lines, ""])


def _known(cases: Sequence[Case], apart: set[str]) -> str:
    lines = ["## Differences", "", "| Case | Why |", "|---|---|"]
    lines += [
        f"| {case.title} | {known_differences().get(case.title, 'not explained yet')} |"
        for case in cases
        if case.title in apart
    ]
    return "\n".join([*lines, ""])


def _area(area: str, cases: Sequence[Case], apart: set[str]) -> str:
    lines = [f"## {area}", "", "| Case | Agrees |", "|---|---|"]
    lines += [f"| {case.name} | {'no' if case.title in apart else 'yes'} |" for case in cases]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
