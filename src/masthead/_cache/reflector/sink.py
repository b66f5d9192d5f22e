"""The interface of what a reflector writes to."""

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
    """Receives the changes that a reflector learns of, in their order. Its length is the number of changes that wait."""

    async def emit(self, changes: Sequence[Change[V]], /) -> None:
        """Receive changes: deltas and bookmarks, or a whole state.

        Raises:
            ClosedError: If it takes no more.
        """
        ...

    def __len__(self) -> int: ...
