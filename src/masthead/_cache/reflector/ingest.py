"""Selects, transforms and packs objects for the store.

An object that fails one of these steps is recorded and logged; the others are not affected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from masthead._cache.store import transforms
from masthead._meta import typeinfo
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._cache.store.transforms import Transform
    from masthead._sansio.sharding import ShardRanges

__all__ = ["Ingest", "UndecodableError", "key_in"]

T = TypeVar("T", bound=Object)


class UndecodableError(ArgumentError):
    """An object cannot be cached.

    Attributes:
        key: The object's key; empty if it has none.
    """

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key


@set_module("masthead.aio.cache")
class Ingest(Generic[T]):
    """Prepares objects for the store.

    Attributes:
        transform: Applied to each object first; None for none.
        shards: The shards to store; None for all.
    """

    __slots__ = ("_storage", "shards", "transform")

    def __init__(
        self,
        storage: ObjectStorage[T],
        transform: Transform[T] | None = None,
        shards: ShardRanges | None = None,
    ) -> None:
        self._storage = storage
        self.transform: Transform[T] | None = transform
        self.shards: ShardRanges | None = shards

    def selects(self, obj: T) -> bool:
        """Whether an object's shard is selected. A server without sharding sends all objects."""
        return self.shards is None or self.shards.selects(obj)

    def take(self, obj: T) -> tuple[str, Stored]:
        """Return the key of an object, and its packed form.

        Raises:
            UndecodableError: If it has no name, or if the transform or the storage fails.
        """
        # The key before the transform, which must not move the object to another one.
        key = obj.key
        # All nameless objects would share one key.
        if not key:
            raise UndecodableError("an object without a name cannot be cached", key="")
        if self.transform is not None:
            obj = self._apply(self.transform, key, obj)
        try:
            return key, self._storage.pack(obj)
        except (DecodeError, ArgumentError) as error:
            raise UndecodableError(str(error), key=key) from error

    def repack(self, items: dict[str, Stored]) -> Iterator[None]:
        """Pack all objects of a full list again, in steps, if the storage benefits from knowing all of them."""
        return self._storage.repack_in_steps(items)

    def _apply(self, transform: Transform[T], key: str, obj: T) -> T:
        try:
            return transforms.apply(transform, obj)
        except ArgumentError as error:
            raise UndecodableError(str(error), key=key) from error
        # The caller's code: its exception concerns this object only.
        except Exception as error:
            raise UndecodableError(f"the transform raised {type(error).__name__}: {error}", key=key) from error


class _Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Keyed(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


_keyed: Final = typeinfo.json_decoder(_Keyed)


def key_in(data: bytes) -> str:
    """The key of an undecodable object; empty if it has none."""
    try:
        metadata = _keyed.decode(data).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    name, namespace = metadata.name, metadata.namespace
    return f"{namespace}/{name}" if namespace and name else name
