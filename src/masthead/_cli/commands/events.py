"""``masthead events``: what happened, in the order in which it did."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NoReturn

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import has_color, say, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.following import GrowingTable
    from masthead._cli.shared_options import State
    from masthead._meta.unstructured import Unstructured
    from masthead._printers.table import PrintedRow

__all__ = ["command"]

_TYPES: Final = ("Normal", "Warning")
_LOOK_UP: Final = 1.0
"""Seconds between two checks of the connection."""


@cluster_command("events", all_namespaces=True)
@click.option(
    "--for",
    "for_",
    metavar="KIND/NAME",
    shell_complete=complete_references,
    help="only those about this object",
)
@click.option(
    "--types",
    type=click.Choice(_TYPES, case_sensitive=False),
    multiple=True,
    help="only those of this type",
)
@click.option("-w", "--watch", is_flag=True, help="go on with a line for each new event")
@click.option("-o", "--output", type=click.Choice(["wide"]), help="wide: with all columns")
@click.option("--no-headers", is_flag=True, help="no heading")
@click.pass_obj
def command(
    state: State,
    for_: str | None,
    types: tuple[str, ...],
    watch: bool,
    output: str | None,
    no_headers: bool,
) -> None:
    """Print events, the newest last.

    \b
    masthead events -A --types Warning
    masthead events --for pod/web -w
    """
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.following import GrowingTable
    from masthead._cli.object_events import EVENT_COLUMNS
    from masthead._cli.tables import TableOptions

    with state.connect() as client:
        fields, namespace = _about(client, state, for_)
        # Field selectors have no "or": both types together are no filter.
        fields += [f"type={type_}" for type_ in types] if len(set(types)) == 1 else []
        selection = ObjectSelection(fields=",".join(fields) or None)
        options = TableOptions(wide=output == "wide", headers=not no_headers, color=has_color(no_color=state.no_color))
        table = GrowingTable(EVENT_COLUMNS, options, namespaces=namespace is None)
        if watch:
            _follow(client, namespace, selection, table)
        _print(client, namespace, selection, table)


def _about(client: masthead.Client, state: State, for_: str | None) -> tuple[list[str], str | None]:
    """The field selectors of an object's events, and the namespace in which they are; None for all."""
    from masthead._cli.object_events import about
    from masthead._cli.references import parse_references, resolve

    if for_ is None:
        return [], None if state.all_namespaces else client.namespace
    references = parse_references([for_])
    if len(references) != 1 or len(references[0].names) != 1:
        raise CommandError("--for takes one KIND/NAME, such as pod/web", code=ExitCode.USAGE)
    # The object may be deleted already: the selector has its name, in all namespaces with -A.
    selected = resolve(client, replace(state, all_namespaces=False), references)[0]
    namespace = None if state.all_namespaces else selected.namespace
    return [about(selected.resource.kind, selected.names[0])], namespace


def _print(client: masthead.Client, namespace: str | None, selection: ObjectSelection, table: GrowingTable) -> None:
    from masthead._cli.object_events import newest_last
    from masthead._cli.references import refuse_missing_namespace

    # The core API: events.k8s.io has the same objects with other field names.
    found = client.dynamic("v1", "events", namespace=namespace).list(field_selector=selection.fields)
    write(table.add(_rows(newest_last(found))))
    # An empty list does not say whether the namespace exists.
    if not found.items:
        if namespace is not None:
            refuse_missing_namespace(client, namespace)
        say(f"No events found in {namespace} namespace." if namespace else "No events found.")


def _follow(
    client: masthead.Client, namespace: str | None, selection: ObjectSelection, table: GrowingTable
) -> NoReturn:
    """Print each event as it comes; only an interrupt ends it."""
    from masthead._cli.connection import connection_error, report_connection
    from masthead._cli.object_events import newest_last
    from masthead._cli.object_feed import Feed

    with Feed(client.dynamic("v1", "events", namespace=namespace), selection) as feed:
        write(table.add(_rows(newest_last(feed.first))))
        error = ""
        while True:
            event = feed.next(_LOOK_UP)
            if event is not None:
                write(table.add(_rows([event])))
            error = report_connection(connection_error(feed.health), error)


def _rows(events: Sequence[Unstructured]) -> list[PrintedRow]:
    from masthead._cli.live_objects import row_of
    from masthead._printers.events import PRINTERS

    now = datetime.now(UTC)
    return [row_of(PRINTERS["", "Event"], event, now) for event in events]
