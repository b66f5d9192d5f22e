"""``masthead record``: every change of a cluster, in a file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.terminal import console, is_live, live_display, say, write

if TYPE_CHECKING:
    from masthead._cli.recordings import RecordingRun
    from masthead._cli.shared_options import State

__all__ = ["command"]

_TICK: Final = 0.5


@cluster_command("record", all_namespaces=True)
@click.argument("kinds", nargs=-1, metavar="[KIND...]", shell_complete=complete_references)
@click.option("-o", "--output", required=True, metavar="FILE", type=click.Path(), help="the file to write")
@click.option("-l", "--selector", metavar="SELECTOR", help="only objects with these labels")
@click.option("--field-selector", metavar="SELECTOR", help="only objects with these fields")
@click.option("--for", "seconds", metavar="DURATION", callback=to_seconds, help="how long to record (until Ctrl-C)")
@click.option("--rotate-size", metavar="SIZE", help="begin another file at this size, such as 100M")
@click.option("--rotate-every", metavar="DURATION", callback=to_seconds, help="begin another file after this time")
@click.option("--keep", metavar="NUMBER", type=click.IntRange(min=1), help="how many files to keep (all)")
@click.option("--redact", "rules", multiple=True, metavar="RULE", help="leave values out, such as configmaps:data.*")
@click.option("--keep-secrets", is_flag=True, help="record the values of Secrets, too")
@click.pass_obj
def command(
    state: State,
    kinds: tuple[str, ...],
    output: str,
    selector: str | None,
    field_selector: str | None,
    seconds: float | None,
    rotate_size: str | None,
    rotate_every: float | None,
    keep: int | None,
    rules: tuple[str, ...],
    keep_secrets: bool,
) -> None:
    """Record every change of a cluster in a file, until Ctrl-C.

    All kinds that you may list are recorded, in all namespaces unless -n names one; a kind that is refused is left out,
    with a line about it. Without the values of Secrets, unless --keep-secrets says otherwise.

    \b
    masthead record -o incident.mhr --for 10m
    masthead record pods,deployments -n shop -o shop.mhr --rotate-size 100M --keep 10
    """
    from masthead._cli.recordings import RecordingRequest, RecordingRun

    request = RecordingRequest(
        kinds=[kind for argument in kinds for kind in argument.split(",") if kind],
        path=output,
        namespace=None if state.all_namespaces else state.namespace,
        label_selector=selector,
        field_selector=field_selector,
        max_bytes=None if rotate_size is None else _to_bytes(rotate_size),
        max_age=rotate_every,
        keep=keep,
        rules=rules,
        keep_secrets=keep_secrets,
    )
    # Outlives the connection, for the summary.
    run = RecordingRun(request)
    asyncio.run(_record(state, run, seconds))
    write(f"{run.summary()}\n")
    if run.statistics.error:
        raise CommandError(f"the recording is not complete: {run.statistics.error}")


async def _record(state: State, run: RecordingRun, seconds: float | None) -> None:
    from masthead._controller.signals import stop_on_signals

    stopping = asyncio.Event()
    with stop_on_signals(lambda _: stopping.set()):
        async with state.connect_async(prints_warnings=False) as client:
            for line in await run.choose_kinds(client):
                say(line)
            async with run.recording(client), asyncio.TaskGroup() as group:
                showing = group.create_task(_show(state, run))
                stopped = group.create_task(stopping.wait())
                # Not counted: the first lists of a large cluster take a while.
                await _wait_for_either(group.create_task(run.wait_until_listed()), stopped)
                await asyncio.wait([stopped], timeout=None if seconds is None or seconds < 0 else seconds)
                showing.cancel()
                stopped.cancel()


async def _wait_for_either(task: asyncio.Task[None], stopped: asyncio.Task[bool]) -> None:
    """Wait for a task, until the stop."""
    await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
    task.cancel()


async def _show(state: State, run: RecordingRun) -> None:
    """Show the statistics on a terminal; elsewhere, what is wrong with the connection."""
    import sys

    from masthead._cli.connection import report_connection

    if not is_live(sys.stderr):
        error = ""
        while True:
            await asyncio.sleep(_TICK)
            error = report_connection(run.connection_error, error)
    with live_display(console(no_color=state.no_color, stderr=True), transient=True) as live:
        while True:
            live.update(run.status(), refresh=True)
            await asyncio.sleep(_TICK)


def _to_bytes(text: str) -> int:
    """The bytes of ``100M`` or ``64Mi``.

    Raises:
        CommandError: If it is no size.
    """
    from masthead._meta.quantity import Quantity

    try:
        size = int(Quantity(text))
    except ValueError as error:
        raise CommandError(f"--rotate-size: {error}", code=ExitCode.USAGE) from None
    if size < 1:
        raise CommandError(f"--rotate-size: {text} is no size", code=ExitCode.USAGE)
    return size
