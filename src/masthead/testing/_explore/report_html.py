"""Reports as one HTML page without external resources."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from masthead._errors.control_characters import escape_controls
from masthead.testing._explore.describe import describe_schedule
from masthead.testing._explore.report_page import SCRIPT, STYLE
from masthead.testing._explore.report_text import format_title
from masthead.testing._explore.rules import rule_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.replay_call import ReplayCall
    from masthead.testing._explore.report import Report
    from masthead.testing._explore.trace import RunResult, TraceEntry

__all__ = ["to_html"]

_MAX_FINDINGS: Final = 100
_MAX_ENTRIES: Final = 1_000
"""The maximum number of entries of a timeline: the last ones."""
_MAX_TEXT: Final = 1_000
_MAX_LINES: Final = 500
_CLUSTER: Final = "user and cluster"
"""The lane of everything that no replica does."""


def to_html(report: Report) -> str:
    """Return a report as an HTML page."""
    return "\n".join(_page(report)) + "\n"


def _page(report: Report) -> Iterator[str]:
    title = _text(format_title(report))
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    # Nothing is loaded, whatever a name of an object contains.
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title><style>{STYLE}</style></head><body>"
    yield f"<h1>{_text(report.call.make_app)}: {title}</h1>"
    for number, finding in enumerate(report.findings[:_MAX_FINDINGS], 1):
        yield from _section(finding, number, report.call)
    if len(report.findings) > _MAX_FINDINGS:
        yield f"<p>{len(report.findings) - _MAX_FINDINGS} more findings are left out.</p>"
    yield from _coverage(report)
    yield from _remarks("Faults that never struck", report.unreached)
    yield from _remarks("Notes", report.notes)
    yield f"<script>{SCRIPT}</script></body></html>"


def _section(finding: Finding, number: int, call: ReplayCall) -> Iterator[str]:
    yield f'<section><h2>{number}. {_text(finding.oracle)}</h2><p class="summary">{_text(finding.summary)}</p>'
    yield from _list(describe_schedule(finding.schedule, finding.run))
    rule = rule_of(finding)
    if rule is not None:
        yield f'<p class="rule">{_text(rule.text)} <code>{_text(rule.link)}</code></p>'
    yield f"<h3>Replay</h3><pre>{_text(call.line(finding.schedule))}</pre>"
    if finding.details:
        yield "<h3>Details</h3><pre>"
        yield from _diff(finding.details)
        yield "</pre>"
    if finding.run is not None:
        yield from _timeline(finding.run)
    yield "</section>"


def _diff(details: Sequence[str]) -> Iterator[str]:
    lines = [line for block in details for line in block.splitlines() or [""]]
    for line in lines[:_MAX_LINES]:
        kind = {"+": "added", "-": "removed"}.get(line.lstrip()[:1], "same")
        yield f'<span class="{kind}">{_text(line)}</span>'
    if len(lines) > _MAX_LINES:
        yield f"… {len(lines) - _MAX_LINES} more lines"


def _timeline(run: RunResult) -> Iterator[str]:
    entries = run.entries[-_MAX_ENTRIES:]
    lanes = [_CLUSTER, *dict.fromkeys(entry.replica for entry in entries if entry.replica)]
    yield "<h3>Timeline</h3>"
    yield from _filters(entries)
    headings = "".join(f"<th>{_text(lane)}</th>" for lane in lanes)
    yield f'<table class="timeline"><thead><tr><th>seconds</th>{headings}</tr></thead><tbody>'
    if len(run.entries) > len(entries):
        yield f'<tr><td></td><td colspan="{len(lanes)}">… {len(run.entries) - len(entries)} earlier entries</td></tr>'
    for entry in entries:
        yield _row(entry, lanes)
    yield "</tbody></table>"


def _filters(entries: Sequence[TraceEntry]) -> Iterator[str]:
    yield '<p class="filters"><input type="search" placeholder="filter by object or text" aria-label="filter">'
    # A reconcile has an id; its first entry has the object.
    reconciles: dict[str, str] = {}
    for entry in entries:
        if entry.reconcile:
            reconciles.setdefault(entry.reconcile, entry.text)
    yield '<select aria-label="reconcile"><option value="">all reconciles</option>'
    for identity, text in reconciles.items():
        yield f'<option value="{_text(identity)}">{_text(text[:80])}</option>'
    yield "</select></p>"


def _row(entry: TraceEntry, lanes: Sequence[str]) -> str:
    lane = lanes.index(entry.replica or _CLUSTER)
    number = f"{entry.number}. " if entry.number and entry.kind in {"read", "write"} else ""
    step = f"step {entry.step}: " if entry.kind == "step" and not entry.text.startswith("step") else ""
    before, after = "<td></td>" * lane, "<td></td>" * (len(lanes) - lane - 1)
    nested = " nested" if entry.reconcile and entry.kind != "reconcile" else ""
    cell = f'<td class="entry{nested}"><b>{_text(entry.kind)}</b> {_text(step + number + entry.text)}</td>'
    identity = f' data-reconcile="{_text(entry.reconcile)}"' if entry.reconcile else ""
    return f'<tr class="{_text(entry.kind)}"{identity}><td>{entry.time:.3f}</td>{before}{cell}{after}</tr>'


def _coverage(report: Report) -> Iterator[str]:
    if not report.coverage:
        return
    yield "<section><h2>Coverage</h2><table><thead><tr><th>kind of fault</th><th>tried</th><th>known</th></tr></thead>"
    for kind, (tried, known) in report.coverage.items():
        yield f"<tr><td>{_text(kind)}</td><td>{tried}</td><td>{known}</td></tr>"
    yield "</table></section>"


def _remarks(title: str, remarks: Sequence[str]) -> Iterator[str]:
    if remarks:
        yield f"<section><h2>{title}</h2>"
        yield from _list(remarks[:_MAX_LINES])
        yield "</section>"


def _list(sentences: Sequence[str]) -> Iterator[str]:
    yield "<ul>"
    for sentence in sentences:
        yield f"<li>{_text(sentence)}</li>"
    yield "</ul>"


def _text(text: str) -> str:
    """Return text as it may stand in an element or attribute."""
    cut = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
    # Lone surrogates have no encoding, and a file with one could not be written.
    return escape(escape_controls(cut).encode("utf-8", "replace").decode(), quote=True)
