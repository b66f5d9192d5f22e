"""``masthead watch``: a table that follows every change, live."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NoReturn

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import console, has_color, is_live, live_display

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    import masthead
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.live_objects import Mirror
    from masthead._cli.live_rows import LiveRows
    from masthead._cli.references import Selected
    from masthead._cli.shared_options import State
    from masthead._cli.tables import TableOptions

__all__ = ["command"]

_FRAME: Final = 0.1
"""Seconds between two frames at least, however much changes."""
_TICK: Final = 0.5
"""Seconds between two frames at most: ages tick, and highlights fade."""


@cluster_command("watch", all_namespaces=True)
@click.argument("references", nargs=-1, metavar="KIND[/NAME]", shell_complete=complete_references)
@click.option("-l", "--selector", metavar="SELECTOR", help="only objects with these labels")
@click.option("--field-selector", metavar="SELECTOR", help="only objects with these fields")
@click.option("-o", "--output", type=click.Choice(["wide"]), help="wide: with all columns")
@click.option("--show-labels", is_flag=True, help="a column of all labels")
@click.pass_obj
def command(
    state: State,
    references: tuple[str, ...],
    selector: str | None,
    field_selector: str | None,
    output: str | None,
    show_labels: bool,
) -> None:
    """Show the objects of a kind live, until Ctrl-C.

    On a terminal: a table that follows every change, with ages that tick; "+", "*" and "-" mark new, changed and
    deleted rows.
    Elsewhere: a line for each change. A lost connection is opened again.

    \b
    masthead watch pods -A
    masthead watch deploy/web -o wide
    """
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.following import follow
    from masthead._cli.references import parse_references, resolve
    from masthead._cli.tables import TableOptions

    parsed = parse_references(references)
    options = TableOptions(wide=output == "wide", labels=show_labels, color=has_color(no_color=state.no_color))
    with state.connect() as client:
        chosen = resolve(client, state, parsed)
        if len(chosen) != 1 or len(chosen[0].names) > 1:
            raise CommandError("one kind can be watched, or one object of it", code=ExitCode.USAGE)
        selection = ObjectSelection(selector, field_selector)
        # Pipes and dumb terminals get lines, which scripts can read.
        if not is_live():
            follow(client, chosen[0], selection, options)
        _show(console(no_color=state.no_color), client, chosen[0], selection, options)


def _show(
    screen: Console,
    client: masthead.Client,
    selected: Selected,
    selection: ObjectSelection,
    options: TableOptions,
) -> NoReturn:
    """Draw the table again and again; only an interrupt ends it."""
    from masthead._cli.live_objects import Mirror
    from masthead._cli.live_rows import LiveRows

    with (
        Mirror(client, selected, selection) as mirror,
        live_display(screen) as live,
    ):
        rows = LiveRows()
        # The first rows are not marked as new.
        rows.begin(mirror.first.rows)
        while True:
            live.update(_frame(screen, mirror, rows, selected, options), refresh=True)
            _take_changes(mirror, rows)


def _take_changes(mirror: Mirror, rows: LiveRows) -> None:
    """Wait for changes: until one frame has passed if there are some, until a tick has if there are none."""
    began = time.monotonic()
    wait = _TICK
    while (left := began + wait - time.monotonic()) > 0:
        change = mirror.next(left)
        if change is not None:
            rows.apply(change, mirror.row(change, datetime.now(UTC)), time.monotonic())
            # After a change, the frame is due soon, but further changes up to then share it.
            wait = _FRAME


def _frame(
    screen: Console, mirror: Mirror, rows: LiveRows, selected: Selected, options: TableOptions
) -> RenderableType:
    from masthead._cli.live_table import Frame, render_frame, status_line

    width, height = screen.size
    now, moment = time.monotonic(), datetime.now(UTC)
    place = f" in {selected.namespace}" if selected.namespace else ""
    # Only the rows that fit are redrawn.
    visible = rows.visible(now)
    current = [(live, mirror.as_of(live.row, moment) if at < height else live.row) for at, live in enumerate(visible)]
    frame = Frame(
        mirror.columns,
        current,
        now,
        status_line(f"{selected.resource.name}{place}", len(rows), rows.changes, mirror.health, width),
        wide=options.wide,
        namespaces=selected.resource.namespaced and selected.namespace is None,
        labels=options.labels,
    )
    return render_frame(frame, width=width, height=height)
