"""``masthead doctor``: problems of the connection to a cluster, and their remedies."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.failures import ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import has_color, write

if TYPE_CHECKING:
    from masthead._cli.diagnosis import Diagnosis
    from masthead._cli.document import Line
    from masthead._cli.shared_options import State

__all__ = ["command"]

_STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red", "skip": "dim"}
_SIGNS: Final = {"ok": "✓", "warn": "!", "fail": "✗", "skip": "·"}
_WORDS: Final = {"ok": "ok  ", "warn": "warn", "fail": "FAIL", "skip": "-   "}
_WIDTH: Final = 15


@cluster_command("doctor")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="text or json")
@click.pass_obj
def command(state: State, output: str) -> int:
    """Find the problem of the connection to a cluster.

    It checks the configuration, the credentials and their expiry, the network, the server, the clocks, versions,
    permissions, latency, and watches. Nothing is changed. The exit code is 0 if no check has failed, and 1 otherwise.
    """
    import json

    from masthead._cli.doctor import is_healthy

    findings = asyncio.run(_examine(state, is_printed=output == "text"))
    healthy = is_healthy(findings)
    if output == "json":
        checks = [
            {
                "check": finding.check,
                "mark": finding.mark,
                "line": finding.line,
                "hint": finding.hint,
                **_facts(finding),
            }
            for finding in findings
        ]
        write(f"{json.dumps({'healthy': healthy, 'checks': checks}, indent=2)}\n")
    else:
        write(f"\n{_summary(findings)}\n")
    return ExitCode.OK if healthy else ExitCode.FAILED


def _facts(finding: Diagnosis) -> dict[str, object]:
    return {"facts": dict(finding.facts)} if finding.facts else {}


async def _examine(state: State, *, is_printed: bool) -> list[Diagnosis]:
    from masthead._cli.diagnosis import Diagnosis
    from masthead._cli.doctor import examine
    from masthead._cli.document import as_text
    from masthead._cli.progress import Work

    color = has_color(no_color=state.no_color)
    found: list[Diagnosis] = []
    signs = _can_draw()
    with Work("checking", no_color=state.no_color) as work:
        async for diagnosis in examine(state, work.detail):
            found.append(diagnosis)
            # Checks that depend on a failed one share a single line at the end.
            if is_printed and "needs" not in diagnosis.facts:
                work.line(as_text(lines_of(diagnosis, signs=signs), color=color).rstrip("\n"))
    unchecked = [diagnosis.check for diagnosis in found if "needs" in diagnosis.facts]
    if is_printed and unchecked:
        rest = Diagnosis("not checked", "skip", ", ".join(unchecked))
        write(as_text(lines_of(rest, signs=signs), color=color))
    return found


def lines_of(finding: Diagnosis, *, signs: bool) -> list[Line]:
    """Return the lines of a finding, and below them the remedy.

    Args:
        finding: The finding.
        signs: Whether it is marked by a sign instead of a word.
    """
    from masthead._cli.document import line

    mark, name = (_SIGNS if signs else _WORDS)[finding.mark], finding.check.ljust(_WIDTH)
    said = (finding.line, "dim" if finding.mark == "skip" else "")
    lines = [line((mark, _STYLES[finding.mark]), f" {name}", said)]
    if finding.hint:
        lines.append(line(" " * (len(mark) + 1 + _WIDTH), (f"-> {finding.hint}", "cyan")))
    return lines


def _summary(findings: list[Diagnosis]) -> str:
    count = {mark: sum(finding.mark == mark for finding in findings) for mark in _STYLES}
    parts = [
        f"{count['ok']} ok",
        *([f"{count['warn']} to look at"] if count["warn"] else []),
        *([f"{count['fail']} failed"] if count["fail"] else []),
        *([f"{count['skip']} skipped"] if count["skip"] else []),
    ]
    return ", ".join(parts)


def _can_draw() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") in {"utf8", "utf16", "utf32"}
