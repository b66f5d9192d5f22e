"""Faults on demand: what goes wrong with a cluster, made to go wrong at a chosen moment.

::

    server.faults.answer(503, verb="list", resource="pods")        # the next list of pods fails
    server.faults.drop_watch(after=3, resource="pods")             # the next watch ends after three events
    server.faults.conflict(verb="update", times=2)                 # two updates meet a conflict

Each call adds a `Fault` and returns it: `Fault.hits` tells how often it struck, `Fault.remove` takes it away. Filters
that are left out match everything. A fault strikes ``times`` requests, once by default, and None means all of them.
All of this may be called from any thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from masthead.server.failures import MODIFIED, Failure, conflict

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Call", "Effect", "Fault", "Faults"]

_WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Effect(Enum):
    """What a fault does."""

    ANSWER = "answer"
    DROP = "drop"
    CUT = "cut"
    SILENCE = "silence"
    HOLD_BOOKMARKS = "hold bookmarks"
    REPEAT_BOOKMARKS = "repeat bookmarks"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Call:
    """What a request is about, as faults and the record of requests see it.

    Attributes:
        verb: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``, ``deletecollection``; for
            what is no resource, the method in small letters.
        group: The resource's group.
        resource: Its plural; empty for what is no resource.
        namespace: The path's.
        name: The path's.
        subresource: The path's.
    """

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(eq=False, slots=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        effect: What it does.
        times: How many requests it strikes yet; None for all.
        after: For streams: after how many events.
        amount: How stale, or how often.
        failure: What it answers.
        filters: What a request must be like.
        hits: How many requests it struck.
        home: Where it waits.
    """

    effect: Effect
    times: int | None = 1
    after: int = 0
    amount: int = 0
    failure: Failure | None = None
    filters: dict[str, str] = field(default_factory=dict[str, str])
    hits: int = 0
    home: Faults | None = None

    def matches(self, call: Call) -> bool:
        """Tell whether a request is one that this fault is meant for."""
        if self.effect is Effect.ANSWER and self.filters.get("verb") == "write":
            if call.verb not in _WRITES:
                return False
            others = {name: wanted for name, wanted in self.filters.items() if name != "verb"}
            return all(getattr(call, name) == wanted for name, wanted in others.items())
        return all(getattr(call, name) == wanted for name, wanted in self.filters.items())

    def remove(self) -> None:
        """Let it not strike any more."""
        if self.home is not None:
            self.home.discard(self)


class Faults:
    """The faults that are waiting."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []

    def answer(  # noqa: PLR0913 - each is a filter that a test may want
        self,
        code: int,
        *,
        reason: str | None = None,
        message: str = "",
        retry_after: int | None = None,
        times: int | None = 1,
        verb: str | None = None,
        resource: str | None = None,
        namespace: str | None = None,
        name: str | None = None,
    ) -> Fault:
        """Answer a request with a failure instead of doing it.

        Args:
            code: HTTP's status, such as 429 or 503.
            reason: The Status' reason; what goes with the code by default.
            message: The Status' message.
            retry_after: Seconds for the Retry-After header.
            times: How many requests; None for all.
            verb: Only this verb; ``write`` stands for all that change something.
            resource: Only this resource.
            namespace: Only in this namespace.
            name: Only the object of this name.
        """
        failure = Failure(
            code,
            _REASONS.get(code, "") if reason is None else reason,
            message or "a fault that was asked for",
            details={"retryAfterSeconds": retry_after} if retry_after is not None else None,
            retry_after=retry_after,
        )
        return self._add(Fault(Effect.ANSWER, times, failure=failure), verb, resource, namespace, name)

    def expire(self, *, verb: str = "watch", resource: str | None = None, times: int | None = 1) -> Fault:
        """Answer 410: the version that is asked for is said to be forgotten.

        A watch gets it as kube-apiserver sends it, as an event within a stream that began well.
        """
        message = "too old resource version: a fault that was asked for"
        return self.answer(410, message=message, verb=verb, resource=resource, times=times)

    def too_large_version(
        self, *, verb: str | None = None, resource: str | None = None, times: int | None = 1
    ) -> Fault:
        """Answer 504, as a server does that has not seen the version yet."""
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        fault = self.answer(
            504,
            message="Too large resource version",
            verb=verb,
            resource=resource,
            times=times,
            retry_after=1,
        )
        if fault.failure is not None and fault.failure.details is not None:
            fault.failure.details["causes"] = [cause]
        return fault

    def conflict(
        self,
        *,
        verb: str = "write",
        resource: str | None = None,
        name: str | None = None,
        times: int | None = 1,
    ) -> Fault:
        """Answer a write with a conflict, as if somebody else had been faster."""
        fault = self.answer(409, verb=verb, resource=resource, name=name, times=times)
        fault.failure = conflict("", resource or "objects", name or "", MODIFIED)
        return fault

    def drop_watch(self, *, after: int = 0, resource: str | None = None, times: int | None = 1) -> Fault:
        """Break a watch's connection after so many events."""
        return self._add(Fault(Effect.DROP, times, after), "watch", resource)

    def cut_watch(self, *, after: int = 0, resource: str | None = None, times: int | None = 1) -> Fault:
        """Break a watch's connection in the middle of the line that follows so many events."""
        return self._add(Fault(Effect.CUT, times, after), "watch", resource)

    def silence_watch(self, *, after: int = 0, resource: str | None = None, times: int | None = 1) -> Fault:
        """Let a watch fall silent after so many events, its connection open and nothing sent."""
        return self._add(Fault(Effect.SILENCE, times, after), "watch", resource)

    def hold_bookmarks(self, *, resource: str | None = None, times: int | None = None) -> Fault:
        """Let watches do without bookmarks until this is removed; the next one that falls due is sent again."""
        return self._add(Fault(Effect.HOLD_BOOKMARKS, times), "watch", resource)

    def repeat_bookmarks(
        self, count: int = 2, *, resource: str | None = None, times: int | None = None
    ) -> Fault:
        """Send each bookmark so many times."""
        return self._add(Fault(Effect.REPEAT_BOOKMARKS, times, amount=count), "watch", resource)

    def stale_lists(self, by: int = 1, *, resource: str | None = None, times: int | None = None) -> Fault:
        """Answer lists that accept any version with what was so many revisions ago, as a lagging cache would."""
        return self._add(Fault(Effect.STALE, times, amount=by), "list", resource)

    def clear(self) -> None:
        """Forget all of them."""
        self._waiting.clear()

    def discard(self, fault: Fault) -> None:
        """Forget one."""
        if fault in self._waiting:
            self._waiting.remove(fault)

    def __iter__(self) -> Iterator[Fault]:
        return iter(tuple(self._waiting))

    def strike(self, call: Call, *effects: Effect) -> Fault | None:
        """The first fault that is meant for a request, counted as having struck."""
        for fault in tuple(self._waiting):
            if fault.effect in effects and fault.matches(call):
                fault.hits += 1
                if fault.times is not None:
                    fault.times -= 1
                    if not fault.times:
                        self.discard(fault)
                return fault
        return None

    def _add(
        self,
        fault: Fault,
        verb: str | None = None,
        resource: str | None = None,
        namespace: str | None = None,
        name: str | None = None,
    ) -> Fault:
        wanted = {"verb": verb, "resource": resource, "namespace": namespace, "name": name}
        fault.filters = {key: value for key, value in wanted.items() if value is not None}
        fault.home = self
        self._waiting.append(fault)
        return fault
