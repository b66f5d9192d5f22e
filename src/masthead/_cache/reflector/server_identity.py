"""Whether a server that came back is the one that we knew.

Versions prove nothing: a server that has lost its data counts from the beginning again, and may have overtaken the
version that we have. An object does, by its uid, which is drawn by chance.
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
    """An object of the store, by which a server can be recognised."""

    key: str
    uid: str
    version: str


@set_module("masthead.aio.cache")
class KnownObjects(Protocol):
    """The copy that a reflector keeps, as far as it has to know it."""

    def samples(self, scope: str) -> Sequence[Sample]:
        """A few of its objects, those that changed last first; none if there are none."""
        ...

    def has(self, key: str) -> bool:
        """Whether it has an object."""
        ...

    def stored(self, scope: str) -> dict[str, Stored]:
        """Everything in it."""
        ...


async def is_same_server(
    source: Source[T], samples: Sequence[Sample], version: str, *, timeout: float | None = None
) -> bool:
    """Whether a server has one of the objects, no older than we have it, and has reached a version.

    If all of them are gone, that proves nothing; then it counts as another one, and costs a relist.

    Args:
        source: Where the server is asked.
        samples: The objects.
        version: The version.
        timeout: Seconds for each object's response to begin, and without a byte of it; None for the client's defaults.

    Raises:
        MastheadError: If it cannot be asked.
    """
    for sample in samples:
        options = ListWatchOptions(key=sample.key, timeout=timeout, read_timeout=timeout)
        found = await source.list_page(options, lambda _: None)
        if not is_at_least(found.metadata.resource_version, version):
            # A server that was restored from a backup is behind; a watch from our version would miss changes.
            return False
        for item in found.items:
            if item.key == sample.key:
                about = item.metadata
                # An object of that name on another server, or one made anew, has another uid.
                return about.uid == sample.uid and is_at_least(about.resource_version, sample.version)
    return False
