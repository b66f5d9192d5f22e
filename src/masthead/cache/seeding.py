"""Snapshots of an informer's copy: written, and begun with."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from masthead.cache import snapshot, transforms
from masthead.cache.listwatch import ResourceListWatch
from masthead.cache.snapshot import SnapshotHeader
from masthead.meta.object import Object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from masthead.cache.holding import Holding
    from masthead.cache.listwatch import ListWatch
    from masthead.cache.processor import Processor
    from masthead.cache.transforms import Transform

__all__ = ["load", "save"]

T = TypeVar("T", bound=Object)


def load(
    path: str | PathLike[str],
    processor: Processor[T],
    holding: Holding[T],
    sources: Mapping[str, ListWatch[T]],
    transform: Transform[T] | None,
) -> Mapping[str, str]:
    """Fill a store with what a snapshot has; returns the version of each scope.

    Raises:
        SnapshotError: if there is no such file, or it is broken or of something else; the store is not touched then.
        ConfigError: if it is compressed, and what that needs is not installed.
    """
    expected = _header(sources, dict.fromkeys(sources, ""), transform)
    item = next(iter(sources.values())).item
    with snapshot.read(path, expected, item) as (header, objects):
        held = {obj.key: holding.hold(obj) for obj in objects}
    holding.rehold(held)
    with processor.gate:
        for scope, version in header.scopes.items():
            mine = {key: each for key, each in held.items() if processor.scope_of(key) == scope}
            processor.store.replace(mine, version, scope=scope)
    return header.scopes


def save(
    path: str | PathLike[str],
    processor: Processor[T],
    holding: Holding[T],
    sources: Mapping[str, ListWatch[T]],
    transform: Transform[T] | None,
) -> int:
    """Write what a store has; returns how many objects there are.

    Raises:
        SnapshotError: if it cannot be written.
        ConfigError: if it is to be compressed, and what that needs is not installed.
    """
    with processor.gate:
        held = processor.store.values()
        versions = {scope: processor.store.version_of(scope) for scope in sources}
    return snapshot.write(path, _header(sources, versions, transform), map(holding.open, held))


def _place(sources: Mapping[str, ListWatch[T]]) -> str:
    """Where the objects are, if it is one namespace; several are told apart by their scopes."""
    only = sources.get("")
    return f"{only.namespace}/" if isinstance(only, ResourceListWatch) and only.namespace else ""


def _header(
    sources: Mapping[str, ListWatch[T]], versions: Mapping[str, str], transform: Transform[T] | None
) -> SnapshotHeader:
    first = next(iter(sources.values()))
    selectors: Mapping[str, str] = first.selectors if isinstance(first, ResourceListWatch) else {}
    return SnapshotHeader(
        resource=_place(sources) + first.resource,
        scopes=dict(versions),
        label_selector=selectors.get("labelSelector", ""),
        field_selector=selectors.get("fieldSelector", ""),
        shard_selector=selectors.get("shardSelector", ""),
        transform=transforms.describe(transform),
    )
