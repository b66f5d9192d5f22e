"""The final screen: chapters, survived faults, differences, and commands to try next. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.demo.scene import counted
from masthead_server.demo.story import Injection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead_server.demo.scene import Counters
    from masthead_server.demo.story import Chapter
    from masthead_server.demo.tally import FaultCount

__all__ = ["Ending", "next_commands", "render_ending", "verdict"]

_DURING: Final = {
    Injection.CUT: "connections were cut",
    Injection.SILENCE: "a watch went silent",
    Injection.GONE: "versions expired (410 Gone)",
    Injection.RESTART: "the server restarted",
}
_SHOWN_CHAPTERS: Final = 4
_COLUMNS: Final = 80
_MAX_SHOWN: Final = 20
"""Differences that are printed; the others are counted."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The result of a demo.

    Attributes:
        chapters: The chapters that were played.
        faults: The rows of faults.
        counters: The numbers.
        objects: The number of cached objects.
        problems: Differences between caches and cluster, broken rules, and faults that were not survived.
    """

    chapters: Sequence[Chapter]
    faults: Sequence[FaultCount]
    counters: Counters
    objects: int
    problems: Sequence[str]


def verdict(ending: Ending) -> list[str]:
    """The differences, and the result in one line."""
    # A broken cache may differ in every object.
    lines = [f"differs: {problem}" for problem in ending.problems[:_MAX_SHOWN]]
    if len(ending.problems) > _MAX_SHOWN:
        lines.append(f"differs: ... and {len(ending.problems) - _MAX_SHOWN} more")
    survived = sum(row.survived for row in ending.faults)
    result = "NOT in sync" if ending.problems else "in sync"
    objects, events = counted(ending.objects, "object"), counted(ending.counters.events, "event")
    return [*lines, f"{result}: {objects}, {events}, {counted(survived, 'fault')} survived"]


def render_ending(ending: Ending, commands: Sequence[tuple[str, str]]) -> list[str]:
    """The lines of the final screen, of at most 80 columns."""
    agreed = [] if ending.problems else ["differences between caches and cluster: none, field by field"]
    return [
        *_render_story(ending),
        "",
        *_render_faults(ending),
        *agreed,
        *verdict(ending),
        "",
        *_render_commands(commands),
    ]


def next_commands(program: str, *, has_cli: bool) -> list[tuple[str, str]]:
    """The commands to try next, each with its purpose.

    Args:
        program: How to call ``masthead`` here.
        has_cli: Whether the extra ``cli`` is installed, which the commands for clusters need.
    """
    serve = (f"{program} serve --kubeconfig-out kubeconfig.yaml", "a cluster of your own")
    operator = (f"{program} new hello-operator", "an operator to begin with")
    # `get` needs click and rich.
    if has_cli:
        return [serve, (f"{program} --kubeconfig kubeconfig.yaml get nodes", "in another terminal"), operator]
    return [serve, operator, (f"{program} demo --seed 2", "the same with other faults")]


def _render_story(ending: Ending) -> Iterator[str]:
    titles = [chapter.title for chapter in ending.chapters]
    width = max(map(len, titles), default=0)
    # The chapters of a long demo would fill the screen.
    hidden = len(titles) - _SHOWN_CHAPTERS
    if hidden > 0:
        yield f"{counted(hidden, 'chapter')}, and then:"
    for chapter in ending.chapters[-_SHOWN_CHAPTERS:]:
        yield f"{chapter.title:<{width}}  while {_DURING[chapter.fault]}"


def _render_faults(ending: Ending) -> Iterator[str]:
    for row in ending.faults:
        # A short demo does not inject every kind.
        if row.injected:
            mark = "survived" if row.survived == row.injected else "LOST"
            took = f", within {row.longest:.1f} s" if row.survived else ""
            yield f"{mark:<8}  {row.kind.value:<17}  {row.survived} of {row.injected}{took}"


def _render_commands(commands: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max(len(command) for command, _ in commands)
    yield "Try next:"
    for command, purpose in commands:
        # A long path of the program takes the place of the explanation.
        line = f"  {command:<{width}}  # {purpose}"
        yield line if len(line) <= _COLUMNS else f"  {command}"
