"""Seeds an informer from a snapshot file, and saves one."""

from __future__ import annotations

from os import fspath
from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._cache.store import snapshot_file, transforms
from masthead._cache.store.snapshot_file import SnapshotHeader
from masthead._client.listwatch import ListWatch
from masthead._meta.object import Object
from masthead.errors import DecodeError, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from masthead._cache.informer.pipeline import InformerPipeline
    from masthead._cache.reflector.foreign import Source
    from masthead._cache.store.storage import Stored

__all__ = ["InformerSnapshots"]

T = TypeVar("T", bound=Object)


class InformerSnapshots(Generic[T]):
    """Loads and saves the store of an informer. Both block.

    Args:
        pipeline: The informer's pipeline.
    """

    def __init__(self, pipeline: InformerPipeline[T]) -> None:
        self._pipeline = pipeline
        self._processor = pipeline.store.processor
        self._storage = pipeline.store.storage

    def load(self, path: str | PathLike[str]) -> Mapping[str, str]:
        """Fill the store from a snapshot.

        Returns:
            The resource version of each scope.

        Raises:
            SnapshotError: If the file is missing or corrupt, belongs to another cache, has an object that cannot be
                stored, or if the transform has no name. The store is unchanged then.
            ConfigError: If the file is compressed, and zstandard is not installed.
        """
        expected = self._header(dict.fromkeys(self._pipeline.sources, ""))
        with snapshot_file.read(path, expected, self._pipeline.item) as (header, objects):
            # Read to the end before anything is stored: the checksum is in the last line.
            stored = {obj.key: self._pack(path, obj) for obj in objects}
        self._storage.repack(stored)
        processor = self._processor
        with processor.gate:
            for scope, version in header.scopes.items():
                in_scope = {key: value for key, value in stored.items() if processor.scope_of(key) == scope}
                processor.store.replace(in_scope, version, scope=scope)
        return header.scopes

    def save(self, path: str | PathLike[str]) -> int:
        """Write the store to a snapshot; return the number of objects.

        A scope with undecodable objects is written without a version: the store lacks these objects, or has an older
        state of them, and no watch would deliver them before they change. An informer seeded with it relists.

        Raises:
            SnapshotError: If the file cannot be written, or the transform has no name.
            ConfigError: If the file is to be compressed, and zstandard is not installed.
        """
        processor, sources = self._processor, self._pipeline.sources
        with processor.gate:
            stored = processor.store.values()
            versions = {scope: processor.store.version_of(scope) for scope in sources}
        # After the versions: a reflector records an undecodable object before the version passes it.
        for scope, status in zip(sources, self._pipeline.statuses, strict=False):
            if status.broken:
                versions[scope] = ""
        return snapshot_file.write(path, self._header(versions), map(self._storage.unpack, stored))

    def _pack(self, path: str | PathLike[str], obj: T) -> Stored:
        try:
            return self._storage.pack(obj)
        except DecodeError as error:
            raise SnapshotError(
                f'the snapshot {fspath(path)} has an object that cannot be stored "{self._storage.name}": {error}; '
                "delete it, or hold objects as they were when it was saved"
            ) from None

    def _header(self, versions: Mapping[str, str]) -> SnapshotHeader:
        sources = self._pipeline.sources
        first = next(iter(sources.values()))
        selectors: Mapping[str, str] = first.selectors if isinstance(first, ListWatch) else {}
        return SnapshotHeader(
            resource=_format_namespace(sources) + first.resource,
            scopes=dict(versions),
            label_selector=selectors.get("labelSelector", ""),
            field_selector=selectors.get("fieldSelector", ""),
            shard_selector=selectors.get("shardSelector", ""),
            transform=transforms.describe(self._pipeline.transform),
        )


def _format_namespace(sources: Mapping[str, Source[T]]) -> str:
    """The namespace of a single source, as a prefix; several sources are distinguished by their scopes."""
    only = sources.get("")
    return f"{only.namespace}/" if isinstance(only, ListWatch) and only.namespace else ""
