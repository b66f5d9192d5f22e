"""What the server answers: the files of the page, and what they ask for. It only reads."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec

from masthead._endpoint.http_requests import EndpointResponse
from masthead._meta.typeinfo import json_decoder
from masthead._ui.details import Details
from masthead._ui.digests import Digests, moment_of
from masthead._ui.files import HEADERS, static_file
from masthead._ui.owner_lines import OwnerTree, build_tree
from masthead._ui.sessions import RefusedError
from masthead._ui.tables import TableQuery, Tables
from masthead._ui.time_axis import axis_of
from masthead.errors import MastheadError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
    from datetime import datetime

    from masthead._endpoint.http_requests import EndpointRequest
    from masthead._ui.history import History
    from masthead._ui.live_history import LiveHistory
    from masthead._ui.sessions import Gate

__all__ = ["LiveSource", "Service"]

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_MAX_STREAMS: Final = 16
_BATCH: Final = 0.2
"""Seconds for which changes are collected: more frames would not be seen."""
_QUIET: Final = 5.0
"""Seconds between two messages at most, by which the page knows that the server lives."""
_MANY: Final = 1_000
"""With more changes in one message, the page reads everything again."""
_MAX_NUMBER: Final = 2**53


class LiveSource(Protocol):
    """What a live page has beyond a history."""

    def status(self) -> Mapping[str, object]:
        """The state of the connection: ``error``, and how many kinds are ``loading``."""
        ...

    def logs(self, namespace: str, name: str, container: str) -> AsyncIterator[str]:
        """The log of a container, line by line, followed."""
        ...


class _Answer(msgspec.Struct):
    """The body of the exchange of the token."""

    token: str


_answer: Final = json_decoder(_Answer)


class _Parameters:
    """The parameters of a request."""

    def __init__(self, query: Mapping[str, list[str]]) -> None:
        self._query = query

    def text(self, name: str) -> str:
        return self._query.get(name, [""])[-1]

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number.

        Raises:
            RefusedError: If it is another text, or missing without a default.
        """
        given = self.text(name)
        if not given and default is not None:
            return default
        # int() takes more than digits, and any number of them.
        sign, digits = given[:1] == "-", given.removeprefix("-")
        if not digits.isascii() or not digits.isdigit() or len(digits) > 16:
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"{name} must be a whole number")
        return -int(digits) if sign else int(digits)

    def numbers(self, name: str) -> list[int]:
        found = [each for each in self.text(name).split(",") if each]
        return [int(each) for each in found if each.isascii() and each.isdigit() and len(each) < 16]

    def words(self, name: str) -> tuple[str, ...]:
        return tuple(self.text(name).lower().split())


