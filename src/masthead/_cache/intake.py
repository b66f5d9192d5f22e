"""What an object goes through before it is cached: its key is found, it is transformed, and it is held.

An object that fails at any of this is put aside, and told; the others are not affected by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from masthead._cache import transforms
from masthead._meta import typeinfo
from masthead._meta.object import Object
from masthead.errors import DecodeError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._cache.holding import Held, Holding
    from masthead._cache.transforms import Transform

__all__ = ["Intake", "UnusableError", "key_in"]

T = TypeVar("T", bound=Object)


class UnusableError(InvalidValueError):
    """An object cannot be cached.

    Attributes:
        key: Which; empty if that cannot be told.
    """

    def __init__(self, message: str, *, key: str) -> None:
        super().__init__(message)
        self.key = key


class Intake(Generic[T]):
    """Makes of an object what a cache keeps.

    Attributes:
        transform: What is done to each object first; None for nothing.
    """

    __slots__ = ("_holding", "transform")

    def __init__(self, holding: Holding[T], transform: Transform[T] | None = None) -> None:
        self._holding = holding
        self.transform = transform

    def take(self, obj: T) -> tuple[str, Held]:
        """The key of an object, and what is kept of it.

        Raises:
            UnusableError: if it has no name, or if the transform or the holding fails.
        """
        key = obj.key
        if not key:
            raise UnusableError("an object without a name cannot be cached", key="")
        if self.transform is not None:
            obj = self._transformed(self.transform, key, obj)
        try:
            return key, self._holding.hold(obj)
        except (DecodeError, InvalidValueError) as error:
            raise UnusableError(str(error), key=key) from error

    def settle(self, items: dict[str, Held]) -> Iterator[None]:
        """Everything there is has been taken: hold it as well as is possible now that all of it is known, in steps."""
        return self._holding.rehold_in_steps(items)

    def _transformed(self, transform: Transform[T], key: str, obj: T) -> T:
        try:
            return transforms.apply(transform, obj)
        except InvalidValueError as error:
            raise UnusableError(str(error), key=key) from error
        # Somebody else's code: whatever it raises is about this one object.
        except Exception as error:
            raise UnusableError(f"the transform raised {type(error).__name__}: {error}", key=key) from error


class _Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Keyed(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


_keyed: Final = typeinfo.json_decoder(_Keyed)


def key_in(data: bytes) -> str:
    """The key of an object that cannot be read otherwise; empty if not even that can be told."""
    try:
        found = _keyed.decode(data).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return f"{found.namespace}/{found.name}" if found.namespace and found.name else found.name
