"""Reading a cache as one reads a server: by namespace, name and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from masthead.cache.store import NAMESPACE
from masthead.client.options import label_selector_of
from masthead.errors import NotFoundError
from masthead.meta.object import Object

if TYPE_CHECKING:
    from masthead.cache.store import Indexer
    from masthead.client.options import LabelSelection

__all__ = ["Lister", "NamespaceLister"]

T = TypeVar("T", bound=Object)

ListOf: TypeAlias = list[T]  # the classes below have a method of that name


class Lister(Generic[T]):
    """The objects of a cache.

    Everything here reads memory and returns at once. What it gives is shared: `copy` an object before changing it. Lists
    are in no order.

    Threads: may be used from any.
    """

    def __init__(self, indexer: Indexer[T], resource: str) -> None:
        """Read a cache.

        Args:
            indexer: The cache.
            resource: What it holds, for errors: ``pods``, ``deployments.apps``.
        """
        self._indexer = indexer
        self._resource = resource

    def list(self, label_selector: LabelSelection | None = None) -> ListOf[T]:
        """All objects, or those with such labels.

        Raises:
            SelectorError: if the selector is none.
        """
        return _selected(self._indexer.list(), label_selector)

    def namespace(self, namespace: str) -> NamespaceLister[T]:
        """The objects of one namespace."""
        return NamespaceLister(self._indexer, self._resource, namespace)

    def get(self, name: str) -> T:
        """The object of a name; for kinds that live in no namespace. Also takes a key, ``namespace/name``.

        Raises:
            NotFoundError: if it is not there.
        """
        found = self._indexer.get_by_key(name)
        if found is None:
            namespace, _, bare = name.rpartition("/")
            raise _not_found(self._resource, namespace, bare)
        return found


class NamespaceLister(Generic[T]):
    """The objects of a cache that are in one namespace.

    Threads: may be used from any.
    """

    def __init__(self, indexer: Indexer[T], resource: str, namespace: str) -> None:
        """Read a cache.

        Args:
            indexer: The cache.
            resource: What it holds, for errors.
            namespace: Which namespace.
        """
        self._indexer = indexer
        self._resource = resource
        self._namespace = namespace

    def list(self, label_selector: LabelSelection | None = None) -> ListOf[T]:
        """All objects of the namespace, or those with such labels.

        Raises:
            SelectorError: if the selector is none.
        """
        return _selected(self._indexer.by_index(NAMESPACE, self._namespace), label_selector)

    def get(self, name: str) -> T:
        """The object of a name.

        Raises:
            NotFoundError: if it is not there.
        """
        found = self._indexer.get_by_key(f"{self._namespace}/{name}")
        if found is None:
            raise _not_found(self._resource, self._namespace, name)
        return found


def _selected(objects: list[T], selection: LabelSelection | None) -> list[T]:
    if selection is None:
        return objects
    selector = label_selector_of(selection)
    if selector.is_empty:
        return objects
    matches = selector.matches
    return [obj for obj in objects if matches(obj.metadata.labels)]


def _not_found(resource: str, namespace: str, name: str) -> NotFoundError:
    message = f'{resource} "{name}" not found in the cache'
    return NotFoundError(
        message, verb="get", resource=resource, namespace=namespace, name=name, code=404, reason="NotFound"
    )
