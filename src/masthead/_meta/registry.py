"""Kind ↔ class ↔ resource, looked up by name so that only the module that is needed is imported.

A package of generated types has an index of its modules and their kinds. The registry reads indexes, and imports a
module when one of its kinds is first looked up. Classes that are written by hand are registered one by one.

Kinds that Kubernetes no longer serves are in an index of their own. They are found by their full names, never by the
name of the kind alone, and are not listed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from masthead._meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
from masthead._meta.locks import fork_safe_lock
from masthead._meta.object import Object, ObjectList
from masthead._module import set_module
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

ObjectClass: TypeAlias = "type[Object | ObjectList[Any]]"
KindT = TypeVar("KindT", bound="type[Object | ObjectList[Any]]")

BUILT_IN: Final = "masthead.api.index"
"""The index of Kubernetes' own kinds."""
REMOVED: Final = "masthead.api.removed"
"""The index of the kinds that Kubernetes no longer serves."""

_changing: Final = fork_safe_lock()


@set_module("masthead.meta")
class Registry:
    """Maps kinds and resources to classes.

    Threads: all methods may be called from any thread.
    """

    def __init__(self, *indexes: str, removed: str | None = None) -> None:
        """Start with the kinds of some indexes. No index is imported before the first lookup.

        Args:
            indexes: The dotted names of index modules.
            removed: The index of kinds that are no longer served. It is consulted for kinds that no other index has.
        """
        self._pending = indexes
        """Indexes that have not been read; one leaves only when all of its kinds can be found."""
        self._modules: dict[GroupVersionKind, str] = {}
        self._resources: dict[GroupVersionResource, GroupVersionKind] = {}
        self._classes: dict[GroupVersionKind, ObjectClass] = {}
        self._removed = Registry(removed) if removed else None

    def add_index(self, module: str) -> None:
        """Add the kinds of a package of generated types.

        Args:
            module: The dotted name of the package's ``index`` module.
        """
        with _changing:
            self._pending = (*self._pending, module)

    def register(self, cls: KindT) -> KindT:
        """Register a class that is written by hand; may be used as a decorator.

        A class that is registered later replaces one of the same kind.

        Raises:
            UnknownKindError: If the class has no GVK.
        """
        if not cls.GVK.kind:
            raise UnknownKindError(f"{cls.__name__} has no GVK; set GVK = GroupVersionKind(group, version, kind)")
        with _changing:
            self._classes[cls.GVK] = cls
            if resource := getattr(cls, "RESOURCE", None):
                self._resources[cls.GVK.group_version.resource(resource.name)] = cls.GVK
        return cls

    def class_of(self, gvk: GroupVersionKind) -> ObjectClass:
        """The class of a kind or list kind.

        Raises:
            UnknownKindError: If the kind is not registered.
        """
        registered = self._classes.get(gvk)
        if registered is not None:
            return registered
        module = self._module_of(gvk)
        if module is None:
            raise UnknownKindError(f"there is no class for {gvk}; {self._nearest(gvk)}")
        # Not cached: a second import of the module creates another class.
        return cast("ObjectClass", getattr(importlib.import_module(module), gvk.kind))

    def object_class(self, gvk: GroupVersionKind) -> type[Object]:
        """The class of a kind of objects.

        Raises:
            UnknownKindError: If the kind is not registered, or is a list.
        """
        found = self.class_of(gvk)
        if not issubclass(found, Object):
            raise UnknownKindError(f"{gvk} is a list; its items are {found.ITEM.GVK}")
        return found

    def list_class(self, gvk: GroupVersionKind) -> type[ObjectList[Object]]:
        """The class of the list of a kind.

        Raises:
            UnknownKindError: If the kind is not registered, or has no list.
        """
        item = self.object_class(gvk)
        usual = gvk.group_version.kind(f"{gvk.kind}List")
        # The usual name first: it needs no search.
        if usual in self._classes or self._module_of(usual):
            found = self.class_of(usual)
            if issubclass(found, ObjectList):
                return found
        # A custom resource may choose the name of its list class, which is in the module of its kind or registered.
        for candidate in (*list(item.module_globals.values()), *list(self._classes.values())):
            if isinstance(candidate, type) and issubclass(candidate, ObjectList) and candidate.ITEM is item:
                return cast("type[ObjectList[Object]]", candidate)
        raise UnknownKindError(f"{gvk} has no list; register its class")

    def kind_of(self, gvr: GroupVersionResource) -> GroupVersionKind:
        """The kind that a resource serves.

        Raises:
            UnknownKindError: If no registered kind is served there.
        """
        self._read_indexes()
        found = self._resources.get(gvr)
        if found is not None:
            return found
        # Served versions go first; removed ones are for objects of old clusters.
        if self._removed is not None:
            return self._removed.kind_of(gvr)
        raise UnknownKindError(f"there is no kind for {gvr}; register its class, or use Unstructured")

    def resource_of(self, gvk: GroupVersionKind) -> GroupVersionResource:
        """The resource that serves a kind.

        Raises:
            UnknownKindError: If the kind is not registered, or has no resource.
        """
        found = self.object_class(gvk)
        if found.RESOURCE is None:
            raise UnknownKindError(f"{gvk} is not served as a resource")
        return gvk.group_version.resource(found.RESOURCE.name)

    def kinds(self) -> Iterator[GroupVersionKind]:
        """Every kind and list kind, in the order of group, version and name; no kind that is no longer served.

        No module of types is imported.
        """
        self._read_indexes()
        with _changing:
            known = {*self._modules, *self._classes}
        return iter(sorted(known))

    def _module_of(self, gvk: GroupVersionKind) -> str | None:
        self._read_indexes()
        found = self._modules.get(gvk)
        if found is None and self._removed is not None:
            return self._removed._module_of(gvk)  # noqa: SLF001 - it is of this class
        return found

    def _read_indexes(self) -> None:
        # Every thread that finds an index pending reads it, because waiting for another thread that imports, with a
        # lock in hand, could be for ever: the other one may be waiting for a module that this one is importing.
        for module in self._pending:
            kinds: Mapping[str, tuple[str, dict[str, str]]] = {}
            try:
                kinds = _kinds_in(module)
            finally:  # an index that cannot be read is complained about once
                self._finish(module, kinds)

    def _finish(self, module: str, index: Mapping[str, tuple[str, dict[str, str]]]) -> None:
        with _changing:
            if module not in self._pending:
                return  # another thread was faster
            for api_version, (home, kinds) in index.items():
                served = GroupVersion.parse(api_version)
                for kind, resource in kinds.items():
                    self._modules[served.kind(kind)] = home
                    if resource:  # a class that was registered goes first
                        self._resources.setdefault(served.resource(resource), served.kind(kind))
            self._pending = tuple(name for name in self._pending if name != module)

    def _nearest(self, gvk: GroupVersionKind) -> str:
        elsewhere = sorted(module.api_version for module in list(self._modules) if module.kind == gvk.kind)
        if elsewhere:
            return f"{gvk.kind} exists in {', '.join(elsewhere)}"
        return "register its class, or use Unstructured"


def _kinds_in(module: str) -> Mapping[str, tuple[str, dict[str, str]]]:
    try:
        return cast("Mapping[str, tuple[str, dict[str, str]]]", importlib.import_module(module).KINDS)
    except (ImportError, AttributeError) as error:
        raise UnknownKindError(f"{module} is not an index of generated types: {error}") from error


registry: Final = Registry(BUILT_IN, removed=REMOVED)
"""The registry that clients use."""

register: Final = registry.register
"""Register a class in the shared registry; may be used as a decorator."""
