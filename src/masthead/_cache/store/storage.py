"""How a cache holds its objects: as they came, decoded at once, or compressed.

::

    object ──hold──> stored value ──> queue, store, buffers ──> stored value ──open──> object

What is between the two knows nothing of the stored value but that it can be opened.

Every object that is stored has bytes (`masthead._meta.object.Object.wire_bytes`) that say what it says: one that was made
here is written and read back. So changes of it can be detected at any time.
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
"""What a cache keeps of an object. Only the storage that made it can say more."""


@set_module("masthead.cache")
class ObjectStorage(ABC, Generic[T]):
    """Turns objects into what a cache keeps of them, and back.

    Threads: everything may be called from any, at any time.
    """

    __slots__ = ()

    name: Hold

    @abstractmethod
    def pack(self, obj: T) -> Stored:
        """What is to be kept of an object, which must not be changed from here on.

        An object that came off the wire and was changed since must have been copied: its bytes are taken for what it
        says.

        Raises:
            DecodeError: If it cannot be read; eager looks at all of it, the others only if it was made here.
            ArgumentError: If it was made here and cannot be written as JSON.
        """

    @abstractmethod
    def unpack(self, stored: Stored) -> T:
        """The object, which is shared with everybody who opens it."""

    def unpack_all(self, stored: list[Stored]) -> list[T]:
        """The objects of a list."""
        return list(map(self.unpack, stored))

    @abstractmethod
    def peek(self, stored: Stored) -> T | None:
        """Return the object that readers share; None if there is none to share at the moment."""

    @abstractmethod
    def opened(self, items: Iterable[tuple[str, Stored]]) -> Iterator[tuple[str, T]]:
        """Iterate over the objects that readers share, with their keys.

        Args:
            items: Everything in the store.
        """

    def on_closed(self, callback: Callable[[T], object]) -> None:
        """Call a function with each object that is no longer shared, although its stored value is still in use."""

    def indexing(self, function: IndexFunc[T]) -> IndexFunc[T]:
        """An index function, such that what it looks at costs no memory afterwards."""
        return function

    def version(self, stored: Stored) -> str:
        """The resource version of the object."""
        return self.unpack(stored).metadata.resource_version

    def uid(self, stored: Stored) -> str:
        """The uid of the object."""
        return self.unpack(stored).metadata.uid

    def is_same(self, one: Stored, other: Stored) -> bool:
        """Whether both are states of one object, and not of two of the same name."""
        return self.uid(one) == self.uid(other)

    def repack(self, items: dict[str, Stored]) -> None:
        """Hold objects anew, in place, as well as can be now that all are there; to be called with a whole list.

        Nothing else may use `items` meanwhile. What was packed before can still be unpacked.
        """
        for _ in self.repack_in_steps(items):
            pass

    def repack_in_steps(self, items: dict[str, Stored]) -> Iterator[None]:  # noqa: ARG002 - there is nothing to do
        """Do what `repack` does, and stop now and then, so that others get their turn."""
        return iter(())


class Lazy(ObjectStorage[T]):
    """Holds the object itself; a section is decoded when it is first read."""

    __slots__ = ()

    name: Hold = "lazy"

    def pack(self, obj: T) -> Stored:
        """The object; a fresh one with bytes, if it was made here."""
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
        """The function, after which objects are as they were: an index over all specs would decode, and keep, them all.

        That takes 20,000 pods from 141 MB to 305.
        """

        def look(obj: T) -> Iterable[str]:
            found = function(obj)
            # One that is not done yet must be, before what it looks at is put away.
            return tuple(found) if isinstance(found, Iterator) else found

        return lambda obj: obj.glance(look)


class Eager(Lazy[T]):
    """Holds the object itself with everything in it decoded, so that no reader ever waits for that or finds a fault."""

    __slots__ = ()

    name: Hold = "eager"

    def pack(self, obj: T) -> Stored:
        """The object, all of which can be read.

        Raises:
            DecodeError: naming the first field that cannot.
            ArgumentError: If it was made here and cannot be written as JSON.
        """
        stored = cast("T", super().pack(obj))
        decode_lazy_fields(stored)
        if isinstance(stored, Unstructured):
            for section in stored:
                stored[section]
        return stored

    def indexing(self, function: IndexFunc[T]) -> IndexFunc[T]:
        """The function: everything is decoded anyway."""
        return function


def bytes_of(obj: Object) -> bytes:
    """The text of an object that is unchanged since it arrived, from which alone it can be read back.

    Raises:
        DecodeError: If it was made here, and something is in a list or map that does not belong there.
        ArgumentError: If it was made here and cannot be written as JSON.
    """
    source = obj.wire_bytes
    # In a list, only the list says what its items are. A class knows that for itself; an object without one has it from its list.
    if source is None or isinstance(obj, Unstructured):
        return obj.to_json()
    return source


def storage_for(name: Hold, cls: type[T]) -> ObjectStorage[T]:
    """The storage mode of a name, for objects of a class.

    Raises:
        ArgumentError: If the name is unknown.
        ConfigError: If it needs something that is not installed.
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
