"""The demo in a terminal: the story, the faults, the cluster and the counters, live.

`rich` draws it. It is imported here only, so that the demo runs without it, as plain lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from masthead import printers
from masthead_server.demo.scene import FaultState, counted
from masthead_server.demo.story import EXPLANATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    import masthead
    from masthead_server.demo.scene import AppRow, NodeRow, Scene
    from masthead_server.demo.story import Chapter
    from masthead_server.demo.tally import FaultCount

__all__ = ["LiveView", "draw"]

_COLUMNS: Final = 80
"""The width for which the picture is made."""
_MAX_HEIGHT: Final = 44
_MAX_WIDTH: Final = 120
_HEAD: Final = 5
_STORY: Final = 6
_CLUSTER: Final = 9
_CHECK: Final = 3
_MIN_TABLE: Final = 5
"""The minimum number of rows for the table of pods: borders, the heading, a pod, and the number of hidden ones."""
_BORDERS: Final = 2
_SHOWN_CHAPTERS: Final = _STORY - _BORDERS
_LEFT: Final = 43
"""The columns of the left side in a terminal of 80."""
_STATES: Final = {
    FaultState.COMING: ("", ""),
    FaultState.PENDING: (": recovering", "bold red"),
    FaultState.SURVIVED: (": survived", "bold green"),
}
_POD: Final = "■"
_STEADY: Final = " Running "
_WORDS: Final = {r"\bRunning\b": "green", r"\bPending\b": "yellow", r"\b(Terminating|CrashLoopBackOff)\b": "magenta"}


class LiveView:
    """Draws the demo until its block is left; the terminal is then as before.

    Args:
        console: The terminal; another one in tests.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def update(self, scene: Scene) -> None:
        """Draw a moment."""
        self._live.update(draw(scene, self._console.width, self._console.height), refresh=True)


def draw(scene: Scene, width: int, height: int) -> RenderableType:
    """The picture of a moment, for a terminal of a size."""
    width = min(width, _MAX_WIDTH)
    # One line less than the terminal: the cursor below would scroll the picture.
    left = min(height - 1, _MAX_HEIGHT) - (_HEAD + _STORY + _CLUSTER + _CHECK)
    # A table with fewer rows would show the heading only.
    table = left if left >= _MIN_TABLE else 0
    layout = Layout()
    layout.split_column(
        Layout(_draw_head(scene), size=_HEAD),
        _beside(_draw_story(scene), _draw_faults(scene.faults), width, _STORY),
        _beside(_draw_cluster(scene), _draw_counters(scene), width, _CLUSTER),
        Layout(_draw_check(scene), size=_CHECK),
        *([Layout(_panel("kubectl get pods", _as_kubectl(scene.pods, table - _BORDERS)), size=table)] if table else []),
    )
    return _Sized(layout, width, _HEAD + _STORY + _CLUSTER + _CHECK + table)


def _draw_head(scene: Scene) -> Panel:
    chapter = scene.current
    title = f"masthead demo  {scene.seconds:.0f} s"
    if chapter is None:
        is_end = scene.finished > 0
        heading = "The end: no more faults" if is_end else "The start: a cluster, informers and a controller"
        lines = [Text(heading, "bold"), Text("Everything catches up." if is_end else ""), Text("")]
    else:
        state, style = _STATES[scene.fault_state]
        lines = [
            Text.assemble(f"Chapter {chapter.number} of {len(scene.chapters)}: ", (chapter.title, "bold")),
            Text(scene.progress),
            Text.assemble("Fault: ", (EXPLANATIONS[chapter.fault], "bold"), (state, style)),
        ]
    return Panel(Group(*map(_cut, lines)), title=title, border_style="blue")


def _draw_story(scene: Scene) -> Panel:
    # With more chapters than rows, the next chapter is the last row.
    first = max(0, min(scene.finished - _SHOWN_CHAPTERS + 2, len(scene.chapters) - _SHOWN_CHAPTERS))
    shown = scene.chapters[first : first + _SHOWN_CHAPTERS]
    lines = [
        _draw_chapter(chapter, is_over=chapter.number <= scene.finished, is_current=chapter is scene.current)
        for chapter in shown
    ]
    return _panel("the story", lines)


def _draw_chapter(chapter: Chapter, *, is_over: bool, is_current: bool) -> Text:
    if is_over:
        return Text.assemble(("✓ ", "green"), chapter.title)
    return Text.assemble(("▶ ", "cyan"), (chapter.title, "bold")) if is_current else Text(f"  {chapter.title}", "dim")


