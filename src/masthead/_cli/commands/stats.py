"""``masthead stats``: objects and bytes of each kind, and how often they change."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.terminal import console, has_color, is_live, live_display, write

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from masthead._cli.object_counts import Census
    from masthead._cli.shared_options import State

__all__ = ["command"]

_TICK: Final = 0.5
_BELOW: Final = 5
"""Lines other than those of kinds: heading, sum, the number of hidden kinds, the status, and the cursor's."""
_SORTS: Final = ("changes", "bytes", "objects", "name")


@cluster_command("stats", all_namespaces=True)
@click.option(
    "--seconds",
    default="10",
    metavar="SECONDS",
    callback=to_seconds,
    help="how long changes are counted (10); 0 for not at all",
)
@click.option("--sort", type=click.Choice(_SORTS), default="changes", show_default=True, help="what comes first")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="text or json")
@click.pass_obj
def command(state: State, seconds: float, sort: str, output: str) -> None:
    """Count objects and bytes of each kind, and their changes per second.

    All kinds are counted, in all namespaces unless -n names one. Bytes are those of JSON, as informers receive them. On
    a terminal the table is live.

    \b
    masthead stats
    masthead stats -n shop --seconds 60 --sort bytes
    """
    if seconds < 0:
        raise CommandError("--seconds must be 0 or more", code=ExitCode.USAGE)
    asyncio.run(_Stats(state, seconds, sort).run(is_json=output == "json"))


class _Stats:
    """One run of the command."""

    def __init__(self, state: State, seconds: float, sort: str) -> None:
        self._state = state
        self._seconds = seconds
        self._sort = sort
        self._began = time.monotonic()

    async def run(self, *, is_json: bool) -> None:
        import json

        from masthead._cli.document import as_text
        from masthead._cli.object_counts import Census
        from masthead._cli.progress import Work
        from masthead._cli.stats import as_data, stats_lines

        # All kinds are searched, the deprecated ones as well.
        async with self._state.connect_async(prints_warnings=False) as client:
            census = Census(client, self._state.namespace)
            kinds = await census.kinds()
            with Work("counting", no_color=self._state.no_color, total=len(kinds)) as work:
                await census.count(kinds, lambda done: work.advance(done.name))
            # The time of the count does not belong to the rates.
            self._began = time.monotonic()
            async with asyncio.TaskGroup() as group:
                following = group.create_task(census.follow(kinds))
                await self._show(census, is_drawn=is_live() and not is_json)
                # Read before the cancellation, which may take a moment.
                passed = self._passed
                following.cancel()
        if is_json:
            write(f"{json.dumps(as_data(census.stats.values(), passed), indent=2)}\n")
            return
        lines = stats_lines(census.stats.values(), passed, order=self._sort)
        write(as_text(lines, color=has_color(no_color=self._state.no_color)))

    @property
    def _passed(self) -> float:
        return min(self._seconds, time.monotonic() - self._began)

    async def _show(self, census: Census, *, is_drawn: bool) -> None:
        """Wait for the time to pass, and redraw the counts until then."""
        if not is_drawn:
            from masthead._cli.connection import report_connection

            error = ""
            while (left := self._seconds - self._passed) > 0:
                await asyncio.sleep(min(_TICK, left))
                error = report_connection(census.connection_error, error)
            return
        screen = console(no_color=self._state.no_color)
        with live_display(screen, transient=True) as live:
            while (left := self._seconds - self._passed) > 0:
                live.update(self._frame(census, screen), refresh=True)
                await asyncio.sleep(min(_TICK, left))

    def _frame(self, census: Census, screen: Console) -> RenderableType:
        from rich.console import Group

        from masthead._cli.document import as_rich, line
        from masthead._cli.stats import stats_lines

        most = max(1, screen.height - _BELOW)
        lines = stats_lines(census.stats.values(), self._passed, order=self._sort, most=most)
        time_left = f"{self._passed:.0f} of {self._seconds:g} s"
        if error := census.connection_error:
            status = line(("reconnecting", "yellow"), (f" ({time_left}): {error}", "dim"))
        else:
            status = line(("counting changes", "green"), (f" ({time_left}); Ctrl-C ends", "dim"))
        return Group(*as_rich([*lines, status]))
