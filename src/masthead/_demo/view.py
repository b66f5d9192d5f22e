"""The demo in a terminal: the cluster as kubectl prints it, figures, and what happens, live.

`rich` draws it. It is imported here only, so that the demo runs without it, as plain lines.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from masthead import printers
from masthead._errors.base import counted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Self

    import masthead
    from masthead._demo.event_log import EventLog
    from masthead._demo.lag import LagMeter
    from masthead._demo.mirror import ClusterMirror

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


@dataclass(frozen=True, slots=True)
class Figures:
    """What is shown as a number.

    Attributes:
        queue_depth: How many keys wait in the queues of the controllers.
        reconciles: How often a controller has run.
        survived: How many faults are over.
        is_failing: Whether a watch is broken at the moment.
    """

    queue_depth: int
    reconciles: int
    survived: int
    is_failing: bool


class LiveView:
    """Draws the demo until its block is left; the terminal is then as it was, with the last picture above the prompt.

    Args:
        mirror: The caches.
        log: What happened.
        lag: The time from a write to its notification.
        console: The terminal; another one in tests and recordings.
    """

    def __init__(
        self, mirror: ClusterMirror, log: EventLog, lag: LagMeter, console: Console | None = None
    ) -> None:
        self._mirror = mirror
        self._log = log
        self._lag = lag
        self._console = console or Console()
        self._live = Live(console=self._console, auto_refresh=False, transient=False)
        self._counts: deque[tuple[float, int]] = deque()

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def update(self, nodes: Iterable[masthead.Object], figures: Figures) -> None:
        """Draw what is there now."""
        self._live.update(self.picture(nodes, figures), refresh=True)

    def picture(self, nodes: Iterable[masthead.Object], figures: Figures) -> RenderableType:
        """The picture of this moment."""
        height = max(16, min(self._console.height - 1, 40))
        layout = Layout(size=height)
        layout.split_column(Layout(self._header(figures), size=3), Layout(name="body"))
        layout["body"].split_row(Layout(name="cluster", ratio=3), Layout(name="log", ratio=2))
        layout["cluster"].update(self._cluster(nodes))
        layout["log"].update(self._events(height - 5))
        return _Sized(layout, height)

    def _header(self, figures: Figures) -> RenderableType:
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
        line = Text("  ·  ").join([Text(*state), *map(Text, parts)])
        return Panel(line, title=f"masthead demo  {self._log.seconds:.0f} s", border_style="blue")

    def _rate(self) -> float:
        now, count = self._log.seconds, self._mirror.events
        self._counts.append((now, count))
        while now - self._counts[0][0] > _RATE_SECONDS:
            self._counts.popleft()
        then, before = self._counts[0]
        return (count - before) / (now - then) if now > then else 0.0

    def _cluster(self, nodes: Iterable[masthead.Object]) -> RenderableType:
        deployments = sorted(self._mirror.deployments.cached().values(), key=lambda each: each.key)
        pods = sorted(self._mirror.pods.cached().values(), key=lambda each: each.key)
        by_node = self._mirror.pods_by("node")
        bars = Table(box=None, show_header=False, padding=(0, 1))
        for node in nodes:
            name = node.metadata.name or ""
            bars.add_row(
                name, _status(node), Text(_BAR * by_node.get(name, 0), "cyan"), str(by_node.get(name, 0))
            )
        return Group(
            Panel(_as_kubectl(deployments), title="kubectl get deployments", title_align="left"),
            Panel(bars, title="pods by node, from an index", title_align="left"),
            Panel(_as_kubectl(pods), title="kubectl get pods", title_align="left"),
        )

    def _events(self, height: int) -> RenderableType:
        lines = [Text(line[:200], _style(line), no_wrap=True) for line in list(self._log.lines)[-height:]]
        return Panel(Group(*lines), title="what happens", title_align="left")


class _Sized:
    """A layout of a fixed height: by itself, it would fill the terminal."""

    def __init__(self, layout: Layout, height: int) -> None:
        self._layout = layout
        self._height = height

    def __rich_console__(self, console: Console, options: object) -> Iterable[RenderableType]:
        del options
        lines = console.render_lines(self._layout, console.options.update(height=self._height), pad=False)
        for line in lines:
            yield Text.assemble(*[(segment.text, segment.style or "") for segment in line])


def _as_kubectl(objects: Iterable[masthead.Object]) -> Text:
    text = Text(str(printers.table(objects)).rstrip("\n"), no_wrap=True)
    for words, style in (
        (r"\bRunning\b", "green"),
        (r"\bPending\b", "yellow"),
        (r"\bTerminating\b", "magenta"),
    ):
        text.highlight_regex(words, style)
    return text


def _status(node: masthead.Object) -> Text:
    from masthead._demo.controllers import is_ready
    from masthead.api.core.v1 import Node

    assert isinstance(node, Node)
    return Text("Ready", "green") if is_ready(node) else Text("NotReady", "bold red")


def _style(line: str) -> str:
    return _STYLES.get(line.partition(" s  ")[2][:1], "bold") if "someone" not in line else "bold"
