"""Writes docs/conformance.md: ``python -m tests.conformance.report [--check]``."""

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
from tests.conformance.target import embedded_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.conformance.case import Case

DOCUMENT = Path(__file__).parents[2] / "docs" / "conformance.md"
HEAD = """\
# Conformance

`masthead.server` is a verified fake: its responses are compared with those of a real kube-apiserver. Each case is a
short script of requests that is put to both; after uids, times and versions are replaced by symbols, status, headers,
bodies and events must be the same. The responses of the real server are committed under `tests/conformance/recorded`, so
that every machine compares with them; where there is a real server, the tests query it again.

Both servers stand alone: no controllers, no kubelet, no service accounts. Managed fields are compared in every case, and
only their times are not. Left out of the comparison is what differs between any two servers (cluster IPs, node ports, the
address). What a cluster does by itself (garbage collection, emptying namespaces, ending pods) is no part of
kube-apiserver, and so is not compared here.

This page is written by `make conformance`; `make conformance-record` records the responses of the real server anew.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Put every case to the embedded server, and write what came of it."""
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
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(page, "utf-8")
    print(f"{len(cases) - len(disagreeing)} of {len(cases)} cases agree: docs/{DOCUMENT.name}")
    return 0 if disagreeing.keys() == known_differences().keys() else 1


def _disagreements(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    with embedded_target() as target:
        for case in cases:
            if found := differences(recorded(case) or [], responses(case, target)):
                yield case.title, found


def render(cases: Sequence[Case], disagreeing: Iterable[str]) -> str:
    """Return the page.

    Args:
        cases: All cases.
        disagreeing: The titles of those that do not agree.
    """
    apart = set(disagreeing)
    areas = {area: list(found) for area, found in itertools.groupby(cases, key=lambda case: case.area)}
    parts = [HEAD, _totals(areas, apart)]
    if apart:
        parts.append(_known(cases, apart))
    parts += [_area(area, found, apart) for area, found in areas.items()]
    return "\n".join(parts)


def _totals(areas: dict[str, list[Case]], apart: set[str]) -> str:
    lines = ["| Area | Cases | Agree | Recorded from | On |", "|---|--:|--:|---|---|"]
    for area, cases in areas.items():
        recording = read(area)
        agree = sum(case.title not in apart for case in cases)
        lines.append(
            f"| [{area}](#{_anchor(area)}) | {len(cases)} | {agree} | {recording.server} | {recording.recorded} |"
        )
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


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main())
