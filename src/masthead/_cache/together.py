"""What a factory does with all of its informers: begin them, say which are late, and gather what they ended with."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from masthead.errors import ClosedError, InformerStateError, MutationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._cache.informer import SharedInformer

__all__ = ["begin", "begin_on", "late_ones", "raise_all"]


def raise_all(errors: Sequence[Exception]) -> None:
    """Raise what informers ended with: all that was changed as one error, or something worse.

    Raises:
        MutationError: naming the objects.
        Exception: the first that is something else.
    """
    changed = [error for error in errors if isinstance(error, MutationError)]
    for error in errors:
        if error not in changed:
            raise error
    if changed:
        keys = [key for error in changed for key in error.keys]
        raise MutationError("; ".join(map(str, changed)), keys=keys)


def begin(informer: SharedInformer[Any]) -> None:
    """Begin, on the loop that it shall belong to, unless it has begun."""
    with contextlib.suppress(InformerStateError):  # it is running, or its owner has stopped it
        informer.begin_soon()


def begin_on(loop: asyncio.AbstractEventLoop, informer: SharedInformer[Any]) -> None:
    """Begin at once if this is the loop; from anywhere else, before whatever is asked of the loop next.

    Raises:
        ClosedError: if the loop has ended.
    """
    if _running_loop() is loop:
        begin(informer)
        return
    try:
        loop.call_soon_threadsafe(begin, informer)
    except RuntimeError:
        raise ClosedError(
            "the factory's event loop has ended, and its informers with it; make a new factory"
        ) from None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def late_ones(informers: Mapping[str, SharedInformer[Any]], *, handlers: bool) -> list[str]:
    """Which informers have not synced, and why, each in a few words."""
    found: list[str] = []
    for name, each in informers.items():
        health = each.health
        behind = [handler for handler, pending in health.pending.items() if pending]
        if not each.has_synced:
            found.append(f"{name} ({health.last_error or 'no full state has come yet'})")
        elif handlers and behind:
            found.append(f"{name} (its handlers {', '.join(behind)} have not heard all that there is)")
    return found
