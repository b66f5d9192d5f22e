"""The storage modes of a cache: objects decoded on access, decoded on arrival, or compressed.

::

    object ──pack──> stored value ──> queue, store, buffers ──> stored value ──unpack──> object

Queue, store and buffers treat the stored value as opaque.

Every stored object has bytes (`masthead._meta.object.Object.wire_bytes`) with its exact content: an object created by
the program is encoded and decoded first. So mutations can be detected at any time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

from masthead._cache.options import Hold
from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._meta.walk import decode_lazy_fields
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead._sansio.store_indices import IndexFunc

__all__ = ["Eager", "Hold", "Lazy", "ObjectStorage", "Stored", "bytes_of", "storage_for"]

T = TypeVar("T", bound=Object)

Stored: TypeAlias = object
"""The stored form of an object; opaque to all but the storage that packed it."""


@set_module("masthead.cache")
class ObjectStorage(ABC, Generic[T]):
    """Packs objects for a cache, and unpacks them.

    Threads: may be used from any.
    """

    __slots__ = ()

    name: Hold

    @abstractmethod
    def pack(self, obj: T) -> Stored:
        """Pack an object, which must not be mutated afterwards.

        A received object that was mutated must be copied first, because its bytes count.

        Raises:
            DecodeError: If it cannot be decoded; only ``eager`` decodes received objects in full.
            ArgumentError: If it was created by the program, and cannot be encoded as JSON.
        """

    @abstractmethod
    def unpack(self, stored: Stored) -> T:
        """The object, which all readers share."""

    def unpack_all(self, stored: list[Stored]) -> list[T]:
        """The objects of a list."""
        return list(map(self.unpack, stored))

    @abstractmethod
    def peek(self, stored: Stored) -> T | None:
        """Return the object if readers share one at the moment; otherwise None."""

    @abstractmethod
    def opened(self, items: Iterable[tuple[str, Stored]]) -> Iterator[tuple[str, T]]:
        """Iterate over the objects that readers share, with their keys.

        Args:
            items: The stored values of the store, with their keys.
        """

    def on_closed(self, callback: Callable[[T], object]) -> None:
        """Call a function with each object that readers no longer share, though its stored value is still in use."""

    def indexing(self, function: IndexFunc[T]) -> IndexFunc[T]:
        """Wrap an index function, so that the sections it reads do not stay decoded."""
        return function

    def version(self, stored: Stored) -> str:
        """The resource version of the object."""
        return self.unpack(stored).metadata.resource_version

    def uid(self, stored: Stored) -> str:
        """The uid of the object."""
        return self.unpack(stored).metadata.uid

    def is_same(self, one: Stored, other: Stored) -> bool:
        """Whether both are states of the same object, and not of two objects with the same name."""
        return self.uid(one) == self.uid(other)

    def repack(self, items: dict[str, Stored]) -> None:
        """Pack the objects of a full list again, in place, if knowing all of them helps.

        Nothing else may use `items` during the call. Earlier stored values can still be unpacked.
        """
        for _ in self.repack_in_steps(items):
            pass

    def repack_in_steps(self, items: dict[str, Stored]) -> Iterator[None]:  # noqa: ARG002 - a no-op here
        """Repack in steps, so that other tasks can run between them."""
        return iter(())


class Lazy(ObjectStorage[T]):
    """Stores the object itself; a section is decoded when it is first read."""

    __slots__ = ()

    name: Hold = "lazy"

    def pack(self, obj: T) -> Stored:
        """The object; a copy with bytes, if the program created it."""
        return obj if obj.wire_bytes is not None else obj.copy()

    def unpack(self, stored: Stored) -> T:
        """The object."""
        return cast("T", stored)

    def unpack_all(self, stored: list[Stored]) -> list[T]:
        """The list itself."""
        return cast("list[T]", stored)

    def peek(self, stored: Stored) -> T | None:
        """Return the object."""
        return cast("T", stored)

    def opened(self, items: Iterable[tuple[str, Stored]]) -> Iterator[tuple[str, T]]:
        """Iterate over all objects."""
        return cast("Iterator[tuple[str, T]]", iter(items))

    def version(self, stored: Stored) -> str:
        """The resource version of the object."""
        return cast("T", stored).metadata.resource_version

    def indexing(self, function: IndexFunc[T]) -> IndexFunc[T]:
        """Wrap an index function so that it leaves no section decoded.

        Otherwise an index over all specs takes 20,000 pods from 141 MB to 305.
        """

        def read(obj: T) -> Iterable[str]:
            values = function(obj)
            # A generator must run to its end before the decoded sections are dropped.
            return tuple(values) if isinstance(values, Iterator) else values

        return lambda obj: obj.glance(read)


class Eager(Lazy[T]):
    """Stores the object fully decoded, so that readers never pay for decoding nor meet a decode error."""

    __slots__ = ()

    name: Hold = "eager"

    def pack(self, obj: T) -> Stored:
        """The object, fully decoded.

        Raises:
            DecodeError: If a field cannot be decoded; it names the first.
            ArgumentError: If the object was created by the program, and cannot be encoded as JSON.
        """
        # After the copy: decoding marks sections of the object that is stored.
        stored = cast("T", super().pack(obj))
        decode_lazy_fields(stored)
        if isinstance(stored, Unstructured):
            # Its sections are decoded by access; it has no fields to walk.
            for section in stored:
                stored[section]
        return stored

    def indexing(self, function: IndexFunc[T]) -> IndexFunc[T]:
        """The function itself: everything is decoded anyway."""
        return function


def bytes_of(obj: Object) -> bytes:
    """The JSON text of an unmodified object, sufficient to decode it again.

    Raises:
        DecodeError: If the program created it with a value of the wrong type.
        ArgumentError: If the program created it, and it cannot be encoded as JSON.
    """
    source = obj.wire_bytes
    # The items of a list lack apiVersion and kind. A class implies them; `Unstructured` has them from its list.
    if source is None or isinstance(obj, Unstructured):
        return obj.to_json()
    return source


def storage_for(name: Hold, cls: type[T]) -> ObjectStorage[T]:
    """Create the storage of a mode, for objects of a class.

    Raises:
        ArgumentError: If the mode is unknown.
        ConfigError: If it needs a package that is not installed.
    """
    if name == "lazy":
        return Lazy()
    if name == "eager":
        return Eager()
    if name == "compact":
        # Imported on demand: zstandard is optional.
        from masthead._cache.store.compact import Compact

        return Compact(cls)
    raise ArgumentError(f'cannot hold objects "{name}"; take "lazy", "eager" or "compact"', value=name)
