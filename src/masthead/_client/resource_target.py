"""The resource that a client addresses, and the classes of its objects and lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from masthead._meta.object import Object, ObjectList
from masthead._meta.registry import registry
from masthead._meta.unstructured import Unstructured, UnstructuredList
from masthead._meta.v1 import PartialObjectMetadata, PartialObjectMetadataList
from masthead._module import set_module
from masthead._rest.call import JSON
from masthead.errors import ArgumentError, UnknownKindError

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.resource import Resource

__all__ = ["ResourceTarget", "untyped_target", "metadata_target", "typed_target"]

T = TypeVar("T", bound=Object)

_AS: Final = "application/json;as={};g=meta.k8s.io;v=v1"


@set_module("masthead.aio.clientset")
@dataclass(frozen=True, slots=True)
class ResourceTarget(Generic[T]):
    """A resource, and the classes that its responses are decoded into.

    Attributes:
        resource: Group, version and plural.
        namespaced: Whether the resource is namespaced; None if unknown.
        item: The class of an object.
        items: The class of a list.
        accept: The ``Accept`` header for an object.
        accept_list: The ``Accept`` header for a list.
        facts: The resource description of a typed kind; None for untyped kinds.
        gvk: The kind of untyped objects; None if unknown.
        name: The resource as messages name it: ``pods``, ``deployments.apps``.
        removal: Since when Kubernetes does not serve the resource, as a sentence for errors; empty if it does.
    """

    resource: GroupVersionResource
    namespaced: bool | None
    item: type[T]
    items: type[ObjectList[T]]
    accept: str = JSON
    accept_list: str = JSON
    facts: Resource | None = None
    gvk: GroupVersionKind | None = None

    name: str = field(init=False)
    removal: str = field(init=False)

    def __post_init__(self) -> None:
        # Once for a resource, and not for each of its calls.
        object.__setattr__(self, "name", self.resource.group_resource)
        object.__setattr__(self, "removal", self._describe_removal())

    def _describe_removal(self) -> str:
        if self.facts is None or self.facts.removed_in is None:
            return ""
        removal = self.facts.removal
        return f"{self.resource.group_version} is {removal[0].lower()}{removal[1:]}"


_known: dict[type[Object], ResourceTarget[Any]] = {}


def typed_target(cls: type[T]) -> ResourceTarget[T]:
    """The target of a class: a built-in kind or a custom one.

    Raises:
        ArgumentError: If it is no class of objects, such as the name of a resource.
        UnknownKindError: If the class has no GVK, or its kind has no resource.
    """
    found = _known.get(cls)
    if found is None:
        found = _known.setdefault(cls, _build_typed_target(cls))  # another thread may have been faster
    return cast("ResourceTarget[T]", found)


def _build_typed_target(cls: type[T]) -> ResourceTarget[T]:
    given = cast("object", cls)
    if not (isinstance(given, type) and issubclass(given, Object)):
        named = repr(given) if isinstance(given, str) else "..."
        raise ArgumentError(
            f"{given!r} is no class of objects; give one such as masthead.api.core.v1.Pod, and use "
            f"client.dynamic({named}) for a resource by its name",
            value=cls,
        )
    if cls.RESOURCE is None or not cls.GVK.kind:
        raise UnknownKindError(f"{cls.__name__} has no resource; set GVK and RESOURCE, or use client.dynamic(...)")
    resource = cls.GVK.group_version.resource(cls.RESOURCE.name)
    return ResourceTarget(resource, cls.RESOURCE.namespaced, cls, _list_of(cls), facts=cls.RESOURCE)


def _list_of(cls: type[T]) -> type[ObjectList[T]]:
    """The class of its lists; created where the kind has none."""
    try:
        if registry.object_class(cls.GVK) is cls:
            return cast("type[ObjectList[T]]", registry.list_class(cls.GVK))
    except UnknownKindError:
        pass
    namespace = {"ITEM": cls, "__module__": cls.__module__, "GVK": cls.GVK.group_version.kind("")}
    made: type[ObjectList[T]] = cast("Any", type(ObjectList))(f"{cls.__name__}List", (ObjectList,), namespace)
    return made


def untyped_target(
    resource: GroupVersionResource, *, namespaced: bool | None, gvk: GroupVersionKind | None = None
) -> ResourceTarget[Unstructured]:
    """The target of a resource with untyped objects."""
    return ResourceTarget(resource, namespaced, Unstructured, UnstructuredList, gvk=gvk)


def metadata_target(
    resource: GroupVersionResource, *, namespaced: bool | None, gvk: GroupVersionKind | None = None
) -> ResourceTarget[PartialObjectMetadata]:
    """The target of a resource whose objects are read as PartialObjectMetadata."""
    return ResourceTarget(
        resource,
        namespaced,
        PartialObjectMetadata,
        PartialObjectMetadataList,
        accept=f"{_AS.format('PartialObjectMetadata')},{JSON}",
        accept_list=f"{_AS.format('PartialObjectMetadataList')},{JSON}",
        gvk=gvk,
    )
