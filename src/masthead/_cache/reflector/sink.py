"""The interface of a reflector's output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._sansio.changes import Change

__all__ = ["ChangeSink"]

V = TypeVar("V")


@set_module("masthead.aio.cache")
class ChangeSink(Protocol[V]):
    """Receives the changes of a reflector in order. Its length is the number of queued changes."""

    async def emit(self, changes: Sequence[Change[V]], /) -> None:
        """Receive changes: deltas and bookmarks, or a whole state.

        Raises:
            ClosedError: If the sink is closed.
        """
        ...

    def __len__(self) -> int: ...
