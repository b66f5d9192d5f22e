"""Snapshots of an informer's copy: written, and begun with."""

from __future__ import annotations

from os import fspath
from typing import TYPE_CHECKING, TypeVar

from masthead._cache.store import snapshot, transforms
from masthead._cache.store.snapshot import SnapshotHeader
from masthead._client.listwatch import ListWatch
from masthead._meta.object import Object
from masthead.errors import DecodeError, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from masthead._cache.informer.processor import SharedProcessor
    from masthead._cache.reflector.foreign import Source
    from masthead._cache.reflector.status import ReflectorStatus
    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._cache.store.transforms import Transform

__all__ = ["load", "save"]

T = TypeVar("T", bound=Object)


def load(
    path: str | PathLike[str],
    processor: SharedProcessor[T],
    storage: ObjectStorage[T],
    sources: Mapping[str, Source[T]],
    transform: Transform[T] | None,
) -> Mapping[str, str]:
    """Fill a store with what a snapshot has; returns the version of each scope.

    Raises:
        SnapshotError: If there is no such file, it is broken or of something else, or has an object that cannot be stored,
            or if the transform has no name; the store is not touched then.
        ConfigError: If it is compressed, and what that needs is not installed.
    """
    expected = _header(sources, dict.fromkeys(sources, ""), transform)
    item = next(iter(sources.values())).item
    with snapshot.read(path, expected, item) as (header, objects):
        # Read to the end before anything is stored: only then it is known to be whole.
        stored = {obj.key: _stored(path, storage, obj) for obj in objects}
    storage.repack(stored)
    with processor.gate:
        for scope, version in header.scopes.items():
            mine = {key: each for key, each in stored.items() if processor.scope_of(key) == scope}
            processor.store.replace(mine, version, scope=scope)
    return header.scopes


def save(
    path: str | PathLike[str],
    processor: SharedProcessor[T],
    storage: ObjectStorage[T],
    sources: Mapping[str, Source[T]],
    transform: Transform[T] | None,
    statuses: Sequence[ReflectorStatus] = (),
) -> int:
    """Write what a store has; returns how many objects there are.

    A scope that has objects which could not be read is written without a version: the store lacks these, or has an older
    state of them, and no watch would deliver them before they change. An informer that is seeded with it relists.

    Args:
        path: Where to write it.
        processor: Has the store.
        storage: How its objects are stored.
        sources: What is mirrored, by scope.
        transform: What is done to each object.
        statuses: How the mirrors of the sources are, in the same order.

    Raises:
        SnapshotError: If it cannot be written, or the transform has no name.
        ConfigError: If it is to be compressed, and what that needs is not installed.
    """
    with processor.gate:
        stored = processor.store.values()
        versions = {scope: processor.store.version_of(scope) for scope in sources}
    # Later than the versions: what cannot be read is noted down before the version passes it.
    for scope, status in zip(sources, statuses, strict=False):
        if status.broken:
            versions[scope] = ""
    return snapshot.write(path, _header(sources, versions, transform), map(storage.unpack, stored))


def _stored(path: str | PathLike[str], storage: ObjectStorage[T], obj: T) -> Stored:
    try:
        return storage.pack(obj)
    except DecodeError as error:
        raise SnapshotError(
            f'the snapshot {fspath(path)} has an object that cannot be stored "{storage.name}": {error}; delete it, or hold '
            "objects as they were when it was saved"
        ) from None


def _place(sources: Mapping[str, Source[T]]) -> str:
    """Where the objects are, if it is one namespace; several are distinguished by their scopes."""
    only = sources.get("")
    return f"{only.namespace}/" if isinstance(only, ListWatch) and only.namespace else ""


def _header(
    sources: Mapping[str, Source[T]], versions: Mapping[str, str], transform: Transform[T] | None
) -> SnapshotHeader:
    first = next(iter(sources.values()))
    selectors: Mapping[str, str] = first.selectors if isinstance(first, ListWatch) else {}
    return SnapshotHeader(
        resource=_place(sources) + first.resource,
        scopes=dict(versions),
        label_selector=selectors.get("labelSelector", ""),
        field_selector=selectors.get("fieldSelector", ""),
        shard_selector=selectors.get("shardSelector", ""),
        transform=transforms.describe(transform),
    )
