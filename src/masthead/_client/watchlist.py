"""Lists that come as the beginning of a watch.

::

    watch with initial events ──objects──> ... ──bookmark that ends them──> the list
        │
        └─ refused, or no such bookmark in time ──> a plain list, and for this resource from now on at once
"""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from masthead._client.watch import QUIET, refuses_initial_events, watch_query
from masthead._client.watch_event import read_events
from masthead._meta.metadata import ListMeta
from masthead._meta.object import Object, ObjectList
from masthead._sansio.watching import Open
from masthead.errors import InconsistentListError, StatusError, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._client.pagination import ListQuery
    from masthead._client.target import ResourceTarget
    from masthead._client.watch import WatchSource
    from masthead._rest.response_stream import ResponseStream
    from masthead.errors import DecodeError

__all__ = ["watch_list"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.client")


async def watch_list(
    source: WatchSource[T],
    wish: ListQuery,
    *,
    timeout: float,
    on_error: Callable[[DecodeError], None] | None = None,
) -> ObjectList[T]:
    """Read everything as the beginning of a watch, or else as a plain list.

    Raises:
        InconsistentListError: if the client checks such lists, and this one is not what a plain list says.
        MastheadError: as a list does.
    """
    target, access = await source.target(), source.access
    if target.resource in access.without_initial_events:
        return await source.whole(wish, on_error)
    knows_how = False
    try:
        async with asyncio.timeout(None if timeout == math.inf else timeout):
            found = await _streamed(source, target, wish, on_error)
    except StatusError as error:
        if not refuses_initial_events(error):
            raise
    except TimeoutError:  # DeadlineError among them
        problem = "the server does not say where it ends"
        _log.warning("%s: watch-list of %s: %s; listing it", access.rest.server, target.name, problem)
    except TransportError as error:
        _log.warning("%s: watch-list of %s: %s; listing it", access.rest.server, target.name, error)
        knows_how = True
    else:
        if found is not None:
            if access.defaults.check_watch_lists:
                await _check(source, target, wish, found)
            return found
    listed = await source.whole(wish, on_error)
    # Only now: what was refused may have been something else in the request, which this list is refused for too.
    if not knows_how:
        access.without_initial_events.add(target.resource)
    return listed


async def _streamed(
    source: WatchSource[T],
    target: ResourceTarget[T],
    wish: ListQuery,
    on_error: Callable[[DecodeError], None] | None,
) -> ObjectList[T] | None:
    """What the beginning of a watch says; None if it ended before all was said."""
    query = watch_query(wish, Open(wish.resource_version or "", initial_events=True))
    async with await source.access.rest.open(await source.call("watch", query, QUIET)) as stream:
        return await _collected(stream, target, on_error)


async def _collected(
    stream: ResponseStream, target: ResourceTarget[T], on_error: Callable[[DecodeError], None] | None
) -> ObjectList[T] | None:
    held: dict[str, T] = {}
    async for batch in stream.batches():
        for event in read_events(target.item, batch):
            if isinstance(event, StatusError):
                raise event
            if event.ends_initial_events:
                return _as_list(target, held, event.version)
            if event.error is not None and on_error is not None:
                event.error.value = event.data
                on_error(event.error)
            elif event.type == "DELETED":
                held.pop(event.object.key, None)
            elif event.type != "BOOKMARK":
                held[event.object.key] = event.object
    return None


def _as_list(target: ResourceTarget[T], held: dict[str, T], version: str) -> ObjectList[T]:
    made = cast("Any", target.items)(metadata=ListMeta(resource_version=version), items=list(held.values()))
    return cast("ObjectList[T]", made)


async def _check(
    source: WatchSource[T], target: ResourceTarget[T], wish: ListQuery, found: ObjectList[T]
) -> None:
    """Compare with a plain list of exactly the same version.

    Raises:
        InconsistentListError: if the two differ.
    """
    version = found.metadata.resource_version
    plain = await source.whole(replace(wish, resource_version=version, resource_version_match="Exact"), None)
    streamed, listed = (
        {item.key: item.metadata.resource_version for item in each} for each in (found, plain)
    )
    if differing := sorted(key for key in {*streamed, *listed} if streamed.get(key) != listed.get(key)):
        shown = ", ".join(differing[:5])
        raise InconsistentListError(
            f"watch-list of {target.name} at version {version}: {len(differing)} objects are not as a plain list "
            f"has them: {shown}. The server's watch cache is out of step; its log may say why."
        )
