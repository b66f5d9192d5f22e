"""The options of a log request."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, cast

from masthead._client.options import integer_text
from masthead._meta.time import format_time
from masthead.errors import ArgumentError, TimeError

if TYPE_CHECKING:
    from masthead._client.options import Query

__all__ = ["LogQuery"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """Which part of a log is requested; the attributes are the arguments of ``pods.logs``.

    Raises:
        ArgumentError: If options contradict each other, or a number is invalid.
        TimeError: If `since` is not a datetime, or has no time zone.
    """

    container: str | None = None
    follow: bool = False
    previous: bool = False
    since: datetime | None = None
    since_seconds: int | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    timestamps: bool = False
    insecure_skip_tls_verify_backend: bool = False

    def __post_init__(self) -> None:
        # The API server refuses these, too, but only after a request.
        if self.since is not None and self.since_seconds is not None:
            raise ArgumentError("give since or since_seconds, not both")
        if self.follow and self.previous:
            raise ArgumentError("a previous container writes nothing any more: give follow or previous, not both")
        if self.since is not None and not isinstance(cast("object", self.since), datetime):
            raise TimeError(
                f"since is {self.since!r}; it must be a datetime with a time zone, or give since_seconds",
                value=self.since,
            )
        self._start()
        self._numbers("limit_bytes")

    def query(self) -> Query:
        """The query parameters of a single request, which has the server do it all."""
        return [*self._switches(timestamps=self.timestamps), *self._start(), *self._numbers("limit_bytes")]

    def first_query(self) -> Query:
        """The query parameters of the first of several requests: with timestamps, to resume from.

        The limit of bytes is left out, since it would count the timestamps.
        """
        return [*self._switches(timestamps=True), *self._start()]

    def resumed_query(self, since: str | None, elapsed: float) -> Query:
        """The query parameters of the next of several requests.

        Args:
            since: The ``sinceTime`` to resume from; None if no line has arrived yet.
            elapsed: How many seconds ago the first request was sent.
        """
        # The stamp of the last line: lines of the same instant are requested again, and dropped.
        if since is not None:
            start = [("sinceTime", since)]
        elif self.tail_lines == 0:
            # Only lines written since. Seconds, because the node's clock may differ from ours.
            start = [("sinceSeconds", str(math.ceil(elapsed) + 1))]
        elif self.since_seconds is not None:
            start = [
                ("sinceSeconds", str(self.since_seconds + math.ceil(elapsed))),
                *self._numbers("tail_lines"),
            ]
        else:
            start = self._start()
        return [*self._switches(timestamps=True), *start]

    def _switches(self, *, timestamps: bool) -> Query:
        switches = {
            "follow": self.follow,
            "previous": self.previous,
            "timestamps": timestamps,
            "insecureSkipTLSVerifyBackend": self.insecure_skip_tls_verify_backend,
        }
        # Left out if false, as kubectl does.
        query = [(name, "true") for name, wanted in switches.items() if wanted]
        return [*query, ("container", self.container)] if self.container else query

    def _start(self) -> Query:
        since = [] if self.since is None else [("sinceTime", format_time(self.since))]
        return [*since, *self._numbers("since_seconds", "tail_lines")]

    def _numbers(self, *names: str) -> Query:
        """The numbers of these names that are given; all of them are checked."""
        values = {
            "since_seconds": ("sinceSeconds", integer_text("since_seconds", self.since_seconds)),
            "tail_lines": ("tailLines", integer_text("tail_lines", self.tail_lines)),
            "limit_bytes": ("limitBytes", integer_text("limit_bytes", self.limit_bytes)),
        }
        found = (values[name] for name in names)
        return [(parameter, text) for parameter, text in found if text is not None]
