"""Listers read a cache by namespace, name and labels, as a client reads a server."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from masthead._cache.store.indexer import NAMESPACE
from masthead._cache.store.store import count_of
from masthead._client.options import label_selector_of
from masthead._errors.options import explain_arguments
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
    "{resource} are listed before their informer has synced, so that objects are missing; wait_for_cache_sync() first. "
    "A factory makes an informer when it is first asked for: ask before start() and wait_for_cache_sync()."
)
_TOO_EARLY: Final = "The informer has not synced yet; wait_for_cache_sync() first."
_NOT_STORED: Final = "It is not in the store: it does not exist, is not mirrored, or is too new."


@set_module("masthead")
class Lister(Generic[T]):
    """Reads the objects of a cache.

    All methods read memory, and return immediately. Objects are shared: `copy` an object before changing it. Lists have
    no order.

    Threads: may be used from any.
    """

    def __init__(self, indexer: Indexer[T], resource: str, has_synced: Callable[[], bool] = lambda: True) -> None:
        """Create a lister.

        Args:
            indexer: The cache.
            resource: The resource's name for errors: ``pods``, ``deployments.apps``.
            has_synced: Returns whether the cache has synced, for errors and warnings.
        """
        self._indexer = indexer
        self._resource = resource
        self._has_synced = has_synced

    def list(self, label_selector: LabelSelection | None = None) -> ListOf[T]:
        """All objects, or the matches of a selector. Warns if the informer has not synced, because objects are missing.

        Raises:
            SelectorError: If a selector is invalid.
        """
        _check_synced(self._has_synced, self._indexer, self._resource)
        return _filter(self._indexer.list(), label_selector)

    def namespace(self, namespace: str) -> NamespaceLister[T]:
        """The objects of one namespace."""
        return NamespaceLister(self._indexer, self._resource, namespace, self._has_synced)

    @explain_arguments
    def get(self, name: str) -> T:
        """The object with a name, for cluster-scoped kinds. Also accepts a key, ``namespace/name``.

        Raises:
            NotFoundError: If it is not in the cache.
        """
        obj = self._indexer.get_by_key(name)
        if obj is None:
            namespace, _, bare = name.rpartition("/")
            in_namespaces = not namespace and bool(self._indexer.list_index_values(NAMESPACE))
            why = _IN_NAMESPACES if in_namespaces else _why(self._has_synced)
            raise _not_found(self._resource, namespace, bare, why)
        return obj

    def __repr__(self) -> str:
        return f"<Lister of {self._resource}, {count_of(self._indexer)}>"


@set_module("masthead.cache")
class NamespaceLister(Generic[T]):
    """Reads the objects of one namespace of a cache.

    Threads: may be used from any.
    """

    def __init__(
        self,
        indexer: Indexer[T],
        resource: str,
        namespace: str,
        has_synced: Callable[[], bool] = lambda: True,
    ) -> None:
        """Create a lister.

        Args:
            indexer: The cache.
            resource: The resource's name, for errors.
            namespace: The namespace.
            has_synced: Returns whether the cache has synced, for errors and warnings.
        """
        self._indexer = indexer
        self._resource = resource
        self._namespace = namespace
        self._has_synced = has_synced

    def list(self, label_selector: LabelSelection | None = None) -> ListOf[T]:
        """All objects of the namespace, or the matches of a selector. Warns if the informer has not synced.

        Raises:
            SelectorError: If a selector is invalid.
        """
        _check_synced(self._has_synced, self._indexer, self._resource)
        return _filter(self._indexer.by_index(NAMESPACE, self._namespace), label_selector)

    @explain_arguments
    def get(self, name: str) -> T:
        """The object with a name.

        Raises:
            NotFoundError: If it is not in the cache.
        """
        obj = self._indexer.get_by_key(f"{self._namespace}/{name}")
        if obj is None:
            raise _not_found(self._resource, self._namespace, name, _why(self._has_synced))
        return obj

    def __repr__(self) -> str:
        count = count_of(self._indexer.index_keys(NAMESPACE, self._namespace))
        return f"<NamespaceLister of {self._resource} in {self._namespace}, {count}>"


def _filter(objects: list[T], selection: LabelSelection | None) -> list[T]:
    if selection is None:
        return objects
    selector = label_selector_of(selection)
    if selector.is_empty:
        return objects
    matches = selector.matches
    try:
        return [obj for obj in objects if matches(obj.metadata.labels)]
    except DecodeError:
        # Objects are decoded on access: an object with invalid labels must not hide all the others.
        return [obj for obj in objects if _is_readable(obj) and matches(obj.metadata.labels)]


def _is_readable(obj: Object) -> bool:
    """Whether the labels of an object can be decoded. A server would not match undecodable ones, either."""
    try:
        obj.metadata.labels  # noqa: B018 - it is decoded now
    except DecodeError as error:
        _log.debug("%r matches no selector, because its labels cannot be read: %s", obj.key, error)
        return False
    return True


def _check_synced(has_synced: Callable[[], bool], indexer: Indexer[T], resource: str) -> None:
    """Warn at the caller's line, once per line, about a list of an informer that has not synced."""
    # A handler's thread may run a moment before the informer counts as synced; the store has a version by then.
    if not has_synced() and not indexer.version:
        warnings.warn(_UNSYNCED_LIST.format(resource=resource), RuntimeWarning, stacklevel=3)


def _why(has_synced: Callable[[], bool]) -> str:
    return _NOT_STORED if has_synced() else _TOO_EARLY


def _not_found(resource: str, namespace: str, name: str, why: str) -> NotFoundError:
    error = NotFoundError(
        f'{resource} "{name}" not found in the cache',
        verb="get",
        resource=resource,
        namespace=namespace,
        name=name,
    )
    vars(error)["advice"] = why.format(resource=resource)  # the advice for a server does not help here
    return error
