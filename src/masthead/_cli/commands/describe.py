"""``masthead describe``: all about an object, for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import ExitCode, explain
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import has_color, say, write

if TYPE_CHECKING:
    import masthead
    from masthead._cli.describe import Described
    from masthead._cli.selected_pods import SelectedPods
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["command"]

_EVENTS: Final = 20


@cluster_command("describe", all_namespaces=True)
@click.argument("references", nargs=-1, metavar="KIND[/NAME] [NAME]...", shell_complete=complete_references)
@click.option("-l", "--selector", metavar="SELECTOR", help="objects with these labels")
@click.option("--no-events", is_flag=True, help="without events")
@click.pass_obj
def command(state: State, references: tuple[str, ...], selector: str | None, no_events: bool) -> int:
    """Describe objects: their state, conditions, owners, pods and events.

    Workloads, services and nodes have a list of their pods. The values of Secrets are hidden.

    \b
    masthead describe pod web
    masthead describe deploy/web svc/web
    masthead describe nodes
    """
    from masthead._cli.describe import describe
    from masthead._cli.document import as_text
    from masthead._cli.fetching import ObjectSelection, fetch_objects
    from masthead._cli.references import parse_references, resolve

    color = has_color(no_color=state.no_color)
    parsed = parse_references(references)
    with state.connect() as client:
        found = [
            fetch_objects(client, selected, selection=ObjectSelection(selector))
            for selected in resolve(client, state, parsed)
        ]
        errors = [error for fetched in found for error in fetched.errors]
        objects = [obj for fetched in found for obj in fetched.objects]
        for at, obj in enumerate(objects):
            described = _gather(client, obj, with_events=not no_events)
            text = as_text(describe(described, datetime.now(UTC)), color=color)
            write(f"\n{'-' * 40}\n\n{text}" if at else text)
    for error in errors[:-1]:
        say(f"masthead describe: {error.line}")
    if errors:
        raise errors[-1]
    if not objects:
        say("No resources found")
    return ExitCode.OK


def _gather(client: masthead.Client, obj: Plain, *, with_events: bool) -> Described:
    """The object with its pods and events; that they may not be read does not hide the object."""
    from masthead._cli.describe import Described
    from masthead._cli.object_events import events_of
    from masthead.errors import MastheadError

    selected = _selected_pods(client, obj)
    if not with_events or obj.get("kind") == "Event":
        return Described(obj, selected=selected)
    try:
        return Described(obj, events_of(client, obj, limit=_EVENTS), selected=selected)
    except MastheadError as error:
        return Described(obj, problem=explain(error).line, selected=selected)


def _selected_pods(client: masthead.Client, obj: Plain) -> SelectedPods | None:
    from masthead._cli.selected_pods import SelectedPods, fetch_selected_pods
    from masthead.errors import MastheadError

    try:
        return fetch_selected_pods(client, obj)
    except MastheadError as error:
        return SelectedPods(problem=explain(error).line)
