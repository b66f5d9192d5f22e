"""Fault injection: failures of a cluster, at a chosen moment.

::

    server.faults.fail(503, verb="list", resource="pods")    # the next list of pods fails
    server.faults.conflict(resource="deployments", times=2)  # two updates of deployments get a conflict
    server.faults.drop_watch(after=3, resource="pods")       # a watch of pods breaks after three events
    server.faults.drop_stream(after=9, subresource="exec")   # an exec breaks after nine bytes
    late = server.faults.hold_bookmarks(resource="pods")     # no bookmarks for now ...
    late.remove()                                            # ... and now they are sent
    print(late.hits)                                         # how many requests it hit

Each call adds a `Fault` and returns it: `Fault.hits` counts the requests that it hit, and `Fault.remove`
removes it. A fault hits the next ``times`` requests that match its filters, or all of them if that is None;
where several match, the oldest hits. See `RequestFilter` for the filters; omitted ones match
everything. All methods are thread-safe, and may be called before a request or in the middle of a watch; a
watch gets the faults of streams when it begins.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead_server.fault_filters import RequestFilter, check_served, check_where, for_verb, is_met
from masthead_server.fault_responses import (
    FaultResponder,
    conflict_response,
    expired_response,
    status_responder,
    throttle_responder,
    version_too_large_response,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Unpack

    from masthead_server.resources.catalog import Catalog
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["Effect", "Fault", "Faults", "RequestFilter"]

_CHANGES: Final = ("update", "patch")
_FAILURES: Final = range(400, 600)
_CLOSE_CODES: Final = range(1000, 5000)
_MAX_REASON_LENGTH: Final = 123


@set_module("masthead.server")
class Effect(Enum):
    """What a fault does."""

    REFUSE = "refuse"
    DELAY = "delay"
    LOSE = "lose response"
    DROP = "drop"
    CUT = "cut"
    SILENCE = "silence"
    EXPIRE = "expire"
    HOLD_BOOKMARKS = "hold bookmarks"
    REPEAT_BOOKMARKS = "repeat bookmarks"
    STALE = "stale"
    DROP_STREAM = "drop stream"
    SILENCE_STREAM = "silence stream"
    CLOSE_STREAM = "close stream"
    INSERT_MESSAGE = "insert message"


@set_module("masthead.server")
@dataclass(eq=False, slots=True)
class Fault:
    """One fault.

    Attributes:
        effect: What it does.
        where: The requests that it hits.
        times: How many more requests it hits; None for all.
        hits: How many requests it hit.
        after: For watches: after how many events; for other streams: after how many bytes.
        amount: How many revisions a list is behind, or how often a bookmark is sent.
        seconds: How long a request waits.
        respond: Makes its response.
        is_in_stream: Whether a watch gets that response as an event.
        data: The message to insert, or what closes a WebSocket.
        counts_received: Whether to count the bytes from the client.
        owner: The faults that it belongs to.
    """

    effect: Effect
    where: RequestFilter
    times: int | None = 1
    hits: int = 0
    after: int = 0
    amount: int = 0
    seconds: float = 0.0
    respond: FaultResponder | None = field(default=None, repr=False)
    is_in_stream: bool = False
    data: bytes = field(default=b"", repr=False)
    counts_received: bool = False
    owner: Faults | None = field(default=None, repr=False)

    def matches(self, info: RequestInfo, body: bytes = b"") -> bool:
        """Tell whether a request matches the filters."""
        return is_met(self.where, info, body)

    def remove(self) -> None:
        """Remove it; what it held back is sent."""
        if self.owner is not None:
            self.owner.discard(self)


@set_module("masthead.server")
class Faults:
    """The pending faults of a server.

    The methods that add one raise ValueError if it could never hit a request, and TypeError for an unknown
    filter.

    Args:
        catalog: The resources that faults may name.
        on_removed: Called when faults were removed, in the thread that did it.
    """

    def __init__(self, catalog: Catalog, on_removed: Callable[[], object] = lambda: None) -> None:
        self._catalog = catalog
        self._pending: list[Fault] = []
        self._lock = threading.Lock()
        self._on_removed = on_removed

    def fail(
        self,
        code: int,
        *,
        reason: str | None = None,
        message: str = "",
        retry_after: int | None = None,
        times: int | None = 1,
        **where: Unpack[RequestFilter],
    ) -> Fault:
        """Fail requests, which then have no effect.

        Args:
            code: The status code, such as 500 or 503; from 400 to 599.
            reason: The reason of the Status; by default the one of the code.
            message: The message of the Status; by default the one of the code.
            retry_after: Seconds for the Retry-After header, and for the details of the Status.
            times: How many requests; None for all.
            where: Which requests.
        """
        if code not in _FAILURES:
            raise ValueError(f"a failure's code is between 400 and 599, not {code}")
        return self._add(
            Fault(
                Effect.REFUSE,
                where,
                times,
                respond=status_responder(code, reason, message, retry_after=retry_after),
            )
        )

    def throttle(self, *, retry_after: int = 1, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Respond with 429, Retry-After and a line of text, as kube-apiserver's in-flight limit does.

        (That is no Status. For a 429 that is one, use ``fail(429, retry_after=...)``.)
        """
        return self._add(Fault(Effect.REFUSE, where, times, respond=throttle_responder(retry_after)))

    def conflict(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Fail writes as if another client had written first; updates and patches by default.

        An update gets "the object has been modified", and a create, if ``verb`` includes it, "already
        exists".
        """
        return self._add(Fault(Effect.REFUSE, {"verb": _CHANGES, **where}, times, respond=conflict_response))

    def delay(self, seconds: float, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Delay requests by some seconds of the server's clock, as an overloaded server does.

        Other faults hit the request then. If the client disconnects before, its request has no effect.
        """
        if not 0 < seconds < float("inf"):
            raise ValueError(f"a delay is a number of seconds, more than 0, not {seconds}")
        return self._add(Fault(Effect.DELAY, where, times, seconds=seconds))

    def lose_response(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Handle requests, and break the connection instead of responding; writes by default.

        The client cannot know whether its write was done. It was, unless the server refuses it.
        """
        filters: RequestFilter = where if "verb" in where else {"verb": "write", **where}
        return self._add(Fault(Effect.LOSE, filters, times))

    def too_large_version(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Fail reads with 504, as for a version that does not exist yet; a watch gets it as an event."""
        return self._add(
            Fault(
                Effect.REFUSE,
                {"verb": "read", **where},
                times,
                respond=version_too_large_response,
                is_in_stream=True,
            )
        )

    def expire(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Fail lists with 410: their version or continue token has expired."""
        return self._add(Fault(Effect.REFUSE, {"verb": "list", **where}, times, respond=expired_response))

    def expire_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """End a watch with 410 after so many events, by an error event in the stream."""
        return self._add(Fault(Effect.EXPIRE, for_verb("watch", where), times, after=after))

    def drop_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Break a watch's connection after so many events, bookmarks among them."""
        return self._add(Fault(Effect.DROP, for_verb("watch", where), times, after=after))

    def cut_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Break a watch's connection in the middle of the line that follows so many events."""
        return self._add(Fault(Effect.CUT, for_verb("watch", where), times, after=after))

    def silence_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Silence a watch after so many events: its connection stays open, and nothing is sent any more.

        It does not time out either, as if the network between had failed; it ends with the server.
        """
        return self._add(Fault(Effect.SILENCE, for_verb("watch", where), times, after=after))

    def hold_bookmarks(self, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Hold back bookmarks, including the one at the end of the initial events.

        When the fault is removed, each watch sends one for all that it held. ``times`` counts bookmarks.
        """
        return self._add(Fault(Effect.HOLD_BOOKMARKS, for_verb("watch", where), times))

    def repeat_bookmarks(self, count: int = 2, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Send each bookmark so many times. ``times`` counts bookmarks."""
        if count < 1:
            raise ValueError(
                f"a bookmark is sent at least once, not {count} times; to hold it back, use hold_bookmarks()"
            )
        return self._add(Fault(Effect.REPEAT_BOOKMARKS, for_verb("watch", where), times, amount=count))

    def stale_lists(self, by: int = 1, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Respond to lists of any version with the state of so many revisions ago, as a stale cache would.

        A list without a resourceVersion still gets the newest state, and one with a version nothing older
        than that.
        """
        if by < 1:
            raise ValueError(f"a stale list is at least one revision behind, not {by}")
        return self._add(Fault(Effect.STALE, for_verb("list", where), times, amount=by))

    def drop_stream(
        self,
        *,
        after: int = 0,
        received: bool = False,
        times: int | None = 1,
        **where: Unpack[RequestFilter],
    ) -> Fault:
        """Break the connection of an exec, attach, port-forward, log or proxy after so many bytes, in a frame or not.

        The bytes are those of the response's body or, where the connection is upgraded, all that follow its head.
        A stream that ends before is not affected.

        Args:
            after: How many bytes the client gets.
            received: Whether to count the bytes that the client sends instead; only if the connection is upgraded.
            times: How many requests; None for all.
            where: Which requests; ``subresource="exec"``, for example.
        """
        return self._add(Fault(Effect.DROP_STREAM, where, times, after=after, counts_received=received))

    def silence_stream(
        self,
        *,
        after: int = 0,
        received: bool = False,
        times: int | None = 1,
        **where: Unpack[RequestFilter],
    ) -> Fault:
        """Silence a stream after so many bytes: its connection stays open, and nothing is sent or read any more.

        As for a network that fails, the connection ends with the server only. See `drop_stream` for the arguments.
        """
        return self._add(Fault(Effect.SILENCE_STREAM, where, times, after=after, counts_received=received))

    def close_stream(
        self,
        code: int = 1001,
        *,
        reason: str = "",
        after: int = 0,
        times: int | None = 1,
        **where: Unpack[RequestFilter],
    ) -> Fault:
        """Close a WebSocket with a code, after the message in which so many bytes are reached.

        Other connections are closed without a word, as by `drop_stream`.

        Args:
            code: The code: 1000 for a regular end, 1001 for a server that goes away, 1011 for an error.
            reason: A reason, of at most 123 bytes.
            after: How many bytes the client gets at least.
            times: How many requests; None for all.
            where: Which requests.
        """
        if code not in _CLOSE_CODES or len(reason.encode()) > _MAX_REASON_LENGTH:
            raise ValueError(f"no WebSocket is closed with the code {code} and the reason {reason!r}")
        data = code.to_bytes(2) + reason.encode()
        return self._add(Fault(Effect.CLOSE_STREAM, where, times, after=after, data=data))

    def insert_message(
        self, data: bytes, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]
    ) -> Fault:
        """Send one more message on a WebSocket, after the one in which so many bytes are reached: anything at all.

        Args:
            data: The message; its first byte is a channel for exec and attach.
            after: How many bytes the client gets before, at least.
            times: How many requests; None for all.
            where: Which requests.
        """
        return self._add(Fault(Effect.INSERT_MESSAGE, where, times, after=after, data=data))

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._pending.clear()
        self._on_removed()

    def discard(self, fault: Fault) -> None:
        """Remove a fault, if it is pending."""
        with self._lock:
            if fault in self._pending:
                self._pending.remove(fault)
        self._on_removed()

    def __iter__(self) -> Iterator[Fault]:
        with self._lock:
            return iter(tuple(self._pending))

    def has_pending(self, info: RequestInfo, effect: Effect) -> bool:
        """Tell whether a fault is pending for such a request, without triggering it."""
        return any(fault.effect is effect and fault.matches(info) for fault in self)

    def trigger(self, info: RequestInfo, *effects: Effect, body: bytes = b"") -> Fault | None:
        """Return the oldest fault that matches a request, and count the hit; the body may have the name."""
        with self._lock:
            for fault in self._pending:
                if fault.effect in effects and fault.matches(info, body):
                    fault.hits += 1
                    if fault.times is not None:
                        fault.times -= 1
                        if fault.times <= 0:
                            self._pending.remove(fault)
                    return fault
        return None

    def _add(self, fault: Fault) -> Fault:
        check_where(fault.where, fault.times)
        check_served(self._catalog, fault.where)
        if fault.after < 0:
            raise ValueError(f"a fault comes after 0 or more events or bytes, not after {fault.after}")
        fault.owner = self
        with self._lock:
            self._pending.append(fault)
        return fault
