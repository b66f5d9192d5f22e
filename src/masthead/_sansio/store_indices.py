"""The state of an indexed store: its objects, their indices, and the scope of each key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar, cast

from masthead._sansio.slices import in_slices
from masthead.errors import ArgumentError, UnknownIndexError

if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Set as AbstractSet

__all__ = ["IndexErrorHook", "IndexFunc", "ScopeOwners", "StoreIndex", "StoreState", "as_tuple", "check_values"]

V = TypeVar("V")
T = TypeVar("T")

IndexFunc: TypeAlias = Callable[[T], Iterable[str]]
"""Returns the index values of an object: none, one or several. A list, tuple, set or generator, not a bare str."""

IndexErrorHook: TypeAlias = Callable[[str, str, Exception], object]
"""Called with the index, the key of the object, and the error of the index function. Must not raise."""

_IndexValues: TypeAlias = str | tuple[str, ...]
"""An object's values in an index. Nearly always it is one, which saves the tuple."""

_NONE: Final[tuple[str, ...]] = ()
_MAX_FAILURES: Final = 100
"""Remembered failures per index: a broken function fails on every object."""


class StoreState(Generic[V, T]):
    """The state that readers see."""

    __slots__ = ("indices", "items")

    def __init__(self, items: dict[str, V], indices: dict[str, StoreIndex[V, T]]) -> None:
        self.items: dict[str, V] = items
        self.indices: dict[str, StoreIndex[V, T]] = indices

    def index(self, name: str) -> StoreIndex[V, T]:
        index = self.indices.get(name)
        if index is None:
            known = ", ".join(f'"{known}"' for known in sorted(self.indices)) or "none at all"
            raise UnknownIndexError(f'there is no index "{name}", only these: {known}; add it with add_indexers')
        return index

    def blank(self) -> StoreState[V, T]:
        """An empty state with the same indices."""
        return StoreState({}, {name: index.blank() for name, index in self.indices.items()})

    def without(self, keys: AbstractSet[str], coming: StoreState[V, T]) -> Generator[None, None, StoreState[V, T]]:
        """A copy without some keys, which `coming` can join; built in slices."""
        indices: dict[str, StoreIndex[V, T]] = {}
        for name, index in self.indices.items():
            indices[name] = yield from index.without(keys, coming.indices[name])
        state = StoreState(self.items.copy(), indices)
        for part in in_slices(keys):
            for key in part:
                del state.items[key]
            yield
        return state

    def join(self, other: StoreState[V, T]) -> None:
        """Add all of another state, which has the same indices and other keys."""
        self.items.update(other.items)
        for name, index in self.indices.items():
            index.join(other.indices[name])