class Service:
    """Answers the requests of pages.

    Args:
        history: The history on the page.
        gate: Who may ask.
        live: The connection of a live page; None for a recording.
        title: The heading.
    """

    def __init__(self, history: History, gate: Gate, live: LiveSource | None = None, title: str = "") -> None:
        self._history = history
        self._gate = gate
        self._live = live
        self._title = title
        self.digests = Digests(history)
        self._tables = Tables(history, self.digests)
        self._details = Details(history, self.digests)
        self._tree: OwnerTree | None = None
        self._building = asyncio.Lock()
        self._listeners: set[asyncio.Event] = set()
        self._streams = 0
        if history.is_live:
            cast("LiveHistory", history).on_change = self._announce
        self._answers: Mapping[str, Callable[[_Parameters], Awaitable[object]]] = {
            "/api/hello": self._hello,
            "/api/axis": self._axis,
            "/api/table": self._table,
            "/api/rows": self._rows,
            "/api/tree": self._owners,
            "/api/object": self._object,
            "/api/change": self._change,
            "/api/difference": self._difference,
            "/api/reconcile": self._reconcile,
            "/api/at": self._at,
        }

    def _announce(self) -> None:
        for listener in self._listeners:
            listener.set()

    async def handle(self, request: EndpointRequest) -> EndpointResponse:
        """Return the response to a request."""
        try:
            return await self._respond(request)
        except RefusedError as refused:
            return _json({"error": str(refused)}, refused.status)
        except MastheadError as error:
            return _json({"error": str(error)}, HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _respond(self, request: EndpointRequest) -> EndpointResponse:
        self._gate.check_origin(request.headers)
        if request.path == "/session":
            return self._open_session(request)
        if request.method != "GET":
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "this server only reads")
        # They say nothing about the cluster, and the page has no session yet when it loads them.
        if (file := static_file(request.path)) is not None:
            return file
        self._gate.check_session(request.headers)
        parameters = _Parameters(request.query)
        if request.path == "/api/stream":
            return self._stream(self._changes(parameters.number("since", self._history.latest)))
        if request.path == "/api/logs":
            return self._stream(self._log_lines(parameters.number("id"), parameters.text("container")))
        answer = self._answers.get(request.path)
        if answer is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is nothing at this path")
        return _json(await answer(parameters))

    def _open_session(self, request: EndpointRequest) -> EndpointResponse:
        if request.method != "POST":
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "a session is opened by POST")
        try:
            token = _answer.decode(request.body).token
        except msgspec.DecodeError:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the token is missing") from None
        return _json({"session": self._gate.open(token)})

    def _stream(self, pieces: AsyncGenerator[bytes]) -> EndpointResponse:
        # Each stream holds a connection, and gets every change.
        if self._streams >= _MAX_STREAMS:
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open: close some of them")
        return EndpointResponse(HTTPStatus.OK, b"", _EVENTS, HEADERS, stream=self._count_stream(pieces))

    async def _count_stream(self, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        self._streams += 1
        try:
            async for piece in pieces:
                yield piece
        finally:
            self._streams -= 1
            await pieces.aclose()

    def _position(self, parameters: _Parameters, name: str = "at") -> int:
        """The position that is meant; the latest one without a parameter."""
        history = self._history
        if not parameters.text(name):
            return history.latest
        return max(history.first, min(parameters.number(name), history.latest))

    def _now(self, parameters: _Parameters) -> datetime:
        """The time that ages refer to."""
        history = self._history
        # Of a live page, ages grow while nothing changes.
        if history.is_live and not parameters.text("at"):
            return moment_of(history.end)
        position = self._position(parameters)
        known = history.version(position).time if history.first <= position <= history.latest else history.start
        # Of a past moment, the page may show one between two changes.
        return moment_of(max(known, min(parameters.number("now", known), _MAX_NUMBER)))

    async def _hello(self, _: _Parameters) -> object:
        history = self._history
        latest = history.latest
        # From the objects: a user may list pods everywhere, and namespaces not at all.
        spaces: dict[str, None] = {}
        for number in history.numbers():
            key = history.key(number)
            if key is not None and key.namespace:
                spaces[key.namespace] = None
        return {
            "title": self._title,
            "isLive": history.is_live,
            "first": history.first,
            "latest": latest,
            "start": history.start,
            "end": history.end,
            "namespaces": sorted(spaces),
            "kinds": [
                {**asdict(kind), "number": number, "count": len(history.present(latest, number))}
                for number, kind in enumerate(history.kinds)
            ],
            "facts": history.facts,
            "status": self._status(),
        }

    def _status(self) -> Mapping[str, object]:
        return {} if self._live is None else self._live.status()

    async def _axis(self, parameters: _Parameters) -> object:
        history = self._history
        since = parameters.number("since", history.start)
        until = parameters.number("until", history.end)
        found = axis_of(history, since, until, parameters.number("buckets", 1_000))
        return {**found, "start": history.start, "end": history.end, "first": history.first, "latest": history.latest}

    def _kind(self, parameters: _Parameters) -> int:
        kind = parameters.number("kind")
        if not 0 <= kind < len(self._history.kinds):
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such kind")
        return kind

    async def _table(self, parameters: _Parameters) -> object:
        query = TableQuery(
            self._kind(parameters),
            self._position(parameters),
            parameters.text("namespace"),
            parameters.words("q"),
            parameters.number("sort", -1),
            parameters.text("order") == "down",
        )
        return await self._tables.table(query, self._now(parameters))

    async def _rows(self, parameters: _Parameters) -> object:
        kind, position = self._kind(parameters), self._position(parameters)
        return {"rows": self._tables.rows(kind, position, parameters.numbers("ids"), self._now(parameters))}

    async def _owners(self, parameters: _Parameters) -> object:
        position = self._position(parameters)
        # Two pages, or an impatient one, need not build the same tree twice.
        async with self._building:
            if self._tree is None or self._tree.position != position:
                self._tree = await build_tree(self._history, self.digests, position)
        flipped = frozenset(parameters.text("flip").split(","))
        return {"lines": self._tree.lines(flipped, parameters.text("namespace"), self._now(parameters))}

    async def _object(self, parameters: _Parameters) -> object:
        found = await self._details.whole(
            parameters.number("id"),
            self._position(parameters),
            self._now(parameters),
            is_whole=parameters.text("whole") == "1",
        )
        if found is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "this object is not remembered any more")
        return {**found, "hasLogs": self._live is not None and not parameters.text("at")}

    async def _change(self, parameters: _Parameters) -> object:
        self._check_not_empty()
        return self._details.change(self._position(parameters, "position"))

    async def _difference(self, parameters: _Parameters) -> object:
        self._check_not_empty()
        first, second = sorted((self._position(parameters, "from"), self._position(parameters, "to")))
        number = parameters.number("id", -1)
        return self._details.difference(first, second, number if number >= 0 else None)

    async def _reconcile(self, parameters: _Parameters) -> object:
        number = parameters.number("number")
        first = self._history.first_reconcile
        if not first <= number < first + len(self._history.reconciles):
            raise RefusedError(HTTPStatus.NOT_FOUND, "this reconcile is not remembered any more")
        return self._details.reconcile(number)

    async def _at(self, parameters: _Parameters) -> object:
        self._check_not_empty()
        position = self._history.at_time(parameters.number("time"))
        version = self._history.version(position)
        return {"position": position, "time": version.time}

    def _check_not_empty(self) -> None:
        if self._history.latest < self._history.first:
            raise RefusedError(HTTPStatus.NOT_FOUND, "nothing is recorded yet")

    async def _changes(self, sent: int) -> AsyncGenerator[bytes]:
        """Changes after a position as they come, several at a time, and the state of the connection."""
        listener = asyncio.Event()
        self._listeners.add(listener)
        try:
            while True:
                news, sent = self._news(sent), self._history.latest
                yield _event("changes", news)
                try:
                    async with asyncio.timeout(_QUIET):
                        await listener.wait()
                except TimeoutError:
                    continue
                # Bursts are common: a rollout changes dozens of objects within a second.
                await asyncio.sleep(_BATCH)
                listener.clear()
        finally:
            self._listeners.discard(listener)

    def _news(self, sent: int) -> dict[str, object]:
        history = self._history
        latest = history.latest
        news: dict[str, object] = {"latest": latest, "end": history.end, "status": self._status()}
        # Their number: most change nothing, so that the page would not know of them.
        news["reconciles"] = history.first_reconcile + len(history.reconciles)
        # Of changes that are forgotten already, nothing more can be said.
        if latest - sent > _MANY or sent + 1 < history.first:
            news["isMany"] = True
            return news
        changes: list[list[object]] = []
        for position in range(sent + 1, latest + 1):
            number, version = history.number(position), history.version(position)
            key = history.key(number)
            changes.append([position, version.time, version.operation, number, -1 if key is None else key.kind])
        news["changes"] = changes
        return news

    async def _log_lines(self, number: int, container: str) -> AsyncGenerator[bytes]:
        key = self._history.key(number)
        # A pod of the past has no log any more, and a recording has none.
        if self._live is None or key is None:
            yield _event("end", "logs are not recorded")
            return
        try:
            async for line in self._live.logs(key.namespace, key.name, container):
                yield _event("line", line)
            yield _event("end", "the log has ended")
        except MastheadError as error:
            yield _event("end", str(error))


def _json(value: object, status: HTTPStatus = HTTPStatus.OK) -> EndpointResponse:
    return EndpointResponse(status, msgspec.json.encode(value), _JSON, HEADERS)


def _event(name: str, value: object) -> bytes:
    """A server-sent event."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(value))
