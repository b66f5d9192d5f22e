"""The report of all suites: ``docs/peers.md``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from tools.peers.results import find_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tools.peers.results import Outcome, Results
    from tools.peers.suites import Suite

__all__ = ["format_report", "format_rows", "replace_figures"]

_BEGIN: Final = "<!-- Figures, written by `make peers`. -->"
_END: Final = "<!-- The end of the figures. -->"

_HEADER: Final = """\
# Other projects' tests

<!-- Written by `make peers`; edit tools/peers. -->

Tests of other projects, unedited, against the embedded server. `make peers` installs each project by its name from the
package index into a separate environment, starts a server, and runs the project's tests with `KUBECONFIG` in their
environment.
"""

_SOURCES: Final = """
Tests in the sdist come from there. The other projects publish sdists without tests: their tests come from clones of the
repositories, at the tag of the release, in the folder that `PEERS` names (`make peers PEERS=../clones`, with a clone
`../clones/NAME` for each).
"""

_IMAGES: Final = """
## Simulated images

The server runs no containers. With the [server's controls](server.md), `make peers` simulates the images of the suites:
"""


def format_report(results: Mapping[Suite, Results], reasons: Mapping[str, Mapping[str, str]], images: str) -> str:
    """Write the report.

    Args:
        results: The results of each suite.
        reasons: The reasons of failures, by suite.
        images: The handlers for images, as a list in Markdown.
    """
    lines = [_HEADER, *format_rows(results), _SOURCES]
    for suite, outcome in results.items():
        lines += _format_outcomes(suite, outcome, reasons.get(suite.name, {}))
    return "\n".join([*lines, f"{_IMAGES.strip()}\n", images.strip()]).rstrip() + "\n"


def format_rows(results: Mapping[Suite, Results]) -> Iterable[str]:
    """Yield the table of all suites."""
    yield "| suite | release | tests | passed | failed | skipped | tests from |"
    yield "|---|---|---|---|---|---|---|"
    for suite, outcome in results.items():
        source = f"clone, `{suite.tag}`" if suite.tag else "sdist"
        figures = f"{outcome.total} | {outcome.passed} | {len(outcome.failed)} | {len(outcome.skipped)}"
        yield f"| {suite.name}: {suite.topic} | {suite.project} {suite.version} | {figures} | {source} |"


def replace_figures(document: str, results: Mapping[Suite, Results]) -> str:
    """Replace the figures in a document, which are between two comments.

    Raises:
        ValueError: If the document lacks the comments.
    """
    start, end = document.index(_BEGIN), document.index(_END)
    rows = ["| suite | passed |", "|---|---|"]
    rows += [f"| {suite.name} | {outcome.passed} of {outcome.total} |" for suite, outcome in results.items()]
    return f"{document[:start]}{_BEGIN}\n\n" + "\n".join(rows) + f"\n\n{document[end:]}"


def _format_outcomes(suite: Suite, results: Results, reasons: Mapping[str, str]) -> Iterable[str]:
    if not results.failed and not results.skipped:
        return
    yield f"## {suite.name}\n"
    if results.failed:
        yield "| fails | reason |\n|---|---|"
        for outcome in results.failed:
            reason = find_reason(outcome.test, reasons) or f"unknown: {outcome.message}"
            yield f"| `{outcome.test}` | {_escape(reason)} |"
        yield ""
    if results.skipped:
        yield "| skipped by the suite | tests |\n|---|---|"
        for reason, count in _count_reasons(results.skipped):
            yield f"| {_escape(reason)} | {count} |"
        yield ""


def _count_reasons(skipped: Sequence[Outcome]) -> Sequence[tuple[str, int]]:
    return Counter(outcome.message for outcome in skipped).most_common()


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