class StoreIndex(Generic[V, T]):
    """One index: the objects of each bucket, and the buckets of each key."""

    __slots__ = ("_hook", "_name", "buckets", "failures", "function", "of_key", "values")

    def __init__(self, name: str, function: IndexFunc[T], hook: IndexErrorHook) -> None:
        self.function: IndexFunc[T] = function
        self.of_key: Callable[[str], Iterable[str]] | None = getattr(function, "of_key", None)
        self.buckets: dict[str, dict[str, V]] = {}
        self._name = name
        self._hook = hook
        self.values: dict[str, _IndexValues] = {}
        self.failures: dict[str, str] = {}

    def blank(self) -> StoreIndex[V, T]:
        return StoreIndex(self._name, self.function, self._hook)

    def without(self, keys: AbstractSet[str], coming: StoreIndex[V, T]) -> Generator[None, None, StoreIndex[V, T]]:
        """A copy without some keys, built in slices.

        It shares the buckets that no key leaves or enters.
        """
        index = self.blank()
        index.buckets, index.values = self.buckets.copy(), self.values.copy()
        index.failures = self.failures.copy()
        changed: set[str] = set()
        for part in in_slices(keys):
            changed.update(value for key in part for value in as_tuple(self.values.get(key, _NONE)))
            yield
        # Only these change below; the others are shared with the index that readers still use.
        for value in changed | (coming.buckets.keys() & self.buckets.keys()):
            index.buckets[value] = self.buckets[value].copy()
        for part in in_slices(keys):
            for key in part:
                index.remove(key)
            yield
        return index

    def join(self, other: StoreIndex[V, T]) -> None:
        """Add all of another index with other keys: one step per existing bucket, and one for all new buckets."""
        for value, bucket in other.buckets.items():
            if value in self.buckets:
                self.buckets[value].update(bucket)
        self.buckets.update({value: bucket for value, bucket in other.buckets.items() if value not in self.buckets})
        self.values.update(other.values)
        self.failures.update(other.failures)

    def put(self, key: str, held: V, obj: T | None) -> None:
        try:
            result = self.function(cast("T", obj)) if self.of_key is None else self.of_key(key)
            # A list of one str, the usual result, is checked without building anything.
            if isinstance(result, list) and len(result) == 1 and type(result[0]) is str:
                values: _IndexValues = result[0]
            else:
                values = check_values(result)
        except Exception as error:  # noqa: BLE001 - it concerns this object in this index only
            self.fail(key, error)
            return
        if self.failures:
            self.failures.pop(key, None)
        before = self.values.get(key, _NONE)
        if type(values) is str and values == before:
            self.buckets[values][key] = held
        else:
            self._move(key, held, before, values)

    def fail(self, key: str, error: Exception) -> None:
        """Record a failed index function: the key has no values."""
        self.remove(key)
        # The text only: the error refers to the frames of the function, and so to the object.
        if len(self.failures) < _MAX_FAILURES:
            self.failures[key] = _describe(error)
        self._hook(self._name, key, error)

    def remove(self, key: str) -> None:
        self.failures.pop(key, None)
        self._leave(key, as_tuple(self.values.pop(key, _NONE)))

    def _move(self, key: str, held: V, before: _IndexValues, values: _IndexValues) -> None:
        now = as_tuple(values)
        # New buckets before old ones: readers take no lock, and would miss the object in between.
        for value in now:
            bucket = self.buckets.get(value)
            if bucket is None:
                self.buckets[value] = {key: held}
            else:
                bucket[key] = held
        self._leave(key, [value for value in as_tuple(before) if value not in now])
        if now:
            self.values[key] = values
        else:
            self.values.pop(key, None)

    def _leave(self, key: str, values: Iterable[str]) -> None:
        for value in values:
            bucket = self.buckets[value]
            del bucket[key]
            if not bucket:
                # Values such as node names come and go; empty buckets would fill the memory.
                del self.buckets[value]


class ScopeOwners:
    """The scope of each key. Keys of the scope "" are all others, and not recorded."""

    __slots__ = ("_keys", "scopes")

    def __init__(self) -> None:
        self.scopes: dict[str, str] = {}
        self._keys: dict[str, dict[str, None]] = {}

    def keys(self, scope: str, stored: dict[str, V]) -> AbstractSet[str]:
        if scope:
            return self._keys.get(scope, {}).keys()
        return stored.keys() - self.scopes.keys() if self.scopes else stored.keys()

    def give(self, key: str, scope: str) -> None:
        before = self.scopes.get(key, "")
        if before == scope:
            return
        if before:
            del self._keys[before][key]
            del self.scopes[key]
        if scope:
            self._keys.setdefault(scope, {})[key] = None
            self.scopes[key] = scope

    def replace(self, scope: str, leaving: AbstractSet[str], coming: Mapping[str, V], moved: Iterable[str]) -> None:
        """Set the keys of a scope; moved keys belonged to other scopes."""
        if not scope and not self.scopes:
            # There is a single scope, so that no owner is recorded.
            return
        for key in leaving - coming.keys():
            self.give(key, "")
        for key in moved:
            self.give(key, "")
        if scope:
            self._keys[scope] = dict.fromkeys(coming)
            self.scopes.update(dict.fromkeys(coming, scope))


def _describe(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an error whose str() raises must not break the store
        return type(error).__name__


def check_values(result: object) -> _IndexValues:
    """Return the result of an index function as distinct values; members of string enums become plain strings.

    Raises:
        ArgumentError: If it is not an iterable of strings.
    """
    # A str is iterable, too, but its characters are never meant as values.
    if isinstance(result, str) or not isinstance(result, Iterable):
        raise ArgumentError(_invalid_result(f"a value of type {type(result).__name__}"))
    values: dict[str, None] = {}
    for value in cast("Iterable[object]", result):
        if not isinstance(value, str):
            raise ArgumentError(_invalid_result(f"a value of type {type(value).__name__} among its values"))
        # str() of an enum member may return its name; this returns its value.
        values[str.__str__(value)] = None
    plain = tuple(values)
    return plain[0] if len(plain) == 1 else plain


def _invalid_result(given: str) -> str:
    return f"the index function gave {given}; it must return a list, or another iterable, of str"


def as_tuple(values: _IndexValues) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else values
