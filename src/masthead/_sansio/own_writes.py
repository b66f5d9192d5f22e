"""Recognizes the events of a controller's own writes, and whether a cache has caught up with them.

A watch sends one event for each write. An event is the echo of an own write only if it leads *exactly* from the version
that the write replaced to the version that it made: then nothing else has changed. The replaced version is known if the
write named it (an update, or a patch with a resourceVersion) or created the object. Of any other write it is unknown,
and its event counts as another's: an unneeded reconcile costs little, a lost change is a bug. That also holds for a
patch that changed nothing, whose response has the version of another client's write.

A cache that does not select a written object gets no event of the write, and its version stays behind until the next
bookmark. It is not waited for if `may_select` rules out that it ever shows the write, and it does not hold the object,
which otherwise has to leave it first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta import fields, labels
from masthead._module import set_module
from masthead._sansio.sharding import ShardRanges
from masthead._sansio.versions import is_at_least

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "CachedVersion",
    "ObjectChange",
    "OwnWrite",
    "OwnWrites",
    "is_echo",
    "is_own_version",
    "is_visible",
    "may_select",
]

# Cached, because the same selectors are evaluated after every change of a cache.
_parse_labels: Final = lru_cache(256)(labels.parse)
_parse_fields: Final = lru_cache(256)(fields.parse)
_parse_shards: Final = lru_cache(256)(ShardRanges.parse)


@set_module("masthead.controller")
class OwnWrite(NamedTuple):
    """A write that the server has accepted.

    Attributes:
        resource: The resource, such as ``deployments.apps``.
        key: The object, as ``namespace/name``.
        uid: Its uid.
        replaced: The replaced version; empty if the write created the object, None if unknown.
        version: The resulting version; empty if the write removed the object.
        is_deletion: Whether the object was deleted as one of a collection: it is gone or being deleted, and `version`
            is the one before that. Its events count as another's: a removal that comes later is not an own one.
        labels: The labels after the write; None if the response has none.
    """

    resource: str
    key: str
    uid: str
    replaced: str | None
    version: str
    is_deletion: bool = False
    labels: Mapping[str, str] | None = None


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
    """A cached object.

    Attributes:
        uid: Its uid.
        version: Its resource version.
        is_deleting: Whether it has a deletion timestamp.
    """

    uid: str
    version: str
    is_deleting: bool


class OwnWrites:
    """The writes of one reconcile, in order and by object.

    Args:
        writes: The first writes.
    """

    __slots__ = ("_all", "_by_object")

    def __init__(self, writes: Iterable[OwnWrite] = ()) -> None:
        self._all: list[OwnWrite] = []
        self._by_object: dict[tuple[str, str], list[OwnWrite]] = {}
        self.extend(writes)

    def extend(self, writes: Iterable[OwnWrite]) -> None:
        """Append writes."""
        for write in writes:
            self._all.append(write)
            self._by_object.setdefault((write.resource, write.uid), []).append(write)

    def is_echo(self, change: ObjectChange) -> bool:
        """Whether a change provably consists of these writes only."""
        return is_echo(change, self._of(change))

    def is_own_version(self, change: ObjectChange) -> bool:
        """Whether the new version of a change is the result of one of these writes, according to the responses."""
        return is_own_version(change, self._of(change))

    def _of(self, change: ObjectChange) -> list[OwnWrite]:
        return self._by_object.get((change.resource, change.uid), [])

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[OwnWrite]:
        return iter(self._all)

    def __reversed__(self) -> Iterator[OwnWrite]:
        return reversed(self._all)


def is_echo(change: ObjectChange, writes: Iterable[OwnWrite]) -> bool:
    """Whether a change consists of own writes only.

    Args:
        change: The change. It may span several writes, as after a relist.
        writes: The own writes, in any order.
    """
    of_object = [write for write in writes if write.uid == change.uid and write.resource == change.resource]
    if not change.new:
        return any(not write.version for write in of_object)
    next_versions = {
        write.replaced: write.version for write in of_object if write.replaced is not None and write.version
    }
    # A chain of own writes must lead from the old version to the new one without a gap.
    version = change.old
    while (following := next_versions.pop(version, None)) is not None:
        if following == change.new:
            return True
        version = following
    return False


def is_own_version(change: ObjectChange, writes: Iterable[OwnWrite]) -> bool:
    """Whether the new version of a change is the result of an own write, according to the responses.

    Weaker than `is_echo`: the change may span writes of others, and a patch that changed nothing returns the version of
    another client's write. So this may delay a reconcile, but must never drop one.

    Args:
        change: The change.
        writes: The own writes, in any order.
    """
    of_object = [write for write in writes if write.uid == change.uid and write.resource == change.resource]
    # A deletion of a collection is not acknowledged per object, so that the version is unknown.
    if not change.new:
        return any(not write.version or write.is_deletion for write in of_object)
    return any(write.version == change.new and not write.is_deletion for write in of_object)


def is_visible(write: OwnWrite, cached: CachedVersion | None, store_version: str, *, is_selected: bool = True) -> bool:
    """Whether a cache is at least as new as a write.

    Args:
        write: The write.
        cached: The object in the cache, under the key of the write, or None.
        store_version: The version that the cache as a whole has reached; empty if unknown.
        is_selected: Whether the cache may select the written object.
    """
    if not write.version or write.is_deletion:
        is_gone = cached is None or cached.uid != write.uid
        return is_gone or (write.is_deletion and cached is not None and cached.is_deleting)
    if cached is not None and is_at_least(cached.version, write.version):
        return True
    # The cache gets no event for this write; only the removal of an older version is an event.
    if cached is None and not is_selected:
        return True
    # The object was deleted later, or the cache does not select it.
    return bool(store_version) and is_at_least(store_version, write.version)


def may_select(write: OwnWrite, namespace: str | None, selectors: Mapping[str, str]) -> bool:
    """Whether a list-watch may select a written object; also true if only the server knows.

    Namespace, name, uid and labels are known. Of field selectors, only those of name and namespace are: what the server
    compares with others is in the object, but not always under that path, nor in the version that was written.

    Args:
        write: The write.
        namespace: The namespace of the list-watch; None for all.
        selectors: Its selectors, by the API's names.
    """
    own, _, name = write.key.rpartition("/")
    # A cluster-scoped object may be listed with a namespace, if the scope of the resource was unknown.
    if own and namespace and own != namespace:
        return False
    known = {"metadata.name": name, "metadata.namespace": own}
    requirements = _parse_fields(selectors.get("fieldSelector", "")).requirements
    if not all(requirement.matches(known) for requirement in requirements if requirement.key in known):
        return False
    shard_selector = selectors.get("shardSelector")
    if shard_selector and not _parse_shards(shard_selector).selects_metadata(write.uid, own):
        return False
    return write.labels is None or _parse_labels(selectors.get("labelSelector", "")).matches(write.labels)
