"""The caches of a controller: the informers of the kinds that it has declared."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

from masthead._cache.factory.selection import resource_of
from masthead._cache.informer.informer import pipeline_of
from masthead._client.listwatch import ListWatch
from masthead._controller.declarations import kind_of
from masthead._controller.owner_index import add_indexers, add_owner_index, list_owned
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._module import set_module
from masthead._rest.call_observer import call_observer
from masthead._sansio.own_writes import CachedVersion, is_visible, may_select
from masthead.errors import NotCachedError, UnknownIndexError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._cache.informer.informer import SharedInformer
    from masthead._cache.store.indexer import Indexer
    from masthead._cache.store.lister import Lister
    from masthead._client.options import LabelSelection
    from masthead._controller.declarations import KindLike, WatchSpec
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.unstructured import Unstructured
    from masthead._sansio.own_writes import OwnWrite
    from masthead._sansio.store_indices import IndexFunc

__all__ = ["CacheReader", "informer_of"]

T = TypeVar("T", bound=Object)
V = TypeVar("V")
ListOf: TypeAlias = list[V]  # the class below has a method of that name


def informer_of(factory: SharedInformerFactory, spec: WatchSpec) -> SharedInformer[Any]:
    """Return the shared informer of a declared kind. Equal declarations share one informer."""
    if isinstance(spec.kind, type):
        return factory.informer(spec.kind, **spec.selection)
    return factory.dynamic(spec.kind, **spec.selection).informer


@set_module("masthead.controller")
class CacheReader:
    """Reads objects from the caches of a controller, without requests.

    Cached objects are shared: `copy` an object before changing it. Safe to use from any thread.
    """

    def __init__(
        self,
        name: str,
        informers: Sequence[tuple[WatchSpec, SharedInformer[Any]]],
        indexers: Mapping[str, IndexFunc[Any]],
    ) -> None:
        # The first informer is that of the reconciled objects.
        self._name = name
        self._informers = list(informers)
        self._indices = sorted(indexers)
        self._by_resource: dict[str, list[SharedInformer[Any]]] = {}
        for spec, informer in informers:
            known = self._by_resource.setdefault(spec.resource.group_resource, [])
            # Several declarations may share one informer.
            if informer not in known:
                known.append(informer)
            if spec.role == "owns":
                add_owner_index(informer)
            elif spec.role == "for":
                add_indexers(informer, {self._index(indexer): indexers[indexer] for indexer in indexers})

    @overload
    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None: ...
    @overload
    def get(self, kind: GroupVersionResource | str, name: str, namespace: str = "") -> Unstructured | None: ...
    def get(self, kind: KindLike, name: str, namespace: str = "") -> Object | None:
        """Return a cached object, or None.

        Args:
            kind: The class, or the resource.
            name: The name of the object.
            namespace: Its namespace; empty for a cluster-scoped object.

        Raises:
            NotCachedError: If the controller has not declared the kind.
        """
        key = f"{namespace}/{name}" if namespace else name
        informers = self._of(kind)
        if (observer := call_observer.get()) is not None:
            observer.read("get", self._resource(kind), namespace, name)
        found: ListOf[Object] = [obj for informer in informers if (obj := informer.indexer.get_by_key(key)) is not None]
        if len(found) > 1:
            # A controller may have declared several versions of a resource.
            version = self._resource(kind).version
            return next((obj for obj in found if obj.gvk.version == version), found[0])
        return found[0] if found else None

    @overload
    def list(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        label_selector: LabelSelection | None = None,
    ) -> ListOf[T]: ...
    @overload
    def list(
        self,
        kind: GroupVersionResource | str,
        *,
        namespace: str | None = None,
        label_selector: LabelSelection | None = None,
    ) -> ListOf[Unstructured]: ...
    def list(
        self,
        kind: KindLike,
        *,
        namespace: str | None = None,
        label_selector: LabelSelection | None = None,
    ) -> Sequence[Object]:
        """List objects.

        Args:
            kind: The class, or the resource.
            namespace: Only objects of this namespace; None for all.
            label_selector: Only objects with matching labels.

        Raises:
            NotCachedError: If the controller has not declared the kind.
            SelectorError: If the selector is invalid.
        """
        if (observer := call_observer.get()) is not None:
            observer.read("list", self._resource(kind), namespace, "")
        # By key, because overlapping caches of one kind may contain the same object.
        found: dict[str, Any] = {}
        for informer in self._of(kind):
            lister: Lister[Any] = informer.lister
            listed = (
                lister.list(label_selector) if namespace is None else lister.namespace(namespace).list(label_selector)
            )
            found |= {obj.key: obj for obj in listed}
        return list(found.values())

    @overload
    def by_index(self, kind: type[T], index: str, value: str) -> ListOf[T]: ...
    @overload
    def by_index(self, kind: GroupVersionResource | str, index: str, value: str) -> ListOf[Unstructured]: ...
    def by_index(self, kind: KindLike, index: str, value: str) -> Sequence[Object]:
        """List the reconciled objects with a value of an index.

        Args:
            kind: The reconciled kind.
            index: The name of the index, one of the controller's `indexers`.
            value: The value.

        Raises:
            NotCachedError: If the controller has not declared the kind.
            UnknownIndexError: If the controller has not declared the index, or does not reconcile the kind.
        """
        # Raises for a kind that is not cached, with a better message than that of an unknown index.
        self._of(kind)
        if (observer := call_observer.get()) is not None:
            observer.read(f"list by {index}={value}", self._resource(kind), None, "")
        resource = self._resource(kind).group_resource
        # Other caches of the kind may contain objects that are not reconciled and not indexed.
        reconciled, informer = self._informers[0]
        if index not in self._indices or resource != reconciled.resource.group_resource:
            raise UnknownIndexError(self._unknown_index(index, str(resource)))
        return cast("Sequence[Object]", informer.indexer.by_index(self._index(index), value))

    @overload
    def owned(self, kind: type[T], owner: Object) -> ListOf[T]: ...
    @overload
    def owned(self, kind: GroupVersionResource | str, owner: Object) -> ListOf[Unstructured]: ...
    def owned(self, kind: KindLike, owner: Object) -> Sequence[Object]:
        """List the objects of an owner.

        Raises:
            NotCachedError: If the controller has not declared that it owns the kind.
        """
        resource = self._resource(kind)
        if (observer := call_observer.get()) is not None:
            observer.read("list owned", resource, owner.metadata.namespace, "")
        found: dict[str, Any] = {}
        is_declared = False
        for spec, informer in self._informers:
            if spec.role == "owns" and spec.resource.group_resource == resource.group_resource:
                is_declared = True
                found |= list_owned(informer, owner)
        if not is_declared:
            raise NotCachedError(
                f"controller {self._name} has not declared that it owns {resource.group_resource}; add owns=[...] to it"
            )
        return list(found.values())

    @property
    def primary_kind(self) -> KindLike:
        """The reconciled kind."""
        return self._informers[0][0].kind

    def is_visible(self, write: OwnWrite) -> bool:
        """Whether all caches that may contain a written object are at least as new as the write."""
        return all(_shows(informer, write) for informer in self._by_resource.get(write.resource, ()))

    def staleness(self, write: OwnWrite) -> float:
        """Return the seconds without contact to the server of the caches that do not show a write yet."""
        late = (informer for informer in self._by_resource.get(write.resource, ()) if not _shows(informer, write))
        return max((informer.health.staleness for informer in late), default=0.0)

    def has_namespaces(self, kind: KindLike) -> bool:
        """Whether a kind is namespaced; true if only the server knows."""
        found = kind_of(kind)
        # A resource of a registered class has a known scope.
        if not isinstance(found, type):
            with contextlib.suppress(UnknownKindError):
                found = registry.object_class(registry.kind_of(found))
        resource = found.RESOURCE if isinstance(found, type) else None
        return resource is None or bool(resource.namespaced)

    def holds(self, resource: str) -> bool:
        """Whether a resource, such as ``deployments.apps``, is cached."""
        return resource in self._by_resource

    async def wait_for_write(self, write: OwnWrite, timeout: float) -> None:
        """Wait for all caches that may contain a written object to be at least as new as the write.

        Raises:
            DeadlineError: If a cache takes longer than `timeout` seconds.
            ClosedError: If an informer has stopped.
        """
        for informer in self._by_resource.get(write.resource, ()):
            await informer.wait_for(partial(_is_shown, informer, write), timeout)

    def _of(self, kind: KindLike) -> ListOf[SharedInformer[Any]]:
        resource = self._resource(kind).group_resource
        found = self._by_resource.get(str(resource))
        if not found:
            raise NotCachedError(
                f"controller {self._name} has not declared {resource}, so that no cache has it; add reads=[...] to it, "
                "or ask the server with ctx.client"
            )
        return found

    def _unknown_index(self, name: str, resource: str) -> str:
        """Return the message about an undeclared index, with a remedy."""
        primary = str(self._informers[0][0].resource.group_resource)
        if resource != primary:
            return (
                f"controller {self._name} has indices of {primary}, which it reconciles, and none of {resource}; list "
                "those, with a label selector if they are many"
            )
        known = ", ".join(f'"{index}"' for index in self._indices) or "none at all"
        return (
            f'controller {self._name} has no index "{name}" of {resource}, only these: {known}; add '
            f'indexers={{"{name}": ...}} to the controller'
        )

    def _index(self, name: str) -> str:
        # Controllers that share an informer may use the same name for different indices.
        return f"{self._name}/{name}"

    def _resource(self, kind: KindLike) -> GroupVersionResource:
        return resource_of(kind_of(kind))


def _is_shown(informer: SharedInformer[Any], write: OwnWrite, _: Indexer[Any]) -> bool:
    return _shows(informer, write)


def _shows(informer: SharedInformer[Any], write: OwnWrite) -> bool:
    found: Object | None = informer.indexer.get_by_key(write.key)
    cached = None
    if found is not None:
        metadata = found.metadata
        cached = CachedVersion(metadata.uid, metadata.resource_version, metadata.deletion_timestamp is not None)
    is_selected = cached is not None or _may_hold(informer, write)
    return is_visible(write, cached, informer.last_sync_resource_version, is_selected=is_selected)


def _may_hold(informer: SharedInformer[Any], write: OwnWrite) -> bool:
    """Whether a cache may contain a written object; true if only the server knows."""
    return any(
        not isinstance(source, ListWatch) or may_select(write, source.namespace, source.selectors)
        for source in pipeline_of(informer).sources.values()
    )
