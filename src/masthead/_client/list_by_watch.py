"""Lists that arrive as the initial events of a watch.

::

    watch with initial events ──objects──> ... ──bookmark that ends them──> the list
        │
        └─ refused, or no such bookmark in time ──> a plain list, now and in later calls for this resource

One attempt is made: the caller waits for the list, so that retries are left to the plain list.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from masthead._client.listwatch import ListWatchOptions, failure_of
from masthead._meta.metadata import ListMeta
from masthead._meta.object import Object, ObjectList
from masthead._sansio.listwatch_steps import INITIAL_EVENTS_TIMEOUT
from masthead.errors import InconsistentListError, StatusError, TransportError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._client.listwatch import ListWatch
    from masthead._client.pagination import ListQuery
    from masthead._client.resource_target import ResourceTarget
    from masthead.errors import DecodeError

__all__ = ["check_consistency", "watch_list"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.client")


async def watch_list(
    source: ListWatch[T],
    query: ListQuery,
    list_all: Callable[[ListQuery, Callable[[DecodeError], None] | None], Awaitable[ObjectList[T]]],
    *,
    timeout: float,
    checks: bool,
    on_error: Callable[[DecodeError], None] | None = None,
) -> ObjectList[T]:
    """Read everything as the initial events of a watch, or else as a plain list.

    Args:
        source: What to watch.
        query: What to list.
        list_all: Reads everything as a plain list.
        timeout: Seconds for the watch.
        checks: Whether to compare the result with a plain list.
        on_error: Called with each object that cannot be decoded; without it, the first one raises.

    Raises:
        InconsistentListError: If the result is checked, and differs from a plain list.
        MastheadError: As a list does.
    """
    target = await source.target()
    if not source.supports_initial_events:
        return await list_all(query, on_error)
    is_unsupported = True
    try:
        async with asyncio.timeout(None if timeout == math.inf else timeout):
            found = await _read_initial_events(source, target, query.resource_version or "", on_error)
    except StatusError as error:
        if not failure_of(error).is_unknown_option:
            raise
    except TimeoutError:  # DeadlineError among them
        problem = "the end of the initial events does not arrive"
        _log.warning("%s: watch-list of %s: %s; listing instead", source.server, target.name, problem)
    except TransportError as error:
        _log.warning("%s: watch-list of %s: %s; listing instead", source.server, target.name, error)
        is_unsupported = False
    else:
        if found is not None:
            if checks:
                plain = replace(query, resource_version=found.metadata.resource_version, resource_version_match="Exact")
                listed = await list_all(plain, None)
                check_consistency(target.name, found.metadata.resource_version, versions_of(found), versions_of(listed))
            return found
    listed = await list_all(query, on_error)
    # Only now: the refusal may have been about something else, for which the list is refused as well.
    if is_unsupported:
        source.disable_initial_events()
    return listed


async def _read_initial_events(
    source: ListWatch[T],
    target: ResourceTarget[T],
    version: str,
    on_error: Callable[[DecodeError], None] | None,
) -> ObjectList[T] | None:
    """Collect the initial events of a watch; None if it ends before they do."""
    options = ListWatchOptions(
        resource_version=version,
        resource_version_match="NotOlderThan",
        send_initial_events=True,
        read_timeout=INITIAL_EVENTS_TIMEOUT,
    )
    objects: dict[str, T] = {}
    async with contextlib.aclosing(await source.open_watch(options, attempts=None)) as stream:
        async for batch in stream:
            for event in batch:
                if event.ends_initial_events:
                    return _as_list(target, objects, event.version)
                if event.error is not None and on_error is not None:
                    event.error.value = event.data
                    on_error(event.error)
                elif event.type == "DELETED":
                    objects.pop(event.object.key, None)
                elif event.type != "BOOKMARK":
                    objects[event.object.key] = event.object
    return None


def _as_list(target: ResourceTarget[T], objects: dict[str, T], version: str) -> ObjectList[T]:
    made = cast("Any", target.items)(metadata=ListMeta(resource_version=version), items=list(objects.values()))
    return cast("ObjectList[T]", made)


def versions_of(objects: ObjectList[T]) -> dict[str, str]:
    """The resource versions of objects, by key."""
    return {item.key: item.metadata.resource_version for item in objects}


def check_consistency(resource: str, version: str, streamed: Mapping[str, str], listed: Mapping[str, str]) -> None:
    """Compare a watch-list with a plain list of exactly the same version.

    Args:
        resource: The resource's name.
        version: The version of both.
        streamed: The resource versions of the initial events, by key.
        listed: Those of the plain list.

    Raises:
        InconsistentListError: If the two differ.
    """
    if differing := sorted(key for key in {*streamed, *listed} if streamed.get(key) != listed.get(key)):
        shown = ", ".join(differing[:5])
        raise InconsistentListError(
            f"watch-list of {resource} at version {version}: {len(differing)} objects are not as a plain list "
            f"has them: {shown}. The server's watch cache is out of step; its log may say why."
        )
