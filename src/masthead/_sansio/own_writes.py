"""Which changes of a cache are the echo of one's own writes, and whether the cache has caught up with them.

A watch sends one event for each write. An event is the echo of an own write only if it leads *exactly* from the version
that the write replaced to the version that it made: then nothing else has changed. The replaced version is known if the
write named it (an update, or a patch with a resourceVersion) or created the object. Of any other write it is unknown, and
its event counts as another's: an unneeded reconcile costs little, a lost change is a bug. That also holds for a patch
that changed nothing, whose response has the version of another client's write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masthead._sansio.versions import is_at_least

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CachedVersion", "ObjectChange", "OwnWrite", "is_echo", "is_visible"]


class OwnWrite(NamedTuple):
    """A write that the server has accepted.

    Attributes:
        resource: The resource, such as ``deployments.apps``.
        key: The object, as ``namespace/name``.
        uid: Its uid.
        replaced: The version that it replaced; empty if it created the object, None if that is unknown.
        version: The version that it made; empty if it removed the object.
        is_deletion: Whether the object was deleted as one of a collection: it is gone or being deleted, and `version` is
            the one before that. Its events count as another's: a removal that comes later is not an own one.
    """

    resource: str
    key: str
    uid: str
    replaced: str | None
    version: str
    is_deletion: bool = False


class ObjectChange(NamedTuple):
    """A change of an object in a cache.

    Attributes:
        resource: The resource, such as ``deployments.apps``.
        key: The object, as ``namespace/name``.
        uid: Its uid.
        old: The version before; empty if it was added.
        new: The version after; empty if it was deleted.
    """

    resource: str
    key: str
    uid: str
    old: str
    new: str


class CachedVersion(NamedTuple):
    """An object as a cache has it.

    Attributes:
        uid: Its uid.
        version: Its resource version.
        is_deleting: Whether it has a deletion timestamp.
    """

    uid: str
    version: str
    is_deleting: bool


def is_echo(change: ObjectChange, writes: Iterable[OwnWrite]) -> bool:
    """Whether a change consists of own writes and nothing else.

    Args:
        change: The change. It may span several writes, as after a relist.
        writes: The own writes, in any order.
    """
    of_object = [each for each in writes if each.uid == change.uid and each.resource == change.resource]
    if not change.new:
        return any(not each.version for each in of_object)
    next_versions = {
        each.replaced: each.version for each in of_object if each.replaced is not None and each.version
    }
    version = change.old
    while (following := next_versions.pop(version, None)) is not None:
        if following == change.new:
            return True
        version = following
    return False


def is_visible(write: OwnWrite, cached: CachedVersion | None, store_version: str) -> bool:
    """Whether a cache is at least as new as a write.

    Args:
        write: The write.
        cached: The object in the cache, under the key of the write; None if there is none.
        store_version: The version that the cache as a whole has reached; empty if unknown.
    """
    if not write.version or write.is_deletion:
        is_gone = cached is None or cached.uid != write.uid
        return is_gone or (write.is_deletion and cached is not None and cached.is_deleting)
    if cached is not None and is_at_least(cached.version, write.version):
        return True
    # The object was deleted since, or the cache does not select it.
    return bool(store_version) and is_at_least(store_version, write.version)
