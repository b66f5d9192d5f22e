"""The limits of a small HTTP server."""

from __future__ import annotations

from dataclasses import dataclass

from masthead._endpoint.http_requests import READ_METHODS

__all__ = ["ServerLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The limits of an `EndpointServer`; by default those of probes and scrapes.

    Attributes:
        methods: The served methods.
        few_connections: From here on, the longest idle connection is closed once it was idle for a second.
        max_connections: From here on, the longest idle connection is closed immediately; 503 if none is idle. More
            than the hundred connections that an event loop accepts before it reads from any of them.
        max_body: Bytes of a request body; 0 to refuse bodies.
        max_buffered: Bytes of all request bodies that are read or handled; beyond, the body that has waited longest for
            its next bytes is refused with 503.
        body_timeout: Seconds for a body to arrive.
        idle_timeout: Seconds between two requests; by default longer than the minute between two scrapes.
        handler_timeout: Seconds for a handler; scrapes have the same timeout by default.
        close_timeout: Seconds that responses have to finish when the server closes.
    """

    methods: tuple[str, ...] = READ_METHODS
    few_connections: int = 64
    max_connections: int = 256
    max_body: int = 0
    max_buffered: int = 0
    body_timeout: float = 10.0
    idle_timeout: float = 75.0
    handler_timeout: float = 10.0
    close_timeout: float = 2.0
