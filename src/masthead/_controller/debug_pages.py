"""``/debug``: the current state of a manager, as text and JSON."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from masthead._controller.daemon_threads import BusyError, ThreadSlot
from masthead._controller.log_values import plain_value
from masthead._controller.stacks import format_task_stacks, format_thread_stacks, task_stacks
from masthead._endpoint.http_requests import EndpointResponse, text_response
from masthead._errors.base import printable
from masthead._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._endpoint.http_requests import EndpointRequest

__all__ = ["DebugPages", "format_sections"]

_JSON: Final = "application/json"


class DebugPages:
    """Answers requests below ``/debug``.

    | path | response |
    |---|---|
    | ``/debug`` | all sections, as text; as JSON with ``Accept: application/json`` or ``?format=json`` |
    | ``/debug/NAME`` | one section |
    | ``/debug/tasks`` | the stacks of the event loop's tasks |
    | ``/debug/threads`` | the stacks of all threads |

    Args:
        sections: Returns the sections: plain data by name. It is called on the event loop.
    """

    def __init__(self, sections: Callable[[], Mapping[str, object]]) -> None:
        self._sections = sections
        self._thread = ThreadSlot()

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Answer a request. Requests from a web page in a browser on this machine are rejected."""
        # A web page can reach a local port by DNS rebinding, but only under its own host name.
        if request.is_from_loopback and not request.names_loopback:
            return text_response("use localhost or 127.0.0.1 as the host\n", HTTPStatus.FORBIDDEN)
        name = request.path.removeprefix("/debug").strip("/")
        try:
            if name == "tasks":
                # Collected on the loop, because other threads must not look at its tasks; formatting reads files, in a
                # thread.
                stacks = task_stacks()
                return text_response(await self._thread.run(lambda: format_task_stacks(stacks)))
            if name == "threads":
                return text_response(await self._thread.run(format_thread_stacks))
        except BusyError:
            return text_response("too many requests, or an earlier one has not ended\n", HTTPStatus.SERVICE_UNAVAILABLE)
        # The version first: it is the first question about a report.
        sections = {"version": __version__, **self._sections()}
        if name:
            if name not in sections:
                known = ", ".join(["tasks", "threads", *sections])
                return text_response(f"there is no {name!r} here; there are {known}\n", HTTPStatus.NOT_FOUND)
            sections = {name: sections[name]}
        plain = cast("dict[str, object]", plain_value(sections))
        if _wants_json(request):
            return EndpointResponse(HTTPStatus.OK, json.dumps(plain, indent=2).encode(), _JSON)
        more = "" if name else "\n/debug/tasks and /debug/threads have stacks; ?format=json is for machines\n"
        return text_response(format_sections(plain) + more)


def _wants_json(request: EndpointRequest) -> bool:
    return request.query.get("format") == ["json"] or _JSON in request.headers.get("accept", "")


def format_sections(sections: Mapping[str, object]) -> str:
    """Format plain data for people: lists of similar dicts as tables, other data as lines."""
    return "\n".join(f"{name}\n{_indent(_format(value))}\n" for name, value in sections.items())


def _format(value: object) -> str:
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return "\n".join(_format_item(key, item) for key, item in items) or "none"
    if isinstance(value, list):
        rows = cast("list[object]", value)
        if rows and isinstance(rows[0], dict):
            return _format_table(rows)
        return "\n".join(_scalar(row) for row in rows) or "none"
    return _scalar(value)


def _format_item(key: str, value: object) -> str:
    text = _format(value)
    is_nested = isinstance(value, dict | list) and text != "none"
    return f"{key}:\n{_indent(text)}" if is_nested else f"{key}: {text}"


def _format_table(rows: list[object]) -> str:
    # The union of all keys in the order of their appearance: rows may have optional cells.
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(cast("dict[str, object]", row) if isinstance(row, dict) else ()))
    lines = [list(columns)]
    for row in rows:
        cells = cast("dict[str, object]", row) if isinstance(row, dict) else {next(iter(columns), ""): row}
        lines.append([_scalar(cells.get(column, "")) for column in columns])
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _scalar(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # One line per cell, so that a value cannot break the table.
    return " ".join(printable(text).split("\n"))


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
