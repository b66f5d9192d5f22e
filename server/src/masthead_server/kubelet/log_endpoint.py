"""``pods/log``: the log of a container, to its end or followed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, not_supported
from masthead_server.kubelet.log_socket import LogSocket
from masthead_server.kubelet.pods import choose_container, log_problem
from masthead_server.kubelet.records import STDERR, STDOUT, LogFormatter, log_stamp
from masthead_server.web.request_head import BadRequestError
from masthead_server.web.response import Response
from masthead_server.wire.failures import bad_request, refused_fields
from masthead_server.wire.go_time import TIME
from masthead_server.wire.options import read_flag, read_integer
from masthead_server.wire.plain import metadata, part, text
from masthead_server.wire.request import ApiResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from masthead._schema.errors import FieldError
    from masthead_server.kubelet.logs import LogCursor, LogStore
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.web.request import Request
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["LogConnecter", "LogOptions"]

_HEADERS: Final = (("Content-Type", "text/plain"), ("Cache-Control", "no-cache, private"))
_STREAMS: Final = {"All": "", "Stdout": STDOUT, "Stderr": STDERR}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The query of a log: PodLogOptions.

    A stream can be chosen, as with the feature gate ``PodLogsQuerySplitStreams``, alpha in Kubernetes 1.36.
    """

    container: str = ""
    follow: bool = False
    previous: bool = False
    since_seconds: int | None = None
    since_time: str | None = None
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: str = "All"

    @classmethod
    def of(cls, request: ApiRequest, name: str) -> LogOptions:
        """Read the query of a request for the log of a pod of this name.

        Raises:
            StatusFailure: If a value is invalid, or if values exclude each other.
        """
        options = cls(
            container=request.first("container"),
            follow=read_flag(request, "follow") is True,
            previous=read_flag(request, "previous") is True,
            since_seconds=read_integer(request, "sinceSeconds"),
            since_time=_time(request.first("sinceTime")),
            timestamps=read_flag(request, "timestamps") is True,
            tail_lines=read_integer(request, "tailLines"),
            limit_bytes=read_integer(request, "limitBytes"),
            stream=request.first("stream") or "All",
        )
        if errors := options._errors():
            raise refused_fields("", "PodLogOptions", name, errors)
        return options

    def _errors(self) -> list[FieldError]:
        errors: list[FieldError] = []
        if self.tail_lines is not None and self.tail_lines < 0:
            errors.append(invalid("tailLines", self.tail_lines, "must be greater than or equal to 0"))
        if self.limit_bytes is not None and self.limit_bytes < 1:
            errors.append(invalid("limitBytes", self.limit_bytes, "must be greater than 0"))
        if self.since_seconds is not None and self.since_time is not None:
            errors.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
        elif self.since_seconds is not None and self.since_seconds < 1:
            errors.append(invalid("sinceSeconds", self.since_seconds, "must be greater than 0"))
        if self.stream not in _STREAMS:
            errors.append(not_supported("stream", self.stream, tuple(_STREAMS)))
        if self.stream != "All" and self.tail_lines is not None:
            why = "`tailLines` and specific `stream` are mutually exclusive for now"
            errors.append(forbidden("[]", why))
        return errors

    def formatter(self, now: datetime) -> LogFormatter:
        """Return what shows the records that are asked for."""
        since = f"{self.since_time[:-1]}.000000000Z" if self.since_time else ""
        if self.since_seconds is not None:
            since = log_stamp(now - timedelta(seconds=min(self.since_seconds, _FOREVER)))
        return LogFormatter(
            timestamps=self.timestamps,
            stream=_STREAMS[self.stream],
            since=since,
            limit=self.limit_bytes,
        )


_FOREVER: Final = 10 * 365 * 24 * 3600
"""Seconds that are enough for every log."""


def _time(value: str) -> str | None:
    if value in {"", "null"}:
        return None
    try:
        return TIME.canonical(value)
    except ValueError as flaw:
        raise bad_request(str(flaw)) from None


class LogConnecter:
    """Serves logs.

    Args:
        runtime: The pods and their containers.
    """

    def __init__(self, runtime: PodRuntime) -> None:
        self._runtime = runtime

    def connect(self, request: ApiRequest, info: RequestInfo) -> LogHandler | ApiResponse:
        """Find the log that a request asks for.

        Raises:
            StatusFailure: If there is no such pod or container, or if it has no log.
        """
        options = LogOptions.of(request, info.name)
        pod = self._runtime.find(info.namespace, info.name)
        container = choose_container(pod, options.container)
        # Nothing has run yet: kube-apiserver responds without content.
        if not text(part(pod, "spec"), "nodeName"):
            return ApiResponse(204, b"", content_type="")
        if problem := log_problem(pod, container, previous=options.previous):
            raise bad_request(problem)
        log = self._log(pod, container, previous=options.previous)
        return LogHandler(log, options, options.formatter(self._runtime.now()))

    def _log(self, pod: Plain, name: str, *, previous: bool) -> LogStore:
        container = self._runtime.container(pod, name)
        if not previous:
            return container.log
        if container.previous is None:
            pod_name = text(metadata(pod), "name")
            raise bad_request(f'previous terminated container "{name}" in pod "{pod_name}" not found')
        return container.previous


class LogHandler:
    """Sends one log.

    Args:
        log: The log.
        options: What of it.
        formatter: Shows its records.
    """

    def __init__(self, log: LogStore, options: LogOptions, formatter: LogFormatter) -> None:
        self._log = log
        self._options = options
        self._formatter = formatter

    async def serve(self, incoming: Request, on_response: Callable[[int], None]) -> None:
        """Send the log as the client reads it, to its end or for as long as the container runs."""
        options, log = self._options, self._log
        # Found before the response begins, because it may take a while.
        start = log.start if options.tail_lines is None else await log.find_tail(options.tail_lines)
        with suppress(ConnectionError):  # the client has disconnected
            if incoming.is_websocket:
                await self._serve_websocket(incoming, on_response, start)
                return
            on_response(200)
            response = await incoming.stream(200, _HEADERS)
            await self._send(start, response.write)
            await response.finish()

    async def _serve_websocket(self, incoming: Request, on_response: Callable[[int], None], start: LogCursor) -> None:
        try:
            socket = await LogSocket.open(incoming)
        except BadRequestError as error:
            on_response(error.code)
            await incoming.send(Response.of_text(error.code, error.text))
            return
        on_response(101)
        await socket.copy(lambda write: self._send(start, write))

    async def _send(self, start: LogCursor, write: Callable[[bytes], Awaitable[None]]) -> None:
        async for records in self._log.records(start, follow=self._options.follow):
            if shown := self._formatter.format(records):
                await write(shown)
            # Otherwise a followed log would stay open without sending anything.
            if self._formatter.is_full:
                break
