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
"""

from __future__ import annotations

import asyncio
import math
import random
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from masthead.client.conditions import Condition
from masthead.client.event import EventType
from masthead.errors import DeadlineError, ExpiredError, InvalidValueError, NameFormatError
from masthead.meta import names
from masthead.meta.object import Object
from masthead.sansio.backoff import Backoff

if TYPE_CHECKING:
    from masthead.client.reading import Reading

__all__ = ["wait_for"]

T = TypeVar("T", bound=Object)


async def wait_for(resource: Reading[T], name: str, condition: Condition[T], *, timeout: float) -> T | None:
    """Wait until a condition is true of an object, which need not be there yet.

    What a condition raises comes out as it is. A change that cannot be read is passed over.

    Args:
        resource: Where the object is.
        name: Which one.
        condition: What to wait for.
        timeout: For how many seconds; ``math.inf`` for ever.

    Returns:
        The object of which it is true; None if it is true that there is none.

    Raises:
        DeadlineError: if it does not come true in time.
        NameFormatError: if the name cannot be one.
        InvalidValueError: if objects of several namespaces have the name, or the condition is none.
        MastheadError: as a list or a watch does.
    """
    if not name:
        raise NameFormatError("say the name of the object to wait for", value=name)
    names.check_path_segment_name(name)
    if not isinstance(cast("object", condition), Condition):
        raise InvalidValueError(
            "condition is no Condition; make one: conditions.matches(function, 'what it says')"
        )
    wait = _Wait(resource, name, condition)
    limit = asyncio.timeout(None if timeout == math.inf else timeout)
    try:
        async with limit:
            return await wait.until_true()
    except TimeoutError:
        if not limit.expired():  # a call that took too long for itself
            raise
        raise DeadlineError(wait.message(timeout), verb="GET") from None


class _Wait(Generic[T]):
    """One wait, and what it has seen last."""

    def __init__(self, resource: Reading[T], name: str, condition: Condition[T]) -> None:
        self._resource = resource
        self._name = name
        self._selector = {"metadata.name": name}
        self._condition = condition
        self._kind = ""
        self._has_seen = False
        self._was_told = False
        self._last: T | None = None

    async def until_true(self) -> T | None:
        backoff = Backoff()
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
                    await asyncio.sleep(backoff.next(asyncio.get_running_loop().time(), random.random))

    def message(self, seconds: float) -> str:
        """Say what was waited for in vain, and how things are."""
        namespace = f"{self._resource.namespace}/" if self._resource.namespace else ""
        state = self._condition.says(self._last) if self._has_seen else "the server has not answered"
        return (
            f"{self._kind or 'object'} {namespace}{self._name}: waited {seconds:g} s until "
            f"{self._condition.description}; now: {state}. Wait longer, or look at the object's status and events."
        )

    async def _list(self) -> str:
        """See what there is; returns the version from which changes follow."""
        # The time of the whole wait is the limit, not that of one call.
        listed = await self._resource.list(field_selector=self._selector, timeout=math.inf)
        self._kind = listed.kind.removesuffix("List")
        found = [item for item in listed.items if item.metadata.name == self._name]
        if len(found) > 1:
            self._refuse_several(found[0], found[1])
        self._last, self._has_seen = (found[0] if found else None), True
        return listed.metadata.resource_version

    async def _watch(self, version: str) -> bool:
        """Follow the changes; returns whether the condition came true before the watch ended."""
        self._was_told = False
        async with self._resource.watch(since=version, field_selector=self._selector) as events:
            async for event in events:
                if (
                    event.type in {EventType.BOOKMARK, EventType.BROKEN}
                    or event.object.metadata.name != self._name
                ):
                    continue
                if self._last is not None and self._last.key != event.object.key:
                    self._refuse_several(self._last, event.object)
                self._was_told = True
                self._last = None if event.type is EventType.DELETED else event.object
                if self._condition(self._last):
                    return True
        return False

    def _refuse_several(self, one: T, other: T) -> None:
        raise InvalidValueError(
            f"wait for {self._kind} {self._name}: there are {one.key} and {other.key}; say which namespace",
            value=self._name,
        )
