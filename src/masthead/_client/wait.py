"""Wait until a condition holds for an object.

::

    list ──holds──> done
     │ ^
     │ └──the resource version expired (410)──┐
     v                                        │
    watch ──event──> holds? ──yes──> done     │
     │  ^              │ no                   │
     │  └──────────────┘                      │
     └────────────────────────────────────────┘

Transient failures (429, 5xx, no response) are retried: those of a list here, those of a stream by the watch
itself.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from masthead._client.conditions import WaitCondition
from masthead._errors.base import format_seconds
from masthead._meta import names
from masthead._meta.object import Object
from masthead._sansio.backoff import Backoff
from masthead._sansio.randomness import random
from masthead._sansio.retry import MAX_WAIT
from masthead.errors import (
    ArgumentError,
    DeadlineError,
    ExpiredError,
    MastheadError,
    NameFormatError,
    NotFoundError,
    StatusError,
    TransportError,
)

if TYPE_CHECKING:
    from masthead._client.read_verbs import ReadVerbs

__all__ = ["Wait", "check_wait", "wait_for"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.client")
_TRANSIENT: Final = frozenset({408, 429, *range(500, 600)} - {501})
"""Status codes of transient failures."""


async def wait_for(resource: ReadVerbs[T], name: str, condition: WaitCondition[T], *, timeout: float) -> T | None:
    """Wait until a condition holds for an object, which need not exist yet.

    Exceptions of the condition propagate unchanged. An event that cannot be decoded is skipped. A server that
    cannot be reached, or is not ready, is retried until the timeout; any other refusal ends the wait. An object
    whose kind is not served any more does not exist.

    Args:
        resource: The object's resource.
        name: The object's name.
        condition: What to wait for.
        timeout: Seconds to wait; ``math.inf`` for no limit. With 0, the object is checked once.

    Returns:
        The object for which the condition holds; None if it holds because the object does not exist.

    Raises:
        DeadlineError: If the condition does not hold in time.
        NameFormatError: If the name is invalid.
        ArgumentError: If objects of several namespaces have the name, or the condition or the timeout is
            invalid.
        MastheadError: As a list or a watch, for failures that are not transient.
    """
    if not name:
        raise NameFormatError("name the object to wait for", value=name)
    names.check_path_segment_name(name)
    check_wait(condition, timeout)
    wait = Wait(resource, name, condition)
    # A check without waiting still makes one request.
    if timeout <= 0:
        return await wait.check_once()
    limit = asyncio.timeout(None if timeout == math.inf else timeout)
    try:
        async with limit:
            return await wait.until_true()
    except TimeoutError:
        if not limit.expired():  # a TimeoutError of a call, not of this wait
            raise
        raise wait.timed_out(timeout) from None


def check_wait(condition: WaitCondition[T], timeout: float) -> None:
    """Check the arguments of a wait.

    Raises:
        ArgumentError: If the condition or the timeout is invalid.
    """
    if not isinstance(cast("object", condition), WaitCondition):
        raise ArgumentError(
            f"condition is of type {type(condition).__name__}; use one such as conditions.exists(), "
            "or create one: conditions.matches(function, 'its description')"
        )
    if not isinstance(cast("object", timeout), int | float):
        raise ArgumentError(f"timeout is {timeout!r}; it must be seconds, such as 30.0", value=timeout)


class Wait(Generic[T]):
    """One wait, and the last state it has seen."""

    def __init__(self, resource: ReadVerbs[T], name: str, condition: WaitCondition[T]) -> None:
        self._resource = resource
        self._name = name
        self._selector = {"metadata.name": name}
        self._condition = condition
        self._kind = ""
        self._backoff = Backoff(first=0.1, cap=10.0)
        self._has_seen = False
        self._has_event = False
        self._error: Exception | None = None
        self._last: T | None = None

    async def check_once(self) -> T | None:
        """Return the object if the condition holds now.

        Raises:
            DeadlineError: If it does not.
            MastheadError: As any list.
        """
        if await self.holds_now(timeout=None):
            return self._last
        raise self.timed_out(0)

    async def holds_now(self, *, timeout: float | None) -> bool:
        """Whether the condition holds for the current object.

        Raises:
            MastheadError: As any list.
        """
        await self._list_once(timeout=timeout)
        return self._condition(self._last)

    async def until_true(self) -> T | None:
        """Wait until the condition holds, and return the object.

        Raises:
            MastheadError: As a list or a watch, for failures that are not transient.
        """
        while True:
            version = await self._list()
            if self._condition(self._last):
                return self._last
            try:
                if await self._watch(version):
                    return self._last
            except NotFoundError:
                # The definition of the kind was deleted, and all of its objects with it.
                if not await self._is_gone_with_its_kind():
                    raise
                return None
            except ExpiredError:
                # Back off from a server whose versions expire before any event.
                if not self._has_event:
                    await asyncio.sleep(self._delay())

    def timed_out(self, seconds: float) -> DeadlineError:
        """The error, with the condition and the current state."""
        return DeadlineError(
            f"{self._subject}: waited {format_seconds(seconds)} s until {self._condition.description}; now: "
            f"{self.state}. Wait longer, or {self._advice()}.",
            verb="GET",
        )

    @property
    def last(self) -> T | None:
        """The last known object; None if it did not exist."""
        return self._last

    @property
    def state(self) -> str:
        """The current state of the object, as the condition describes it."""
        state = self._condition.says(self._last) if self._has_seen else "the server has not responded"
        failure = f" (the last attempt failed: {str(self._error).rstrip('.')})" if self._error else ""
        return f"{state}{failure}"

    def _advice(self) -> str:
        """What to do besides waiting longer."""
        if not self._has_seen:
            return "check that the server can be reached"
        if self._last is None:
            return "check name and namespace"
        return "look at the object's status and events"

    @property
    def _subject(self) -> str:
        namespace = f"{self._resource.namespace}/" if self._resource.namespace else ""
        return f"{self._kind or 'object'} {namespace}{self._name}"

    def _delay(self) -> float:
        return self._backoff.next(asyncio.get_running_loop().time(), random)

    async def _list(self) -> str:
        """List, with retries; returns the resource version to watch from."""
        while True:
            try:
                # The timeout of the whole wait applies, not that of one call.
                return await self._list_once(timeout=math.inf)
            except (StatusError, TransportError) as error:
                if isinstance(error, StatusError) and error.code not in _TRANSIENT:
                    raise
                self._error = error
            retry_after = self._error.retry_after if isinstance(self._error, StatusError) else None
            # The server may ask for more patience than our backoff has.
            delay = max(self._delay(), min(retry_after or 0.0, MAX_WAIT))
            _log.warning("wait for %s: retry in %.1f s after %s", self._subject, delay, self._error)
            await asyncio.sleep(delay)

    async def _list_once(self, *, timeout: float | None) -> str:
        """List; returns the resource version to watch from."""
        try:
            listed = await self._resource.list(field_selector=self._selector, timeout=timeout)
        except NotFoundError:
            if not await self._is_gone_with_its_kind():
                raise
            return ""
        self._kind = listed.kind.removesuffix("List")
        found = [item for item in listed.items if item.metadata.name == self._name]
        if len(found) > 1:
            self._refuse_several(found[0], found[1])
        self._last, self._has_seen, self._error = (found[0] if found else None), True, None
        return listed.metadata.resource_version

    async def _watch(self, version: str) -> bool:
        """Watch; returns whether the condition held before the watch ended."""
        self._has_event = False
        async with self._resource.watch(resource_version=version, field_selector=self._selector) as events:
            async for event in events:
                # Servers that ignore the field selector send other objects, too.
                if event.type in {"BOOKMARK", "BROKEN"} or event.object.metadata.name != self._name:
                    continue
                if self._last is not None and self._last.key != event.object.key:
                    self._refuse_several(self._last, event.object)
                self._has_event = True
                # The watch works, so the next failure is a first one.
                self._backoff.reset()
                self._last = None if event.type == "DELETED" else event.object
                if self._condition(self._last):
                    return True
        return False

    async def _is_gone_with_its_kind(self) -> bool:
        """Whether the kind is not served any more, and the condition holds without an object; notes that.

        A server that is no API server answers everything with 404, which must not pass for a deletion.
        """
        # A missing kind is an answer only to a condition that accepts a missing object.
        if not self._condition(None):
            return False
        rest = self._resource._context.rest  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        try:
            response = await rest.get("/version")
        except MastheadError:
            return False
        # A 404 may come from something else than an API server, such as a proxy.
        if b'"gitVersion"' not in response.body:
            return False
        self._last, self._has_seen, self._error = None, True, None
        return True

    def _refuse_several(self, one: T, other: T) -> None:
        raise ArgumentError(
            f"wait for {self._kind} {self._name}: there are {one.key} and {other.key}; name the namespace",
            value=self._name,
        )
