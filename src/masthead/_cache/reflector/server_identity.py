"""Verifies that a server that came back is the same one, with its data.

Versions prove nothing: a server that has lost its data counts from the beginning, and may have passed the version of
the store. The random uid of an object does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from masthead._client.listwatch import ListWatchOptions
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.versions import is_at_least

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._cache.reflector.foreign import Source
    from masthead._cache.store.storage import Stored

__all__ = ["KnownObjects", "Sample", "is_same_server"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.cache")
@dataclass(frozen=True, slots=True)
class Sample:
    """A stored object that identifies a server."""

    key: str
    uid: str
    version: str


@set_module("masthead.aio.cache")
class KnownObjects(Protocol):
    """The part of the store that a reflector reads."""

    def samples(self, scope: str) -> Sequence[Sample]:
        """A few objects of a scope, the newest first."""
        ...

    def has(self, key: str) -> bool:
        """Whether the store has an object."""
        ...

    def stored(self, scope: str) -> dict[str, Stored]:
        """All stored objects of a scope, by key."""
        ...


async def is_same_server(
    source: Source[T], samples: Sequence[Sample], version: str, *, timeout: float | None = None
) -> bool:
    """Whether a server has reached a version, and has one of the samples in the same state or a newer one.

    If all samples were deleted, the server counts as another one, which costs a relist.

    Args:
        source: Lists the samples.
        samples: Objects of the store.
        version: The version of the store.
        timeout: Seconds for each object's response to begin, and without a byte of it; None for the client's defaults.

    Raises:
        MastheadError: If a request fails.
    """
    for sample in samples:
        options = ListWatchOptions(key=sample.key, timeout=timeout, read_timeout=timeout)
        page = await source.list_page(options, lambda _: None)
        if not is_at_least(page.metadata.resource_version, version):
            # A server that was restored from a backup is behind; a watch from our version would miss changes.
            return False
        for item in page.items:
            if item.key == sample.key:
                metadata = item.metadata
                # An object with the same name on another server, or created again, has another uid.
                return metadata.uid == sample.uid and is_at_least(metadata.resource_version, sample.version)
    return False
