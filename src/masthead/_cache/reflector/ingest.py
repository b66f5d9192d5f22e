"""The steps of an object on its way into the store: its key is found, it is transformed, and it is packed.

An object that fails one of them is put aside, and logged; the others are not affected.
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
        key: Its key; empty if it has none.
    """

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key


@set_module("masthead.aio.cache")
class Ingest(Generic[T]):
    """Turns objects into what a cache stores.

    Attributes:
        transform: Applied to each object first; None for nothing.
        shards: The objects that are stored; None for all.
    """

    __slots__ = ("_storage", "shards", "transform")

    def __init__(
        self,
        storage: ObjectStorage[T],
        transform: Transform[T] | None = None,
        shards: ShardRanges | None = None,
    ) -> None:
        self._storage = storage
        self.transform = transform
        self.shards = shards

    def selects(self, obj: T) -> bool:
        """Whether an object is to be stored. A server that does not know of shards sends all objects."""
        return self.shards is None or self.shards.selects(obj)

    def take(self, obj: T) -> tuple[str, Stored]:
        """The key of an object, and what is kept of it.

        Raises:
            UndecodableError: If it has no name, or if the transform or the storage fails.
        """
        # The key of the object as it was sent: a transform must not move it to another.
        key = obj.key
        # All nameless objects would share one key.
        if not key:
            raise UndecodableError("an object without a name cannot be cached", key="")
        if self.transform is not None:
            obj = self._transformed(self.transform, key, obj)
        try:
            return key, self._storage.pack(obj)
        except (DecodeError, ArgumentError) as error:
            raise UndecodableError(str(error), key=key) from error

    def repack(self, items: dict[str, Stored]) -> Iterator[None]:
        """All objects have been taken: pack them anew, in steps, now that all of them are known."""
        return self._storage.repack_in_steps(items)

    def _transformed(self, transform: Transform[T], key: str, obj: T) -> T:
        try:
            return transforms.apply(transform, obj)
        except ArgumentError as error:
            raise UndecodableError(str(error), key=key) from error
        # The caller's code: whatever it raises is about this one object.
        except Exception as error:
            raise UndecodableError(f"the transform raised {type(error).__name__}: {error}", key=key) from error


class _Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Keyed(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


_keyed: Final = typeinfo.json_decoder(_Keyed)


def key_in(data: bytes) -> str:
    """The key of an object that cannot be read otherwise; empty if it has none."""
    try:
        found = _keyed.decode(data).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return f"{found.namespace}/{found.name}" if found.namespace and found.name else found.name
