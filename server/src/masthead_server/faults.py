"""Fault injection: failures of a cluster, at a chosen moment.

::

    server.faults.fail(503, verb="list", resource="pods")    # the next list of pods fails
    server.faults.conflict(resource="deployments", times=2)  # two updates of deployments get a conflict
    server.faults.drop_watch(after=3, resource="pods")       # a watch of pods breaks after three events
    server.faults.drop_stream(after=9, subresource="exec")   # an exec breaks after nine bytes
    late = server.faults.hold_bookmarks(resource="pods")     # no bookmarks for now ...
    late.remove()                                            # ... and now they are sent
    print(late.hits)                                         # how many requests it hit
    old = server.faults.freeze(resource="secrets", client="web-0")  # one replica sees the Secrets of now ...
    old.remove()                                             # ... until here

Each call adds a `Fault` and returns it: `Fault.hits` counts the requests that it hit, `Fault.hit` waits for the first,
and `Fault.remove` removes it. A fault hits the next ``times`` requests that match its filters, or all of them if that
is None; where several match, the oldest hits. See `RequestFilter` for the filters; omitted ones match
everything. All methods are thread-safe, and may be called before a request or in the middle of a watch; a
watch gets the faults of streams when it begins. `Faults.freeze` and `Faults.hold_events` affect open watches, too.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead_server.argument_checks import check_flag, check_text, check_type, check_whole_number
from masthead_server.fault import HOLDING_EFFECTS, Effect, Fault
from masthead_server.fault_filters import (
    RequestFilter,
    ViewFilter,
    check_served,
    check_view,
    check_where,
    for_verb,
    for_views,
    take_skip,
)
from masthead_server.fault_responses import (
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

__all__ = ["Effect", "Fault", "Faults"]

_CHANGES: Final = ("update", "patch")
_FAILURES: Final = range(400, 600)
_CLOSE_CODES: Final = range(1000, 5000)
_MAX_REASON_LENGTH: Final = 123
_MAX_ADDED: Final = 10_000
"""The maximum number of faults that `Faults.unhit` considers; the oldest are forgotten."""


@set_module("masthead.server")
class Faults:
    """The pending faults of a server.

    The methods that add one raise ValueError if it could never hit a request or a value is out of range, and TypeError
    for an unknown filter or a value of another type.

    Args:
        catalog: The resources that faults may name.
        on_removed: Called when faults were removed, in the thread that did it.
        revisions: Returns the oldest and the newest revision that can be read.
    """

    def __init__(
        self,
        catalog: Catalog,
        on_removed: Callable[[], object] = lambda: None,
        revisions: Callable[[], tuple[int, int]] = lambda: (0, 0),
    ) -> None:
        self._catalog = catalog
        self._revisions = revisions
        self._pending: list[Fault] = []
        self._added: deque[Fault] = deque(maxlen=_MAX_ADDED)
        self.holding: tuple[Fault, ...] = ()
        """The faults that hold events back; nearly always none."""
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
        check_type("code", code, int, "a whole number")
        if code not in _FAILURES:
            raise ValueError(f"a failure's code is between 400 and 599, not {code}")
        if reason is not None:
            check_text("reason", reason)
        check_text("message", message)
        if retry_after is not None:
            check_whole_number("retry_after", retry_after, minimum=0)
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
        check_whole_number("retry_after", retry_after, minimum=0)
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
        check_type("seconds", seconds, int | float, "a number")
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

        It does not time out either, as if the network between had failed. It ends with the server, or continues when
        the fault is removed.
        """
        return self._add(Fault(Effect.SILENCE, for_verb("watch", where), times, after=after))

    def hold_bookmarks(self, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Hold back bookmarks, including the one at the end of the initial events.

        When the fault is removed, each watch sends one for all that it held. ``times`` counts bookmarks.
        """
        return self._add(Fault(Effect.HOLD_BOOKMARKS, for_verb("watch", where), times))

    def repeat_bookmarks(self, count: int = 2, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Send each bookmark so many times. ``times`` counts bookmarks."""
        check_type("count", count, int, "a whole number")
        if count < 1:
            raise ValueError(
                f"a bookmark is sent at least once, not {count} times; to hold it back, use hold_bookmarks()"
            )
        return self._add(Fault(Effect.REPEAT_BOOKMARKS, for_verb("watch", where), times, amount=count))

    def stale_lists(self, by: int = 1, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Respond to lists of any version with the state of so many revisions ago, as a stale cache would.

        A list without a resourceVersion still gets the newest state, and one with a version nothing older than that.
        The initial events of a watch-list are stale, too; the changes since then follow.
        """
        check_type("by", by, int, "a whole number")
        if by < 1:
            raise ValueError(f"a stale list is at least one revision behind, not {by}")
        return self._add(Fault(Effect.STALE, for_views(where), times, amount=by))

    def freeze(self, revision: int | None = None, **where: Unpack[ViewFilter]) -> Fault:
        """Freeze lists and watches at a revision until the fault is removed, as a server cut off from etcd would.

        Lists and the initial events of watch-lists show the state of that revision. Watches send nothing later, and no
        later bookmarks; open ones send all they missed when the fault is removed. A list or watch-list of a later
        version fails with 504. Reads by name, writes, and requests with the header ``X-Masthead-Reconcile`` get the
        current state. During this time, history is not compacted unless it exceeds ``history_bytes``.

        Args:
            revision: The revision; the present one by default.
            where: Which resources, and for which client; all by default.
        """
        if revision is not None:
            check_type("revision", revision, int, "a whole number")
        oldest, newest = self._revisions()
        frozen = newest if revision is None else revision
        if not oldest <= frozen <= newest:
            raise ValueError(f"there is no revision {frozen} to show; there are {oldest} to {newest}")
        filters = for_views(check_view(where))
        return self._add(Fault(Effect.FREEZE, filters, None, revision=frozen))

    def hold_events(
        self,
        name: str = "",
        namespace: str = "",
        *,
        after_revision: int | None = None,
        **where: Unpack[ViewFilter],
    ) -> Fault:
        """Hold back the events of watches from the first that matches, until the fault is removed.

        A watch, open or new, sends nothing from that event on, of any object; its connection stays, with bookmarks of
        the version before. When the fault is removed, all events follow in order. Lists, and the initial events of
        watch-lists, show the present state.

        Args:
            name: Only an event of the object of this name starts the hold.
            namespace: Only an event of an object in this namespace.
            after_revision: Only an event after this revision; without name and namespace, the present one by default.
            where: Which resources, and for which client; all by default.
        """
        check_text("name", name)
        check_text("namespace", namespace)
        if after_revision is not None:
            check_whole_number("after_revision", after_revision, minimum=0)
        if not name and not namespace and after_revision is None:
            after_revision = self._revisions()[1]
        return self._add(
            Fault(
                Effect.HOLD_EVENTS,
                for_verb("watch", check_view(where)),
                None,
                revision=after_revision,
                event_name=name,
                event_namespace=namespace,
            )
        )

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
        check_type("code", code, int, "a whole number")
        check_text("reason", reason)
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
        check_type("data", data, bytes, "bytes")
        return self._add(Fault(Effect.INSERT_MESSAGE, where, times, after=after, data=data))

    def clear(self) -> None:
        """Remove all faults; what they held back is sent."""
        with self._lock:
            for fault in (*self._added, *self._pending):
                fault.is_removed = True
            self._added.clear()
            self._pending.clear()
            self.holding = ()
        self._on_removed()

    def discard(self, fault: Fault) -> None:
        """Remove a fault, if it is pending; what it held back is sent."""
        with self._lock:
            fault.is_removed = True
            self._drop(fault)
        self._on_removed()

    def unhit(self) -> list[Fault]:
        """Return the faults since the start or the last `clear` that hit no request, removed ones included."""
        with self._lock:
            return [fault for fault in self._added if not fault.hits]

    def __iter__(self) -> Iterator[Fault]:
        with self._lock:
            return iter(tuple(self._pending))

    def has_pending(self, info: RequestInfo, effect: Effect) -> bool:
        """Tell whether a fault is pending for such a request, without triggering it."""
        return any(fault.effect is effect and fault.matches(info) for fault in self)

    def holding_for(self, info: RequestInfo) -> list[Fault]:
        """Return the faults that hold back events or later states from a request; a reconcile's gets everything."""
        return [] if info.reconcile else [fault for fault in self.holding if fault.matches(info)]

    def trigger(self, info: RequestInfo, *effects: Effect, body: bytes = b"") -> Fault | None:
        """Return the oldest fault that matches a request, and count the hit; the body may have the name."""
        chosen: Fault | None = None
        with self._lock:
            for fault in tuple(self._pending):
                if fault.effect not in effects or not fault.matches(info, body):
                    continue
                # Every matching request counts, even if an older fault hits it.
                if fault.skip:
                    fault.skip -= 1
                elif chosen is None:
                    chosen = fault
            if chosen is not None and chosen.times is not None:
                chosen.times -= 1
                if chosen.times <= 0:
                    self._drop(chosen)
        if chosen is not None:
            chosen.strike()
        return chosen

    def _drop(self, fault: Fault) -> None:
        if fault in self._pending:
            self._pending.remove(fault)
        self.holding = tuple(holding for holding in self.holding if holding is not fault)

    def _add(self, fault: Fault) -> Fault:
        check_where(fault.where, fault.times)
        fault.where, fault.skip = take_skip(fault.where)
        check_served(self._catalog, fault.where)
        check_type("after", fault.after, int, "a whole number")
        check_flag("received", fault.counts_received)
        if fault.after < 0:
            raise ValueError(f"a fault comes after 0 or more events or bytes, not after {fault.after}")
        fault.owner = self
        with self._lock:
            self._pending.append(fault)
            self._added.append(fault)
            if fault.effect in HOLDING_EFFECTS:
                self.holding = (*self.holding, fault)
        return fault
