"""Reading a cache as one reads a server: by namespace, name and labels."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from masthead._cache.store.indexer import NAMESPACE
from masthead._cache.store.store import count_of
from masthead._client.options import label_selector_of
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import DecodeError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cache.store.indexer import Indexer
    from masthead._client.options import LabelSelection

__all__ = ["Lister", "NamespaceLister"]

T = TypeVar("T", bound=Object)

ListOf: TypeAlias = list[T]  # the classes below have a method of that name

_log: Final = logging.getLogger("masthead.cache")

_IN_NAMESPACES: Final = "The {resource} live in namespaces: lister.namespace(namespace).get(name)."
_UNSYNCED_LIST: Final = (
    "{resource} are listed before their informer has synced, so that objects are missing; wait_for_cache_sync() first. A factory "
    "makes an informer when it is first asked for: ask before start() and wait_for_cache_sync()."
)
_TOO_EARLY: Final = "The informer has not synced yet; wait_for_cache_sync() first."
_NOT_THERE: Final = "It is not in the store: it does not exist, is not mirrored, or is too new."


@set_module("masthead")
class Lister(Generic[T]):
    """The objects of a cache.

    Everything here reads memory and returns at once. What it gives is shared: `copy` an object before changing it. Lists
    are in no order.

    Threads: may be used from any.
    """

    def __init__(self, indexer: Indexer[T], resource: str, has_synced: Callable[[], bool] = lambda: True) -> None:
        """Read a cache.

        Args:
            indexer: The cache.
            resource: What it holds, for errors: ``pods``, ``deployments.apps``.
            has_synced: Says whether all that there is can be in the cache, for errors.
        """
        self._indexer = indexer
        self._resource = resource
        self._has_synced = has_synced

    def list(self, label_selector: LabelSelection | None = None) -> ListOf[T]:
        """All objects, or those with such labels. Warns if the informer has not synced, because objects are missing then.

        Raises:
            SelectorError: If a selector is invalid.
        """
        _check_synced(self._has_synced, self._indexer, self._resource)
        return _selected(self._indexer.list(), label_selector)

    def namespace(self, namespace: str) -> NamespaceLister[T]:
        """The objects of one namespace."""
        return NamespaceLister(self._indexer, self._resource, namespace, self._has_synced)

    def get(self, name: str) -> T:
        """The object of a name; for kinds that live in no namespace. Also takes a key, ``namespace/name``.

        Raises:
            NotFoundError: If it is not there.
        """
        found = self._indexer.get_by_key(name)
        if found is None:
            namespace, _, bare = name.rpartition("/")
            in_namespaces = not namespace and bool(self._indexer.list_index_values(NAMESPACE))
            why = _IN_NAMESPACES if in_namespaces else _why(self._has_synced)
            raise _not_found(self._resource, namespace, bare, why)
        return found

    def __repr__(self) -> str:
        return f"<Lister of {self._resource}, {count_of(self._indexer)}>"


@set_module("masthead.cache")
class NamespaceLister(Generic[T]):
    """The objects of a cache that are in one namespace.

    Threads: may be used from any.
    """

    def __init__(
        self,
        indexer: Indexer[T],
        resource: str,
        namespace: str,
        has_synced: Callable[[], bool] = lambda: True,
    ) -> None:
        """Read a cache.

        Args:
            indexer: The cache.
            resource: What it holds, for errors.
            namespace: Which namespace.
            has_synced: Says whether all that there is can be in the cache, for errors.
        """
        self._indexer = indexer
        self._resource = resource
        self._namespace = namespace
        self._has_synced = has_synced

    def list(self, label_selector: LabelSelection | None = None) -> ListOf[T]:
        """All objects of the namespace, or those with such labels. Warns if the informer has not synced.

        Raises:
            SelectorError: If a selector is invalid.
        """
        _check_synced(self._has_synced, self._indexer, self._resource)
        return _selected(self._indexer.by_index(NAMESPACE, self._namespace), label_selector)

    def get(self, name: str) -> T:
        """The object of a name.

        Raises:
            NotFoundError: If it is not there.
        """
        found = self._indexer.get_by_key(f"{self._namespace}/{name}")
        if found is None:
            raise _not_found(self._resource, self._namespace, name, _why(self._has_synced))
        return found

    def __repr__(self) -> str:
        count = count_of(self._indexer.index_keys(NAMESPACE, self._namespace))
        return f"<NamespaceLister of {self._resource} in {self._namespace}, {count}>"


def _selected(objects: list[T], selection: LabelSelection | None) -> list[T]:
    if selection is None:
        return objects
    selector = label_selector_of(selection)
    if selector.is_empty:
        return objects
    matches = selector.matches
    try:
        return [obj for obj in objects if matches(obj.metadata.labels)]
    except DecodeError:
        # Objects are decoded late: one with unreadable labels must not hide all the others.
        return [obj for obj in objects if _is_readable(obj) and matches(obj.metadata.labels)]


def _is_readable(obj: Object) -> bool:
    """Whether an object has labels that one can read. No server would select one that has not."""
    try:
        obj.metadata.labels  # noqa: B018 - it is decoded now
    except DecodeError as error:
        _log.debug("%r matches no selector, because its labels cannot be read: %s", obj.key, error)
        return False
    return True


def _check_synced(has_synced: Callable[[], bool], indexer: Indexer[T], resource: str) -> None:
    """Warn at the caller's line, once for each, about a list of an informer that has not synced."""
    # A handler may be called, in its thread, a moment before the informer counts as synced: the version is there by then.
    if not has_synced() and not indexer.version:
        warnings.warn(_UNSYNCED_LIST.format(resource=resource), RuntimeWarning, stacklevel=3)


def _why(has_synced: Callable[[], bool]) -> str:
    return _NOT_THERE if has_synced() else _TOO_EARLY


def _not_found(resource: str, namespace: str, name: str, why: str) -> NotFoundError:
    error = NotFoundError(
        f'{resource} "{name}" not found in the cache',
        verb="get",
        resource=resource,
        namespace=namespace,
        name=name,
    )
    vars(error)["advice"] = why.format(resource=resource)  # what helps with a server does not help here
    return error
