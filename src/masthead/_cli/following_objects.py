"""``get -w`` with objects in other forms than a table: one for each change."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NoReturn

from masthead._cli.connection import connection_error, report_connection
from masthead._cli.following import EVENT_TYPES, GrowingLines
from masthead._cli.live_objects import with_name
from masthead._cli.object_feed import Feed
from masthead._cli.references import missing
from masthead._cli.subjects import line_name
from masthead._cli.terminal import write, write_data

if TYPE_CHECKING:
    import masthead
    from masthead._cli.get_request import GetRequest
    from masthead._cli.references import Selected
    from masthead._meta.plain import Plain
    from masthead._meta.unstructured import Unstructured

__all__ = ["ObjectLines", "follow_objects"]

_LOOK_UP: Final = 1.0
"""Seconds between two checks of the connection."""


class ObjectLines:
    """The texts of objects, one after the other.

    Args:
        request: The options.
        events: Whether objects are wrapped in the events that bring them.
    """

    def __init__(self, request: GetRequest, *, events: bool) -> None:
        self._output = request.output
        self._keeps_managed_fields = request.show_managed_fields
        self._events = events
        self._is_first = True
        self._lines = GrowingLines()
        self._headers = request.options.headers

    def add(self, event: str, obj: Plain) -> str:
        """Return the text for the next object."""
        if self._output.form == "name":
            return f"{line_name(obj)}\n"
        if not self._keeps_managed_fields:
            # Each object is another copy.
            obj.get("metadata", {}).pop("managedFields", None)
        # As the events of the API: {"type": ..., "object": ...}.
        shown: Plain = {"object": obj, "type": event} if self._events else obj
        is_first, self._is_first = self._is_first, False
        if self._output.columns:
            return self._columns(shown, with_headers=is_first and self._headers)
        rendered = self._output.render(shown)
        # Documents of YAML are separated; those of JSON end by themselves.
        is_yaml = not self._output.is_data and not rendered.startswith("{")
        return rendered if is_first or not is_yaml else f"---\n{rendered}"

    def _columns(self, shown: Plain, *, with_headers: bool) -> str:
        lines = [[column.cell(shown) for column in self._output.columns]]
        if with_headers:
            lines.insert(0, [column.header for column in self._output.columns])
        return self._lines.add(lines)


def follow_objects(
    client: masthead.Client, selected: Selected, request: GetRequest, *, events: bool, only_changes: bool
) -> NoReturn:
    """Print objects, and then each object that changes, until the process is interrupted.

    Args:
        client: The client.
        selected: The resource, with at most one name.
        request: The options.
        events: Whether objects are wrapped in the events that bring them.
        only_changes: Whether objects that exist already are left out.

    Raises:
        CommandError: If one object is meant, and it does not exist.
        MastheadError: As any call, before the first object is printed.
    """
    resource = client.dynamic(selected.resource.gvr, namespace=selected.namespace)
    lines = ObjectLines(request, events=events)

    def put(event: str, obj: Unstructured) -> None:
        text = lines.add(event, obj.to_dict())
        write_data(text) if request.output.is_data else write(text)
        # A reader of the pipe waits for it.
        sys.stdout.flush()

    with Feed(resource, with_name(request.selection, selected.names)) as feed:
        # A selector for a name finds nothing, instead of being an error.
        if selected.names and not feed.first:
            raise missing(client, selected, selected.names[0])
        for obj in () if only_changes else feed.first:
            put("ADDED", obj)
        error = ""
        while True:
            change = feed.next_change(_LOOK_UP)
            if change is not None:
                put(EVENT_TYPES[change.type], change.obj)
            error = report_connection(connection_error(feed.health), error)
