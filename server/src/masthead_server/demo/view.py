"""The demo in a terminal: the cluster as kubectl prints it, figures, and what happens, live.

`rich` draws it. It is imported here only, so that the demo runs without it, as plain lines.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from masthead import printers
from masthead._errors.base import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Self

    import masthead
    from masthead_server.demo.event_log import EventLog
    from masthead_server.demo.lag import LagMeter
    from masthead_server.demo.mirror import ClusterMirror

__all__ = ["Figures", "LiveView"]

_RATE_SECONDS: Final = 3.0
"""The time over which events a second are counted."""
_STYLES: Final = {
    "x": "bold red",
    "!": "yellow",
    "+": "green",
    "-": "magenta",
    "~": "dim",
    "=": "dim",
}
"""The style of a line of the log by its sign; what people and controllers do has none."""
_BAR: Final = "■"
_STEADY: Final = " Running "
_WORDS: Final = {r"\bRunning\b": "green", r"\bPending\b": "yellow", r"\bTerminating\b": "magenta"}
_MAX_HEIGHT: Final = 40
_MIN_HEIGHT: Final = 10
_MIN_PODS: Final = 6
"""The minimum number of rows for pods: a border, the heading, two pods, and the number of hidden pods."""
_BORDERS: Final = 2
_SIDES: Final = 4
"""Columns of a panel that are not its content."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of the view.

    Attributes:
        queue_depth: The number of keys in the queues of the controllers.
        reconciles: How often a controller has run.
        survived: How many faults are over.
        is_failing: Whether a watch is broken at the moment.
    """

    queue_depth: int
    reconciles: int
    survived: int
    is_failing: bool


class LiveView:
    """Draws the demo until its block is left; the terminal is then restored, with the last picture above the prompt.

    Args:
        mirror: The caches.
        log: The history.
        lag: The time from a write to its notification.
        console: The terminal; another one in tests and recordings.
    """

    def __init__(self, mirror: ClusterMirror, log: EventLog, lag: LagMeter, console: Console | None = None) -> None:
        self._mirror = mirror
        self._log = log
        self._lag = lag
        self._console = console or Console()
        self._live = Live(console=self._console, auto_refresh=False, transient=False)
        self._counts: deque[tuple[float, int]] = deque()
        self._header_lines: Counter[int] = Counter()

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def update(self, nodes: Iterable[masthead.Object], figures: Figures) -> None:
        """Draw the current state."""
        self._live.update(self.picture(nodes, figures), refresh=True)

    def picture(self, nodes: Iterable[masthead.Object], figures: Figures) -> RenderableType:
        """The picture of this moment, no higher than the terminal."""
        # One line less than the terminal: the cursor below would scroll the picture.
        height = max(_MIN_HEIGHT, min(self._console.height - 1, _MAX_HEIGHT))
        header = self._header(figures)
        # In a narrow terminal, the figures take two lines, and go on to do so when they become shorter.
        width = self._console.width
        lines = len(header.wrap(self._console, width - _SIDES))
        self._header_lines[width] = max(lines, self._header_lines[width])
        head = self._header_lines[width] + _BORDERS
        body = height - head
        layout = Layout(size=height)
        title = f"masthead demo  {self._log.seconds:.0f} s"
        layout.split_column(Layout(Panel(header, title=title, border_style="blue"), size=head), Layout(name="body"))
        layout["body"].split_row(Layout(name="cluster", ratio=3), Layout(name="log", ratio=2))
        layout["cluster"].update(self._cluster(nodes, body))
        layout["log"].update(self._events(body - _BORDERS))
        return _Sized(layout, height)

    def _header(self, figures: Figures) -> Text:
        lag = self._lag.recent
        state = ("reconnecting", "bold red") if figures.is_failing else ("watching", "bold green")
        parts = [
            f"{self._rate():.0f} events/s",
            f"{counted(self._mirror.objects, 'object')} cached",
            "no lag yet" if lag is None else f"lag {1000 * lag:.0f} ms",
            f"queue {figures.queue_depth}",
            counted(figures.reconciles, "reconcile"),
            f"{counted(figures.survived, 'fault')} survived",
        ]
        return Text(" · ").join([Text(*state), *map(Text, parts)])

    def _rate(self) -> float:
        now, count = self._log.seconds, self._mirror.events
        self._counts.append((now, count))
        while now - self._counts[0][0] > _RATE_SECONDS:
            self._counts.popleft()
        then, before = self._counts[0]
        return (count - before) / (now - then) if now > then else 0.0

    def _cluster(self, nodes: Iterable[masthead.Object], height: int) -> RenderableType:
        """The panels of the cluster: pods get the remaining rows, and hidden pods are counted."""
        panels: list[RenderableType] = []
        for title, lines in (
            ("kubectl get deployments", _as_kubectl(self._mirror.deployments.cached(), height)),
            ("pods by node, from an index", self._bars(nodes)),
        ):
            size = len(lines) + _BORDERS
            # Pods are the point of the picture: the other panels go first in a low terminal.
            if height - size >= _MIN_PODS:
                panels.append(_panel(title, lines))
                height -= size
        pods = _as_kubectl(self._mirror.pods.cached(), height - _BORDERS)
        return Group(*panels, _panel("kubectl get pods", pods))

    def _bars(self, nodes: Iterable[masthead.Object]) -> list[Text]:
        by_node, named = self._mirror.pods_by("node"), {node.metadata.name or "": node for node in nodes}
        width = max(map(len, named), default=0)
        return [
            Text.assemble(
                f"{name:<{width}}  ",
                _status(node),
                "  ",
                (_BAR * by_node.get(name, 0), "cyan"),
                f"  {by_node.get(name, 0)}",
            )
            for name, node in named.items()
        ]

    def _events(self, height: int) -> RenderableType:
        shown = list(self._log.lines)[-height:]
        # Cut before rich measures the line: a log record may be very long.
        return _panel("what happens", [Text(line[:200], _style(line)) for line in shown])


class _Sized:
    """A layout of a fixed height; rich's own layout would fill the terminal."""

    def __init__(self, layout: Layout, height: int) -> None:
        self._layout = layout
        self._height = height

    def __rich_console__(self, console: Console, options: object) -> Iterable[RenderableType]:
        del options
        lines = console.render_lines(self._layout, console.options.update(height=self._height), pad=False)
        for line in lines:
            yield Text.assemble(*[(segment.text, segment.style or "") for segment in line])


def _panel(title: str, lines: Iterable[Text]) -> Panel:
    """A panel of lines, each of which is cut where the panel ends."""
    texts = list(lines)
    for text in texts:
        text.no_wrap, text.overflow = True, "ellipsis"
    return Panel(Group(*texts), title=title, title_align="left")


def _as_kubectl(objects: Mapping[str, masthead.Object], height: int) -> list[Text]:
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


def _status(node: masthead.Object) -> Text:
    from masthead.api.core.v1 import Node
    from masthead_server.demo.controllers import is_ready

    assert isinstance(node, Node)
    return Text("Ready", "green") if is_ready(node) else Text("NotReady", "bold red")


def _style(line: str) -> str:
    return _STYLES.get(line.partition(" s  ")[2][:1], "bold") if "someone" not in line else "bold"
