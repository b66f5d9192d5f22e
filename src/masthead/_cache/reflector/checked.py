"""Whether what a source gives is what it should give: a source may be anybody's.

Each function returns what it was given, or raises an error that says what it should have been.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from masthead._client.watch_event import EVENT_TYPES, WatchEvent
from masthead._meta.object import Object, ObjectList
from masthead.errors import DecodeError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from masthead._cache.reflector.listwatch import ListOptions, ListWatch

__all__ = ["batch_of", "event_of", "page_of", "watch_of"]

T = TypeVar("T", bound=Object)


def page_of(found: ObjectList[T], source: ListWatch[T]) -> ObjectList[T]:
    """What a list has returned.

    Raises:
        ProtocolError: if it is no list of objects, or has no version.
    """
    if not isinstance(cast("object", found), ObjectList):
        raise ProtocolError(
            f"the list of {source.resource} returned a {type(found).__name__}; it must return an ObjectList"
        )
    if not found.metadata.resource_version:
        raise ProtocolError(f"the list of {source.resource} has no version to watch from")
    return found


def watch_of(source: ListWatch[T], options: ListOptions) -> AsyncGenerator[Sequence[WatchEvent[T]], None]:
    """Open a watch.

    Raises:
        ProtocolError: if it is no generator of events.
    """
    found = source.watch(options)
    if hasattr(found, "__aiter__") and hasattr(found, "aclose"):
        return found
    if inspect.iscoroutine(waste := cast("object", found)):
        waste.close()
    raise ProtocolError(
        f"the watch of {source.resource} returned a {type(found).__name__}; "
        "it must be an async generator, which yields lists of events"
    )


def batch_of(found: Sequence[WatchEvent[T]], source: ListWatch[T]) -> Sequence[WatchEvent[T]]:
    """What a watch has yielded.

    Raises:
        ProtocolError: if it is no sequence.
    """
    if not isinstance(cast("object", found), Sequence):
        raise ProtocolError(
            f"the watch of {source.resource} yielded a {type(found).__name__}; it must yield lists of events"
        )
    return found


def event_of(found: WatchEvent[T], source: ListWatch[T]) -> WatchEvent[T]:
    """An event of a watch.

    One whose type is unknown comes back as broken: what happened to its object is unknown.

    Raises:
        ProtocolError: if it is no event.
    """
    if not isinstance(cast("object", found), WatchEvent):
        raise ProtocolError(
            f"the watch of {source.resource} yielded a {type(found).__name__} among its events"
        )
    if found.type in EVENT_TYPES:
        return found
    error = DecodeError(f"the type of the event is {found.type!r}", subject=found.object.key)
    return WatchEvent("BROKEN", None, error=error, data=found.data or found.object.to_json())
