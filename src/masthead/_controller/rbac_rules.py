"""What a manager may have to do, as RBAC rules: from what its controllers declare.

Each request of the package itself has its place in here; what a program does beside that, it says with `Permission`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from masthead._meta import fields
from masthead._meta.unstructured import Unstructured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead._controller.controller import Controller
    from masthead._controller.declarations import WatchSpec
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions
    from masthead._controller.permissions import Permission

__all__ = ["Grant", "RbacRule", "grants_of", "is_granted", "rules_of"]

CLUSTER: Final = ""
"""The namespace of a grant for all namespaces, or for what is in none."""

_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_READ: Final = ("get", "list", "watch")
_OWN: Final = ("create", "patch", "delete")
_EVENTS: Final = "events.k8s.io"
_EVENTS_OF_CLUSTER_SCOPED: Final = "default"
"""The namespace of events about objects that are in none."""
_LEASES: Final = "coordination.k8s.io"
_NAME: Final = "metadata.name"
_BUILTIN_TYPES: Final = "masthead.api."


class Grant(NamedTuple):
    """One verb on one resource.

    Attributes:
        namespace: Where; empty for all namespaces, and for what is in none.
        group: The group of the resource; empty for the core group.
        resource: The plural, with the subresource: ``websites/status``.
        verb: Such as ``get``.
        name: Only the object of this name; empty for all.
    """

    namespace: str
    group: str
    resource: str
    verb: str
    name: str = ""


class RbacRule(NamedTuple):
    """A PolicyRule of RBAC.

    Attributes:
        groups: The groups.
        resources: The resources, with subresources.
        verbs: The verbs.
        names: Only objects of these names; empty for all.
    """

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        """The rule as plain data."""
        made = {
            "apiGroups": list(self.groups),
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return {**made, "resourceNames": list(self.names)} if self.names else made


def grants_of(manager: Manager, options: RunOptions, namespace: str) -> frozenset[Grant]:
    """What a manager may have to do.

    Args:
        manager: The manager.
        options: How it runs.
        namespace: The namespace that it runs in.
    """
    found: set[Grant] = set()
    for controller in manager.controllers:
        found.update(_of_controller(controller, options))
    for permission in manager.permissions:
        found.update(_of_permission(permission, options.namespaces))
    leases = options.leader_election_namespace or namespace
    if options.leader_election:
        found.update(_of_lease(leases, options.leader_election_id))
    if options.sharding:
        found.update(_of_shards(leases))
    return frozenset(each for each in found if not _is_implied(each, found))


def rules_of(grants: Iterable[Grant]) -> Mapping[str, tuple[RbacRule, ...]]:
    """The rules of each namespace, as few as possible, in a fixed order; those for the cluster under an empty name."""
    verbs: dict[tuple[str, str, str, str], set[str]] = {}
    for grant in grants:
        verbs.setdefault((grant.namespace, grant.group, grant.resource, grant.name), set()).add(grant.verb)
    names: dict[tuple[str, str, str, tuple[str, ...], bool], set[str]] = {}
    for (namespace, group, resource, name), given in verbs.items():
        names.setdefault((namespace, group, resource, _in_order(given), bool(name)), set()).add(name)
    resources: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], set[str]] = {}
    for (namespace, group, resource, in_order, _), named in names.items():
        key = (namespace, group, in_order, tuple(sorted(named - {""})))
        resources.setdefault(key, set()).add(resource)
    found: dict[str, list[RbacRule]] = {}
    for (namespace, group, in_order, only), alike in resources.items():
        found.setdefault(namespace, []).append(RbacRule((group,), tuple(sorted(alike)), in_order, only))
    return {namespace: tuple(sorted(found[namespace])) for namespace in sorted(found)}


def is_granted(grants: Iterable[Grant], wanted: Grant) -> bool:
    """Whether a request is allowed, as RBAC decides it."""
    return any(
        grant.namespace in {CLUSTER, wanted.namespace}
        and grant.group in {"*", wanted.group}
        and grant.resource in {"*", wanted.resource}
        and grant.verb in {"*", wanted.verb}
        and grant.name in {"", wanted.name}
        for grant in grants
    )


def _is_implied(grant: Grant, others: set[Grant]) -> bool:
    """Whether another grant allows it for more objects."""
    wider = {
        grant._replace(namespace=CLUSTER),
        grant._replace(name=""),
        grant._replace(namespace=CLUSTER, name=""),
    }
    return bool((wider - {grant}) & others)


def _of_controller(controller: Controller[Any], options: RunOptions) -> Iterator[Grant]:
    for spec in controller.specs:
        yield from _grants(spec, options, _READ)
        if spec.role == "owns":
            yield from _grants(spec, options, _OWN)
    primary = controller.primary
    if controller.finalizer:
        yield from _grants(primary, options, ["patch"])
    if any(spec.role == "owns" for spec in controller.specs):
        # Owner references block the deletion of the owner: some clusters ask for this permission then.
        yield from _grants(primary, options, ["update"], "finalizers")
    yield from _of_status(primary, options)
    for permission in controller.permissions:
        yield from _of_permission(permission, options.namespaces)
    for namespace in _namespaces(primary, options):
        is_elsewhere = options.namespaces and not _is_namespaced(primary)
        yield from _of_events(_EVENTS_OF_CLUSTER_SCOPED if is_elsewhere else namespace)


def _of_events(namespace: str) -> Iterator[Grant]:
    yield Grant(namespace, _EVENTS, "events", "create")
    # One that is repeated becomes a series.
    yield Grant(namespace, _EVENTS, "events", "patch")


def _of_status(primary: WatchSpec, options: RunOptions) -> Iterator[Grant]:
    """The status of a custom resource is its controller's; that of Kubernetes' own kinds is not."""
    if _is_builtin(primary):
        return
    kind = primary.kind
    resource = kind.RESOURCE if isinstance(kind, type) else None
    if resource is None or resource.subresource("status") is not None:
        yield from _grants(primary, options, ["patch"], "status")
    elif isinstance(kind, type) and "status" in kind.__struct_fields__:
        yield from _grants(primary, options, ["patch"])


def _of_permission(permission: Permission, watched: tuple[str, ...]) -> Iterator[Grant]:
    resource, kind = permission.resource, permission.kind
    is_namespaced = not isinstance(kind, type) or kind.RESOURCE is None or kind.RESOURCE.namespaced
    given = watched if permission.namespaces is None else permission.namespaces
    name = _joined(resource.resource, permission.subresource)
    for namespace in given if given and is_namespaced else (CLUSTER,):
        for verb in permission.verbs:
            for each in permission.names or ("",):
                yield Grant(namespace, resource.group, name, verb, each)


def _of_lease(namespace: str, name: str) -> Iterator[Grant]:
    # The name of an object that is being created is in its body, where RBAC does not look.
    yield Grant(namespace, _LEASES, "leases", "create")
    yield Grant(namespace, _LEASES, "leases", "get", name)
    yield Grant(namespace, _LEASES, "leases", "update", name)
    yield from _of_events(namespace)


def _of_shards(namespace: str) -> Iterator[Grant]:
    # A lease of each replica, and one for all; the names of the replicas are not known.
    for verb in ("get", "list", "create", "update", "delete"):
        yield Grant(namespace, _LEASES, "leases", verb)
    yield from _of_events(namespace)


def _grants(spec: WatchSpec, options: RunOptions, verbs: Iterable[str], subresource: str = "") -> Iterator[Grant]:
    resource, name = spec.resource, _only_name(spec)
    for namespace in _namespaces(spec, options):
        for verb in verbs:
            yield Grant(namespace, resource.group, _joined(resource.resource, subresource), verb, name)


def _namespaces(spec: WatchSpec, options: RunOptions) -> tuple[str, ...]:
    given = options.namespaces if spec.namespace is None else spec.namespace
    return given if given and _is_namespaced(spec) else (CLUSTER,)


def _only_name(spec: WatchSpec) -> str:
    """The name that a field selector asks for; empty for all. RBAC knows that a list with it reads that object only."""
    given = spec.field_selector
    if given is None:
        return ""
    if isinstance(given, Mapping):
        return given.get(_NAME, "")
    selector = fields.parse(given) if isinstance(given, str) else given
    return next(
        (
            requirement.value
            for requirement in selector.requirements
            if (requirement.key, requirement.operator) == (_NAME, "=")
        ),
        "",
    )


def _is_namespaced(spec: WatchSpec) -> bool:
    """Whether objects are namespaced; of a resource without a class, only the server knows."""
    resource = spec.kind.RESOURCE if isinstance(spec.kind, type) else None
    return resource is None or resource.namespaced


def _is_builtin(spec: WatchSpec) -> bool:
    kind, group = spec.kind, spec.resource.group
    if isinstance(kind, type) and not issubclass(kind, Unstructured):
        return kind.__module__.startswith(_BUILTIN_TYPES)
    return "." not in group or group.endswith(".k8s.io")


def _joined(resource: str, subresource: str) -> str:
    return f"{resource}/{subresource}" if subresource else resource


def _in_order(verbs: set[str]) -> tuple[str, ...]:
    return (*(each for each in _VERBS if each in verbs), *sorted(verbs.difference(_VERBS)))
