"""The groups of the clientset: one for every group and version, with a method for every resource.

The verbs and subresources of a resource decide the bases of its class: the base of its scope, and one for each
subresource with a class of verbs in `masthead._client`. Resources that can only be created have a special base.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from masthead._client.portforward.backends import can_forward
from masthead._client.restarts import can_restart
from masthead._codegen import identifiers, types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead._codegen.definitions import ClassDef, ModuleDef
    from masthead._codegen.spec import Spec
    from masthead._meta.gvk import GroupVersion, GroupVersionKind
    from masthead._meta.resource import Resource

__all__ = ["REVIEWS", "GroupDef", "Method", "groups_of", "plural_of"]

_RESOURCES: Final[Mapping[bool, str]] = {True: "NamespacedResource", False: "ClusterResource"}
REVIEWS: Final[Mapping[bool, str]] = {True: "NamespacedReviews", False: "ClusterReviews"}
"""The class of verbs, by whether the resource is namespaced."""
_PARTS: Final[Mapping[str, str]] = {
    "status": "StatusVerbs",
    "scale": "ScaleVerbs",
    "approval": "ApprovalVerbs",
    "binding": "BindingVerbs",
    "ephemeralcontainers": "EphemeralContainerVerbs",
    "eviction": "EvictionVerbs",
    "finalize": "FinalizeVerbs",
    "log": "LogVerbs",
    "proxy": "ProxyVerbs",
    "exec": "CopyVerbs",
    "attach": "AttachVerbs",
    "portforward": "PortForwardVerbs",
    "resize": "ResizeVerbs",
    "token": "TokenVerbs",
}
"""The class of verbs for each subresource, in the order in which a class has them as bases."""
_RESTART: Final = "RestartVerbs"
"""The class of the verb of workloads, which needs no subresource."""
_PORT_FORWARD: Final = _PARTS["portforward"]
"""The class of the verbs of what leads to pods, such as services, which needs no subresource."""
_API: Final = "masthead.api"


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a group.

    Attributes:
        kind: The kind of its objects.
        type: Their class, for type checkers: ``core_v1.Pod``.
        plural: The kind in the plural: ``Pods``.
        bases: The classes of its verbs.
        is_namespaced: Whether it takes a namespace.
        returns: The class that it returns, without its type: one of the kind's own, or the only base.
        is_watched: Whether its objects can be listed and watched.
        removal: Since when the resource is not served, and what replaces it; empty if it is served.
    """

    kind: str
    type: str
    plural: str
    bases: tuple[str, ...]
    is_namespaced: bool
    returns: str
    is_watched: bool = True
    removal: str = ""

    @property
    def name(self) -> str:
        """Its name: ``config_maps``."""
        return identifiers.attribute_name(self.plural, taken=())


@dataclass(frozen=True, slots=True)
class GroupDef:
    """A group at one version.

    Attributes:
        served: The group and version.
        module: The module of its types.
        methods: Its methods, by name.
        removal: Since when it is not served, and what replaces it; empty if it is served.
    """

    served: GroupVersion
    module: str
    methods: tuple[Method, ...]
    removal: str = ""

    @property
    def accessor(self) -> str:
        """Its attribute of the client, and the name of its types: ``core_v1``."""
        return "_".join(self.module.split(".")[-2:])

    @property
    def name(self) -> str:
        """The name of its class: ``CoreV1``."""
        return "".join(part.capitalize() for part in self.accessor.split("_"))

    @property
    def watched(self) -> GroupDef:
        """The group with those methods alone whose objects can be listed and watched."""
        return replace(self, methods=tuple(method for method in self.methods if method.is_watched))


def plural_of(kind: str, plural: str) -> str:
    """The plural as Go's clients spell it, with the capitals of the kind: ``IPAddresses``, ``ServiceCIDRs``."""
    shared = next((at for at, (a, b) in enumerate(zip(kind.lower(), plural, strict=False)) if a != b), len(kind))
    return kind[:shared] + plural[shared:]


def groups_of(spec: Spec) -> list[GroupDef]:
    """The groups of the clientset, in the order of their names."""
    modules = [module for module in types.modules_of(spec, _API) if any(_resources(module))]
    return sorted((_group(module) for module in modules), key=lambda each: each.accessor)


def _resources(module: ModuleDef) -> Iterator[tuple[ClassDef, Resource]]:
    for definition in module.classes:
        if definition.resource is not None and definition.resource.verbs:
            yield definition, definition.resource


def _group(module: ModuleDef) -> GroupDef:
    group = GroupDef(module.group_version, module.name, (), module.removal)
    methods: list[Method] = []
    for cls, resource in _resources(module):
        plural, bases = plural_of(cls.name, resource.name), _bases(resource, group.served.kind(cls.name))
        method = Method(
            cls.name,
            f"{group.accessor}.{cls.name}",
            plural,
            bases,
            resource.namespaced,
            returns=bases[0] if len(bases) == 1 else plural,
            is_watched={"list", "watch"} <= {*resource.verbs},
            removal=resource.removal,
        )
        methods.append(method)
    return replace(group, methods=tuple(sorted(methods, key=lambda each: each.name)))


def _bases(resource: Resource, gvk: GroupVersionKind) -> tuple[str, *tuple[str, ...]]:
    if resource.verbs == ("create",):
        return (REVIEWS[resource.namespaced],)
    present = {subresource.name for subresource in resource.subresources}
    parts = [base for part, base in _PARTS.items() if part in present]
    return (
        _RESOURCES[resource.namespaced],
        *parts,
        *((_RESTART,) if can_restart(gvk) else ()),
        *((_PORT_FORWARD,) if can_forward(gvk) else ()),
    )
