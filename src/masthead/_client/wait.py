"""Waiting until something is true of an object.

::

    list ──true──> done
     │ ^
     │ └──the version is forgotten (410)──┐
     v                                    │
    watch ──event──> true? ──yes──> done  │
     │  ^              │ no               │
     │  └──────────────┘                  │
     └────────────────────────────────────┘

What fails for the moment (429, 5xx, no answer) is tried again: a list here, a stream by the watch itself.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from masthead._client.conditions import WaitCondition
from masthead._meta import names
from masthead._meta.object import Object
from masthead._sansio.backoff import Backoff
from masthead._sansio.retry import LONGEST_WAIT
from masthead.errors import (
    DeadlineError,
    ExpiredError,
    InvalidValueError,
    NameFormatError,
    StatusError,
    TransportError,
)

if TYPE_CHECKING:
    from masthead._client.read_verbs import ReadVerbs

__all__ = ["wait_for"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.client")
_PASSING: Final = frozenset({408, 429, *range(500, 600)} - {501})
"""Answers that speak of the moment, and not of the request."""


async def wait_for(
    resource: ReadVerbs[T], name: str, condition: WaitCondition[T], *, timeout: float
) -> T | None:
    """Wait until a condition is true of an object, which need not be there yet.

    What a condition raises comes out as it is. A change that cannot be read is passed over. A server that cannot be
    reached, or is not ready, is asked again until the time is up; what it refuses ends the wait at once.

    Args:
        resource: Where the object is.
        name: Which one.
        condition: What to wait for.
        timeout: For how many seconds; ``math.inf`` for ever. With 0, the object is looked at once.

    Returns:
        The object of which it is true; None if it is true that there is none.

    Raises:
        DeadlineError: if it does not come true in time.
        NameFormatError: if the name cannot be one.
        InvalidValueError: if objects of several namespaces have the name, or the condition or the timeout is not one.
        MastheadError: as a list or a watch does, where that will not pass.
    """
    if not name:
        raise NameFormatError("say the name of the object to wait for", value=name)
    names.check_path_segment_name(name)
    if not isinstance(cast("object", condition), WaitCondition):
        raise InvalidValueError(
            f"condition is of type {type(condition).__name__}; give one such as conditions.exists(), "
            "or make one: conditions.matches(function, 'what it says')"
        )
    if not isinstance(cast("object", timeout), int | float):
        raise InvalidValueError(f"timeout is {timeout!r}; give seconds, such as 30.0", value=timeout)
    wait = _Wait(resource, name, condition)
    if timeout <= 0:
        return await wait.at_once()
    limit = asyncio.timeout(None if timeout == math.inf else timeout)
    try:
        async with limit:
            return await wait.until_true()
    except TimeoutError:
        if not limit.expired():  # a call that took too long for itself
            raise
        raise wait.in_vain(timeout) from None


class _Wait(Generic[T]):
    """One wait, and what it has seen last."""

    def __init__(self, resource: ReadVerbs[T], name: str, condition: WaitCondition[T]) -> None:
        self._resource = resource
        self._name = name
        self._selector = {"metadata.name": name}
        self._condition = condition
        self._kind = ""
        self._backoff = Backoff(first=0.1, cap=10.0)
        self._has_seen = False
        self._was_told = False
        self._trouble: Exception | None = None
        self._last: T | None = None

    async def at_once(self) -> T | None:
        await self._look(timeout=None)
        if self._condition(self._last):
            return self._last
        raise self.in_vain(0)

    async def until_true(self) -> T | None:
        while True:
            version = await self._list()
            if self._condition(self._last):
                return self._last
            try:
                if await self._watch(version):
                    return self._last
            except ExpiredError:
                # A server that forgets at once, before it has told anything, must not be asked without pause.
                if not self._was_told:
                    await asyncio.sleep(self._delay())

    def in_vain(self, seconds: float) -> DeadlineError:
        """Say what was waited for, and how things are."""
        state = self._condition.says(self._last) if self._has_seen else "the server has not answered"
        trouble = f" (the last attempt failed: {str(self._trouble).rstrip('.')})" if self._trouble else ""
        return DeadlineError(
            f"{self._subject}: waited {seconds:g} s until {self._condition.description}; now: {state}{trouble}. "
            f"Wait longer, or {self._advice()}.",
            verb="GET",
        )

    def _advice(self) -> str:
        """What to do beside waiting longer."""
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
        return self._backoff.next(asyncio.get_running_loop().time(), random.random)

    async def _list(self) -> str:
        """See what there is, as soon as that can be seen; returns the version from which changes follow."""
        while True:
            try:
                # The time of the whole wait is the limit, not that of one call.
                return await self._look(timeout=math.inf)
            except (StatusError, TransportError) as error:
                if isinstance(error, StatusError) and error.code not in _PASSING:
                    raise
                self._trouble = error
            asked = self._trouble.retry_after if isinstance(self._trouble, StatusError) else None
            delay = max(self._delay(), min(asked or 0.0, LONGEST_WAIT))
            _log.warning("wait for %s: asks again in %.1f s after %s", self._subject, delay, self._trouble)
            await asyncio.sleep(delay)

    async def _look(self, *, timeout: float | None) -> str:
        """See what there is; returns the version from which changes follow."""
        listed = await self._resource.list(field_selector=self._selector, timeout=timeout)
        self._kind = listed.kind.removesuffix("List")
        found = [item for item in listed.items if item.metadata.name == self._name]
        if len(found) > 1:
            self._refuse_several(found[0], found[1])
        self._last, self._has_seen, self._trouble = (found[0] if found else None), True, None
        return listed.metadata.resource_version

    async def _watch(self, version: str) -> bool:
        """Follow the changes; returns whether the condition came true before the watch ended."""
        self._was_told = False
        async with self._resource.watch(since=version, field_selector=self._selector) as events:
            async for event in events:
                if event.type in {"BOOKMARK", "BROKEN"} or event.object.metadata.name != self._name:
                    continue
                if self._last is not None and self._last.key != event.object.key:
                    self._refuse_several(self._last, event.object)
                self._was_told = True
                self._backoff.reset()
                self._last = None if event.type == "DELETED" else event.object
                if self._condition(self._last):
                    return True
        return False

    def _refuse_several(self, one: T, other: T) -> None:
        raise InvalidValueError(
            f"wait for {self._kind} {self._name}: there are {one.key} and {other.key}; say which namespace",
            value=self._name,
        )
