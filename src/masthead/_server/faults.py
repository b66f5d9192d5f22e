"""Faults on demand: what goes wrong with a cluster, made to go wrong at a chosen moment.

::

    server.faults.fail(503, verb="list", resource="pods")          # the next list of pods fails
    server.faults.conflict(resource="deployments", times=2)          # two changes of deployments meet a conflict
    server.faults.drop_watch(after=3, resource="pods")               # the next watch of pods breaks after three events
    late = server.faults.hold_bookmarks(resource="pods")             # no bookmarks for now ...
    late.remove()                                                    # ... and here they come
    print(late.hits)                                                 # how often it struck

Each call adds a `Fault` and returns it: `Fault.hits` tells how often it struck, `Fault.remove` takes it away. A fault
strikes the next ``times`` requests that fit, and None means all of them; where several fit, the oldest strikes. What
fits is said by the filters of `RequestFilter`; those that are left out match everything. All of this may be called from any
thread, before a request or in the middle of a watch; a watch meets the faults of streams when it begins.
"""

from __future__ import annotations

import difflib
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, TypedDict, cast

from masthead._meta.gvk import GroupVersionResource
from masthead._server.fault_responses import (
    FaultResponder,
    conflict_response,
    expired_response,
    object_name,
    status_responder,
    throttle_responder,
    too_large,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Unpack

    from masthead._server.resources.catalog import Catalog
    from masthead._server.wire.request_info import RequestInfo

__all__ = ["Effect", "Fault", "Faults", "RequestFilter"]

_CHANGES: Final = ("update", "patch")
_READS: Final = ("get", "list", "watch")
_WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
_GROUPS_OF_VERBS: Final = {"read": _READS, "write": _WRITES}
_VERBS: Final = frozenset({*_READS, *_WRITES, *_GROUPS_OF_VERBS})
_METHODS: Final = frozenset({"get", "head", "post", "put", "patch", "delete", "options"})
"""The verbs of what is no resource."""
_OF_MANY: Final = frozenset({"list", "deletecollection"})
"""The verbs of requests that name no object."""
_FAILURES: Final = range(400, 600)


class Effect(Enum):
    """What a fault does."""

    REFUSE = "refuse"
    DROP = "drop"
    CUT = "cut"
    SILENCE = "silence"
    EXPIRE = "expire"
    HOLD_BOOKMARKS = "hold bookmarks"
    REPEAT_BOOKMARKS = "repeat bookmarks"
    STALE = "stale"


class RequestFilter(TypedDict, total=False):
    """Which requests a fault is meant for.

    Attributes:
        verb: Only this verb, or these; ``read`` and ``write`` stand for all of their kind.
        group: Only resources of this group; empty for the core group, and for what is no resource.
        resource: Only this resource, by its plural; its subresources count too. Empty for what is no resource.
        subresource: Only this subresource; empty for the resource itself.
        namespace: Only what the path puts into this namespace.
        name: Only the object that the path names so; of a create, the one that the body does, in JSON or protobuf.
            Empty for requests whose path names none.
    """

    verb: str | Collection[str]
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str


@dataclass(eq=False, slots=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        effect: What it does.
        where: What a request must be like.
        times: How many requests it strikes yet; None for all.
        hits: How many requests it struck.
        after: For streams: after how many events.
        amount: How stale, or how often.
        refuse: What it answers.
        is_in_stream: Whether a watch gets that answer as an event.
        home: Where it waits.
    """

    effect: Effect
    where: RequestFilter
    times: int | None = 1
    hits: int = 0
    after: int = 0
    amount: int = 0
    refuse: FaultResponder | None = field(default=None, repr=False)
    is_in_stream: bool = False
    home: Faults | None = field(default=None, repr=False)

    def matches(self, info: RequestInfo, body: bytes = b"") -> bool:
        """Tell whether a request is one that this fault is meant for."""
        for name, wanted in self.where.items():
            found: str = getattr(info, name)
            if name == "verb":
                is_met = found in _meant(wanted)
            elif name == "name" and wanted and not found and info.verb == "create":
                is_met = object_name(body) == wanted
            else:
                is_met = found == wanted
            if not is_met:
                return False
        return True

    def remove(self) -> None:
        """Let it not strike any more; what it held back goes on."""
        if self.home is not None:
            self.home.discard(self)


class Faults:
    """The faults that are waiting.

    What adds one raises ValueError if it could never strike, or makes no sense; and TypeError for an unknown filter.

    Args:
        catalog: The resources that faults may name.
        on_removed: Called when one was taken away, in the thread that did it.
    """

    def __init__(self, catalog: Catalog, on_removed: Callable[[], object] = lambda: None) -> None:
        self._catalog = catalog
        self._waiting: list[Fault] = []
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
        """Answer a request with a failure instead of doing it.

        Args:
            code: HTTP's status, such as 500 or 503; from 400 to 599.
            reason: The Status' reason; what goes with the code by default.
            message: The Status' message; what goes with the code by default.
            retry_after: Seconds for the Retry-After header, and for the Status' details.
            times: How many requests; None for all.
            where: Which requests.
        """
        if code not in _FAILURES:
            raise ValueError(f"a failure's code is between 400 and 599, not {code}")
        return self._add(
            Effect.REFUSE,
            where,
            times,
            refuse=status_responder(code, reason, message, retry_after=retry_after),
        )

    def throttle(
        self, *, retry_after: int = 1, times: int | None = 1, **where: Unpack[RequestFilter]
    ) -> Fault:
        """Answer 429 with a Retry-After header and a line of text, as a server does that has too much to do.

        (Nothing on the way there makes a Status of it. For a 429 that is one, say ``fail(429, retry_after=...)``.)
        """
        return self._add(Effect.REFUSE, where, times, refuse=throttle_responder(retry_after))

    def conflict(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Answer a write as if somebody else had been faster: updates and patches, unless ``verb`` says otherwise.

        A change meets "the object has been modified", and a create, if it is asked for, "already exists".
        """
        return self._add(Effect.REFUSE, {"verb": _CHANGES, **where}, times, refuse=conflict_response)

    def too_large_version(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Answer a read with 504, as a server does that has not seen the version yet; a watch gets it as an event."""
        return self._add(Effect.REFUSE, {"verb": "read", **where}, times, refuse=too_large, is_in_stream=True)

    def expire(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Answer a list with 410: its version, or its continue token, is said to be forgotten."""
        return self._add(Effect.REFUSE, {"verb": "list", **where}, times, refuse=expired_response)

    def expire_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """End a watch with 410 after so many events, by an event within the stream, as kube-apiserver does."""
        return self._add(Effect.EXPIRE, _only("watch", where), times, after=after)

    def drop_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Break a watch's connection after so many events, bookmarks among them."""
        return self._add(Effect.DROP, _only("watch", where), times, after=after)

    def cut_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Break a watch's connection in the middle of the line that follows so many events."""
        return self._add(Effect.CUT, _only("watch", where), times, after=after)

    def silence_watch(
        self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]
    ) -> Fault:
        """Let a watch fall silent after so many events: its connection stays open, and nothing is sent any more.

        It does not end when its time is up either, as if what lies between had died; it ends with the server.
        """
        return self._add(Effect.SILENCE, _only("watch", where), times, after=after)

    def hold_bookmarks(self, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Hold back the bookmarks that fall due, the one that ends a watch-list among them.

        When the fault is removed, each watch sends one for all that it held. ``times`` counts bookmarks.
        """
        return self._add(Effect.HOLD_BOOKMARKS, _only("watch", where), times)

    def repeat_bookmarks(
        self, count: int = 2, *, times: int | None = None, **where: Unpack[RequestFilter]
    ) -> Fault:
        """Send each bookmark so many times. ``times`` counts bookmarks."""
        if count < 1:
            raise ValueError(f"a bookmark is sent at least once, not {count} times; or say hold_bookmarks()")
        return self._add(Effect.REPEAT_BOOKMARKS, _only("watch", where), times, amount=count)

    def stale_lists(self, by: int = 1, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Answer lists that take any version with what was so many revisions ago, as a lagging cache would.

        A list that wants the newest, which it does by naming no version, gets it; one that names a version gets
        nothing older than that.
        """
        if by < 1:
            raise ValueError(f"a stale list is at least one revision behind, not {by}")
        return self._add(Effect.STALE, _only("list", where), times, amount=by)

    def clear(self) -> None:
        """Take all of them away."""
        with self._lock:
            self._waiting.clear()
        self._on_removed()

    def discard(self, fault: Fault) -> None:
        """Take one away; harmless if it is not there."""
        with self._lock:
            if fault in self._waiting:
                self._waiting.remove(fault)
        self._on_removed()

    def __iter__(self) -> Iterator[Fault]:
        with self._lock:
            return iter(tuple(self._waiting))

    def has_pending(self, info: RequestInfo, effect: Effect) -> bool:
        """Tell whether a fault waits for such a request, without letting it strike."""
        return any(fault.effect is effect and fault.matches(info) for fault in self)

    def trigger(self, info: RequestInfo, *effects: Effect, body: bytes = b"") -> Fault | None:
        """The oldest fault that is meant for a request, counted as having struck; the body may tell its name."""
        with self._lock:
            for fault in self._waiting:
                if fault.effect in effects and fault.matches(info, body):
                    fault.hits += 1
                    if fault.times is not None:
                        fault.times -= 1
                        if fault.times <= 0:
                            self._waiting.remove(fault)
                    return fault
        return None

    def _add(
        self,
        effect: Effect,
        where: RequestFilter,
        times: int | None,
        *,
        after: int = 0,
        amount: int = 0,
        refuse: FaultResponder | None = None,
        is_in_stream: bool = False,
    ) -> Fault:
        _check(where, times)
        _check_served(self._catalog, where)
        if after < 0:
            raise ValueError(f"a fault comes after some events, or after none, not after {after}")
        fault = Fault(
            effect,
            where,
            times,
            after=after,
            amount=amount,
            refuse=refuse,
            is_in_stream=is_in_stream,
            home=self,
        )
        with self._lock:
            self._waiting.append(fault)
        return fault


def _meant(verb: object) -> Collection[str]:
    """The verbs that a filter stands for."""
    if isinstance(verb, str):
        return _GROUPS_OF_VERBS.get(verb, (verb,))
    return [each for one in cast("Collection[str]", verb) for each in _meant(one)]


def _only(verb: str, where: RequestFilter) -> RequestFilter:
    """Add the one verb that a fault is about."""
    if "verb" in where:
        raise ValueError(f"this fault is about the verb {verb} alone, and takes no other")
    return {**where, "verb": verb}


def _check(where: RequestFilter, times: int | None) -> None:
    """Refuse what could never strike, so that a slip in a test is found where it is made."""
    if unknown := sorted(where.keys() - RequestFilter.__annotations__.keys()):
        raise TypeError(
            f"a fault knows no filter {unknown[0]!r}; it knows {', '.join(RequestFilter.__annotations__)}"
        )
    if times is not None and times < 1:
        raise ValueError(f"a fault strikes at least once, not {times} times")
    verbs = _meant(where.get("verb", ()))
    for verb in verbs:
        if verb not in _VERBS | _METHODS:
            raise ValueError(f"there is no verb {verb!r}; there are {', '.join(sorted(_VERBS))}")
    if (name := where.get("name")) and verbs and _OF_MANY.issuperset(verbs):
        raise ValueError(f"a {' or '.join(verbs)} names no object, so that none named {name!r} fits")


def _check_served(catalog: Catalog, where: RequestFilter) -> None:
    groups = catalog.groups()
    if (group := where.get("group", "")) not in groups:
        raise ValueError(f"there is no group {group!r}{_nearest(group, groups)}")
    if not (resource := where.get("resource", "")):
        return
    searched = (group,) if "group" in where else groups
    if any(
        catalog.find(GroupVersionResource(each, version, resource))
        for each in searched
        for version in catalog.versions(each)
    ):
        return
    known = {
        served.name
        for each in searched
        for version in catalog.versions(each)
        for served in catalog.resources(each, version)
    }
    place = f" in the group {group!r}" if "group" in where else ""
    plural, _, part = resource.partition("/")
    if part and plural in known:
        hint = f"; say resource={plural!r}, subresource={part!r}"
    else:
        hint = _nearest(resource, known)
    raise ValueError(f"there is no resource {resource!r}{place}{hint}")


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name.lower(), sorted(known), n=1)
    return f"; the nearest is {near[0]!r}" if near else ""
