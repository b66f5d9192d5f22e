"""Which resource a client speaks to, and what its objects become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from masthead._meta.object import Object, ObjectList
from masthead._meta.registry import registry
from masthead._meta.unstructured import Unstructured, UnstructuredList
from masthead._meta.v1 import PartialObjectMetadata, PartialObjectMetadataList
from masthead._rest.call import JSON
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.resource import Resource

__all__ = ["ResourceTarget", "any_kind", "metadata_only", "typed"]

T = TypeVar("T", bound=Object)

_AS: Final = "application/json;as={};g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class ResourceTarget(Generic[T]):
    """A resource, and the classes that its answers become.

    Attributes:
        resource: Group, version and plural.
        namespaced: Whether its objects live in namespaces; None if nobody has said.
        item: What one object becomes.
        items: What a list becomes.
        accept: How to ask for one.
        accept_list: How to ask for a list.
        facts: What the kind knows of its resource; None for kinds without a type.
        gvk: What the objects are, where no class says so; None if nobody has said.
    """

    resource: GroupVersionResource
    namespaced: bool | None
    item: type[T]
    items: type[ObjectList[T]]
    accept: str = JSON
    accept_list: str = JSON
    facts: Resource | None = None
    gvk: GroupVersionKind | None = None

    @property
    def removal(self) -> str:
        """Since when Kubernetes does not serve the resource, as a sentence for errors; empty if it does."""
        if self.facts is None or self.facts.replacement is None:
            return ""
        removal = self.facts.removal
        return f"{self.resource.group_version} is {removal[0].lower()}{removal[1:]}"

    @property
    def name(self) -> str:
        """The resource as messages have it: ``pods``, ``deployments.apps``."""
        return str(self.resource.group_resource)


_known: dict[type[Object], ResourceTarget[Any]] = {}


def typed(cls: type[T]) -> ResourceTarget[T]:
    """The target of a class: a built-in kind, or one's own.

    Raises:
        UnknownKindError: if the class is no kind, or its kind is not served by itself.
    """
    found = _known.get(cls)
    if found is None:
        found = _known.setdefault(cls, _typed(cls))  # another thread may have been faster
    return cast("ResourceTarget[T]", found)


def _typed(cls: type[T]) -> ResourceTarget[T]:
    if cls.RESOURCE is None or not cls.GVK.kind:
        raise UnknownKindError(
            f"{cls.__name__} does not say where it is served; set GVK and RESOURCE, or use client.dynamic(...)"
        )
    resource = cls.GVK.group_version.resource(cls.RESOURCE.name)
    return ResourceTarget(resource, cls.RESOURCE.namespaced, cls, _list_of(cls), facts=cls.RESOURCE)


def _list_of(cls: type[T]) -> type[ObjectList[T]]:
    """The class of its lists; one is made where the kind has none."""
    try:
        if registry.object_class(cls.GVK) is cls:
            return cast("type[ObjectList[T]]", registry.list_class(cls.GVK))
    except UnknownKindError:
        pass
    namespace = {"ITEM": cls, "__module__": cls.__module__, "GVK": cls.GVK.group_version.kind("")}
    made: type[ObjectList[T]] = cast("Any", type(ObjectList))(f"{cls.__name__}List", (ObjectList,), namespace)
    return made


def any_kind(
    resource: GroupVersionResource, *, namespaced: bool | None, gvk: GroupVersionKind | None = None
) -> ResourceTarget[Unstructured]:
    """The target of a resource whose objects have no type."""
    return ResourceTarget(resource, namespaced, Unstructured, UnstructuredList, gvk=gvk)


def metadata_only(
    resource: GroupVersionResource, *, namespaced: bool | None, gvk: GroupVersionKind | None = None
) -> ResourceTarget[PartialObjectMetadata]:
    """The target of a resource of which only the metadata is wanted."""
    return ResourceTarget(
        resource,
        namespaced,
        PartialObjectMetadata,
        PartialObjectMetadataList,
        accept=f"{_AS.format('PartialObjectMetadata')},{JSON}",
        accept_list=f"{_AS.format('PartialObjectMetadataList')},{JSON}",
        gvk=gvk,
    )
