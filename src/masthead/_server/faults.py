"""Fault injection: failures of a cluster, at a chosen moment.

::

    server.faults.fail(503, verb="list", resource="pods")    # the next list of pods fails
    server.faults.conflict(resource="deployments", times=2)  # two updates of deployments get a conflict
    server.faults.drop_watch(after=3, resource="pods")       # a watch of pods breaks after three events
    late = server.faults.hold_bookmarks(resource="pods")     # no bookmarks for now ...
    late.remove()                                            # ... and now they are sent
    print(late.hits)                                         # how many requests it hit

Each call adds a `Fault` and returns it: `Fault.hits` counts the requests that it hit, and `Fault.remove`
removes it. A fault hits the next ``times`` requests that match its filters, or all of them if that is None;
where several match, the oldest hits. See `RequestFilter` for the filters; those that are left out match
everything. All methods are thread-safe, and may be called before a request or in the middle of a watch; a
watch gets the faults of streams when it begins.
"""

from __future__ import annotations

import difflib
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, TypedDict, cast

from masthead._meta.gvk import GroupVersionResource
from masthead._module import set_module
from masthead._server.fault_responses import (
    FaultResponder,
    conflict_response,
    expired_response,
    object_name,
    status_responder,
    throttle_responder,
    version_too_large_response,
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
"""The verbs of requests that name no resource."""
_OF_MANY: Final = frozenset({"list", "deletecollection"})
"""The verbs of requests that name no object."""
_FAILURES: Final = range(400, 600)


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


@set_module("masthead.server")
class RequestFilter(TypedDict, total=False):
    """The requests that a fault hits.

    Attributes:
        verb: Only this verb, or these; ``read`` and ``write`` stand for all of their kind.
        group: Only resources of this group; empty for the core group, and for paths that name no resource.
        resource: Only this resource, by its plural; its subresources included. Empty for paths that
            name no resource.
        subresource: Only this subresource; empty for the resource itself.
        namespace: Only paths in this namespace.
        name: Only the object of this name in the path; for a create, in the body, in JSON or protobuf. Empty
            for paths without a name.
    """

    verb: str | Collection[str]
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str


@set_module("masthead.server")
@dataclass(eq=False, slots=True)
class Fault:
    """One fault.

    Attributes:
        effect: What it does.
        where: The requests that it hits.
        times: How many more requests it hits; None for all.
        hits: How many requests it hit.
        after: For watches: after how many events.
        amount: How many revisions a list is behind, or how often a bookmark is sent.
        seconds: How long a request waits.
        respond: Makes its response.
        is_in_stream: Whether a watch gets that response as an event.
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
    owner: Faults | None = field(default=None, repr=False)

    def matches(self, info: RequestInfo, body: bytes = b"") -> bool:
        """Tell whether a request matches the filters."""
        for name, wanted in self.where.items():
            found: str = getattr(info, name)
            if name == "verb":
                is_met = found in _expand_verbs(wanted)
            elif name == "name" and wanted and not found and info.verb == "create":
                # The path of a create has no name; only its body may have one.
                is_met = object_name(body) == wanted
            else:
                is_met = found == wanted
            if not is_met:
                return False
        return True

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
            Effect.REFUSE,
            where,
            times,
            respond=status_responder(code, reason, message, retry_after=retry_after),
        )

    def throttle(
        self, *, retry_after: int = 1, times: int | None = 1, **where: Unpack[RequestFilter]
    ) -> Fault:
        """Respond with 429, Retry-After and a line of text, as kube-apiserver's in-flight limit does.

        (That is no Status. For a 429 that is one, use ``fail(429, retry_after=...)``.)
        """
        return self._add(Effect.REFUSE, where, times, respond=throttle_responder(retry_after))

    def conflict(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Fail writes as if another client had written first; updates and patches by default.

        An update gets "the object has been modified", and a create, if ``verb`` includes it, "already
        exists".
        """
        return self._add(Effect.REFUSE, {"verb": _CHANGES, **where}, times, respond=conflict_response)

    def delay(self, seconds: float, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Handle requests only after so many seconds of the server's clock, as one that is overloaded.

        Other faults hit the request then. If the client goes away meanwhile, its request has no effect.
        """
        if not 0 < seconds < float("inf"):
            raise ValueError(f"a delay is a number of seconds, more than 0, not {seconds}")
        return self._add(Effect.DELAY, where, times, seconds=seconds)

    def lose_response(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Handle requests, and break the connection in place of the response; writes by default.

        The client cannot know whether its write was done. It was, unless the server refuses it.
        """
        filters: RequestFilter = where if "verb" in where else {"verb": "write", **where}
        return self._add(Effect.LOSE, filters, times)

    def too_large_version(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Fail reads with 504, as for a version that does not exist yet; a watch gets it as an event."""
        return self._add(
            Effect.REFUSE,
            {"verb": "read", **where},
            times,
            respond=version_too_large_response,
            is_in_stream=True,
        )

    def expire(self, *, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Fail lists with 410: their version or continue token has expired."""
        return self._add(Effect.REFUSE, {"verb": "list", **where}, times, respond=expired_response)

    def expire_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """End a watch with 410 after so many events, by an error event in the stream."""
        return self._add(Effect.EXPIRE, _for_verb("watch", where), times, after=after)

    def drop_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Break a watch's connection after so many events, bookmarks among them."""
        return self._add(Effect.DROP, _for_verb("watch", where), times, after=after)

    def cut_watch(self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]) -> Fault:
        """Break a watch's connection in the middle of the line that follows so many events."""
        return self._add(Effect.CUT, _for_verb("watch", where), times, after=after)

    def silence_watch(
        self, *, after: int = 0, times: int | None = 1, **where: Unpack[RequestFilter]
    ) -> Fault:
        """Silence a watch after so many events: its connection stays open, and nothing is sent any more.

        It does not time out either, as if the network between had failed; it ends with the server.
        """
        return self._add(Effect.SILENCE, _for_verb("watch", where), times, after=after)

    def hold_bookmarks(self, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Hold back bookmarks, the one that ends the initial events among them.

        When the fault is removed, each watch sends one for all that it held. ``times`` counts bookmarks.
        """
        return self._add(Effect.HOLD_BOOKMARKS, _for_verb("watch", where), times)

    def repeat_bookmarks(
        self, count: int = 2, *, times: int | None = None, **where: Unpack[RequestFilter]
    ) -> Fault:
        """Send each bookmark so many times. ``times`` counts bookmarks."""
        if count < 1:
            raise ValueError(
                f"a bookmark is sent at least once, not {count} times; to hold it back, use hold_bookmarks()"
            )
        return self._add(Effect.REPEAT_BOOKMARKS, _for_verb("watch", where), times, amount=count)

    def stale_lists(self, by: int = 1, *, times: int | None = None, **where: Unpack[RequestFilter]) -> Fault:
        """Respond to lists of any version with the state of so many revisions ago, as a stale cache would.

        A list without a resourceVersion still gets the newest state, and one with a version nothing older
        than that.
        """
        if by < 1:
            raise ValueError(f"a stale list is at least one revision behind, not {by}")
        return self._add(Effect.STALE, _for_verb("list", where), times, amount=by)

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

    def _add(
        self,
        effect: Effect,
        where: RequestFilter,
        times: int | None,
        *,
        after: int = 0,
        amount: int = 0,
        seconds: float = 0.0,
        respond: FaultResponder | None = None,
        is_in_stream: bool = False,
    ) -> Fault:
        _check(where, times)
        _check_served(self._catalog, where)
        if after < 0:
            raise ValueError(f"a fault comes after 0 or more events, not after {after}")
        fault = Fault(
            effect,
            where,
            times,
            after=after,
            amount=amount,
            seconds=seconds,
            respond=respond,
            is_in_stream=is_in_stream,
            owner=self,
        )
        with self._lock:
            self._pending.append(fault)
        return fault


def _expand_verbs(verb: object) -> Collection[str]:
    """The verbs of a filter."""
    if isinstance(verb, str):
        return _GROUPS_OF_VERBS.get(verb, (verb,))
    return [each for one in cast("Collection[str]", verb) for each in _expand_verbs(one)]


def _for_verb(verb: str, where: RequestFilter) -> RequestFilter:
    """Add the one verb that a fault is for."""
    if "verb" in where:
        raise ValueError(f"this fault is for the verb {verb} alone")
    return {**where, "verb": verb}


def _check(where: RequestFilter, times: int | None) -> None:
    """Refuse a fault that could never hit a request, so that a mistake in a test shows at once."""
    if unknown := sorted(where.keys() - RequestFilter.__annotations__.keys()):
        raise TypeError(
            f"there is no filter {unknown[0]!r}; there are {', '.join(RequestFilter.__annotations__)}"
        )
    if times is not None and times < 1:
        raise ValueError(f"a fault hits at least one request, not {times}")
    verbs = _expand_verbs(where.get("verb", ()))
    for verb in verbs:
        if verb not in _VERBS | _METHODS:
            raise ValueError(f"there is no verb {verb!r}; there are {', '.join(sorted(_VERBS))}")
    if (name := where.get("name")) and verbs and _OF_MANY.issuperset(verbs):
        raise ValueError(f"a {' or '.join(verbs)} names no object, so that name={name!r} matches none")


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
    # RBAC writes subresources like this, so that it is a likely mistake.
    if part and plural in known:
        hint = f"; use resource={plural!r}, subresource={part!r}"
    else:
        hint = _nearest(resource, known)
    raise ValueError(f"there is no resource {resource!r}{place}{hint}")


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name.lower(), sorted(known), n=1)
    return f"; the nearest is {near[0]!r}" if near else ""
