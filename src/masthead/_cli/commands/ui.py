"""``masthead ui``: a cluster or a recording in the browser, with a time axis."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import say, write

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from masthead._cli.shared_options import State
    from masthead._ui.service import Service
    from masthead._ui.sessions import Gate

__all__ = ["command"]


@cluster_command("ui", all_namespaces=True)
@click.argument("kinds", nargs=-1, metavar="[KIND]...", shell_complete=complete_references)
@click.option("--from", "recording", metavar="FILE", type=click.Path(), help="a recording, instead of a cluster")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="the port (any free one)")
@click.option("--host", default="127.0.0.1", show_default=True, help="the address to listen on")
@click.option("--allow-remote", is_flag=True, help="listen on an address that other machines reach, without TLS")
@click.option("--no-browser", is_flag=True, help="print the address only")
@click.pass_obj
def command(
    state: State,
    kinds: tuple[str, ...],
    recording: str | None,
    port: int,
    host: str,
    allow_remote: bool,
    no_browser: bool,
) -> None:
    """Show a cluster in the browser: its owners, tables, details, and every change on a time axis.

    Without kinds, all that you may list are followed, in all namespaces unless -n names one. The page only reads. Its
    address opens one session; it is for this machine alone.

    \b
    masthead ui
    masthead ui deploy,rs,pods,events -n shop
    masthead ui --from incident.mhr
    """
    from masthead._ui.server import check_host
    from masthead.errors import ArgumentError

    try:
        check_host(host, allow_remote=allow_remote)
    except ArgumentError as error:
        raise CommandError(f"--host: {error}", code=ExitCode.USAGE) from None
    wanted = [name for kind in kinds for name in kind.split(",") if name]
    if recording is not None and wanted:
        raise CommandError("a recording is shown as a whole: name no kinds with --from", code=ExitCode.USAGE)
    # A program that reads the address opens it itself.
    page = _Page(state, host, port, opens=not no_browser and sys.stdout.isatty())
    asyncio.run(page.show_recording(Path(recording)) if recording is not None else page.show_cluster(wanted))


class _Page:
    """One run of the command."""

    def __init__(self, state: State, host: str, port: int, *, opens: bool) -> None:
        self._state = state
        self._host = host
        self._port = port
        self._opens = opens

    async def show_recording(self, path: Path) -> None:
        """Serve the page of a recording until Ctrl-C."""
        from masthead._ui.recorded_history import RecordedHistory
        from masthead._ui.service import Service

        gate = self._gate()
        history = RecordedHistory(path)
        if history.cut_off:
            say(f"warning: the end of the recording is missing: {history.cut_off}")
        try:
            async with self._serving(Service(history, gate, title=path.name), gate):
                await asyncio.Event().wait()
        finally:
            history.close()

    async def show_cluster(self, kinds: Sequence[str]) -> None:
        """Serve the page of a cluster until Ctrl-C."""
        from masthead._ui.followed_cluster import FollowedCluster
        from masthead._ui.live_history import LiveHistory
        from masthead._ui.service import Service

        # All kinds are followed, the deprecated ones as well.
        async with self._state.connect_async(prints_warnings=False) as client:
            server = client.config.server
            history = LiveHistory(_microseconds, facts={"server": server})
            cluster = FollowedCluster(client, history, self._state.namespace)
            found = await cluster.find(kinds)
            gate = self._gate()
            service = Service(history, gate, cluster, title=self._state.context or server)
            async with cluster.following(found) as printers:
                service.digests.extra_printers = printers
                for kind, problem in sorted(cluster.problems.items()):
                    say(f"{kind}: {problem}")
                async with self._serving(service, gate):
                    await asyncio.Event().wait()

    def _gate(self) -> Gate:
        from masthead._ui.sessions import Gate

        return Gate(self._host)

    @asynccontextmanager
    async def _serving(self, service: Service, gate: Gate) -> AsyncGenerator[None]:
        from masthead._ui.server import serving

        async with serving(service, gate, host=self._host, port=self._port) as address:
            write(f"{address}\n")
            say("the address opens one session; Ctrl-C ends")
            if self._opens:
                import webbrowser

                # A browser may be started, which takes a moment.
                await asyncio.to_thread(webbrowser.open, address)
            yield


def _microseconds() -> int:
    import time

    return time.time_ns() // 1_000