def _draw_faults(faults: Iterable[FaultCount]) -> Panel:
    return _panel("faults: injected, survived", map(_draw_fault, faults))


def _draw_fault(row: FaultCount) -> Text:
    style = "dim" if not row.injected else "green" if row.survived == row.injected else "bold red"
    return Text.assemble(f"{row.kind.value:<18}{row.injected:>4}", (f"{row.survived:>7}", style))


def _draw_cluster(scene: Scene) -> Panel:
    width = max(len(name) for name in [*(app.name for app in scene.apps), *(node.name for node in scene.nodes)])
    return _panel(
        "the cluster, from the cache",
        [*(_draw_app(row, width) for row in scene.apps), *(_draw_node(row, width) for row in scene.nodes)],
    )


def _draw_app(row: AppRow, width: int) -> Text:
    is_ready = row.ready == row.total
    return Text.assemble(
        f"{row.name:<{width}}  ",
        (f"{row.ready} of {row.total} ready", "green" if is_ready else "yellow"),
        *(
            (f"  {version} {_POD * count}", "cyan" if at == 0 else "dim")
            for at, (version, count) in enumerate(row.pods)
        ),
    )


def _draw_node(row: NodeRow, width: int) -> Text:
    state = ("cordoned", "bold yellow") if row.is_cordoned else ("Ready", "green")
    return Text.assemble(f"{row.name:<{width}}  ", (f"{state[0]:<12}", state[1]), ("  " + _POD * row.pods, "cyan"))


def _draw_counters(scene: Scene) -> Panel:
    counters = scene.counters
    rows = [
        ("events received", f"{counters.events:,}"),
        ("reconnects", f"{counters.reconnects:,}"),
        ("relists", f"{counters.relists:,}"),
        ("reconciles", f"{counters.reconciles:,}"),
        ("lag now", _format_lag(counters.lag)),
        ("lag at worst", _format_lag(counters.worst_lag)),
        ("checks equal", f"{counters.equal_checks} of {counters.checks}"),
    ]
    return _panel("informers and a controller", [Text(f"{name:<16} {value:>12}") for name, value in rows])


def _format_lag(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _draw_check(scene: Scene) -> Panel:
    found = scene.agreement
    if found is None:
        line = Text("not compared yet")
    elif found.is_equal:
        line = Text.assemble(_both(found.cached, found.cluster), ("cache = cluster", "bold green"))
    else:
        state = f"catching up: {counted(found.differing, 'object')}"
        line = Text.assemble(_both(found.cached, found.cluster), (state, "bold yellow"))
    return _panel("compared four times a second", [line])


def _both(cached: int, cluster: int) -> str:
    return f"cache {counted(cached, 'object')}   cluster {counted(cluster, 'object')}   "


class _Sized:
    """A layout of a fixed size; rich's own layout would fill the terminal."""

    def __init__(self, layout: Layout, width: int, height: int) -> None:
        self._layout = layout
        self._width = width
        self._height = height

    def __rich_console__(self, console: Console, options: object) -> Iterable[RenderableType]:
        del options
        size = console.options.update(width=self._width, height=self._height)
        for line in console.render_lines(self._layout, size, pad=False):
            yield Text.assemble(*[(segment.text, segment.style or "") for segment in line])


def _beside(left: Panel, right: Panel, width: int, height: int) -> Layout:
    """Two panels; those of a wider terminal share its columns in proportion."""
    both = Layout(size=height)
    both.split_row(Layout(left, size=width * _LEFT // _COLUMNS), Layout(right))
    return both


def _panel(title: str, lines: Iterable[Text]) -> Panel:
    return Panel(Group(*map(_cut, lines)), title=title, title_align="left")


def _cut(text: Text) -> Text:
    """A text of one line, which ends where its panel ends."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _as_kubectl(objects: Mapping[str, masthead.Object], height: int) -> Sequence[Text]:
    """The lines of a table of no more than some height: where not all objects fit, the others are counted."""
    found = [obj for _, obj in sorted(objects.items())]
    if not found:
        return []
    head, *rows = str(printers.table(found)).rstrip("\n").split("\n")
    room = height - 1
    if len(rows) > room:
        # A pod in transition is of more interest than a running one.
        by_interest = sorted(range(len(rows)), key=lambda at: _STEADY in rows[at])
        shown = [rows[at] for at in sorted(by_interest[: room - 1])]
        rows = [*shown, f"... and {len(rows) - len(shown)} more"]
    lines = [Text(row) for row in (head, *rows)]
    for line in lines:
        for words, style in _WORDS.items():
            line.highlight_regex(words, style)
    return lines
