"""Time stamps of device taints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

TIME_ADDED: Final = "timeAdded"


def set_time_added(taint: Plain, allocate: Allocator) -> None:
    """Set the time of a taint that has none."""
    if taint.get(TIME_ADDED) is None:
        taint[TIME_ADDED] = allocate.now()
