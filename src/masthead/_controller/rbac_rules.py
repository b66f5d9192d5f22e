"""The RBAC rules that a manager needs, from the declarations of its controllers.

All requests of the package are covered here. Programs declare their other requests with `Permission`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from masthead._meta import fields
from masthead._meta.unstructured import Unstructured
from masthead._webhook.locations import service_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead._controller.controller import Controller
    from masthead._controller.declarations import WatchSpec
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions
    from masthead._controller.permissions import Permission
    from masthead._webhook.configurations import Webhooks

__all__ = ["Grant", "RbacRule", "grants_of", "is_granted", "rules_of"]

CLUSTER: Final = ""
"""The namespace of a grant for all namespaces, or for cluster-scoped resources."""

_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_READ: Final = ("get", "list", "watch")
_OWN: Final = ("create", "patch", "delete")
_EVENTS: Final = "events.k8s.io"
_EVENTS_OF_CLUSTER_SCOPED: Final = "default"
"""The namespace of Events about cluster-scoped objects."""
_LEASES: Final = "coordination.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_EXTENSIONS: Final = "apiextensions.k8s.io"
_NAME: Final = "metadata.name"
_BUILTIN_TYPES: Final = "masthead.api."


class Grant(NamedTuple):
    """One verb on one resource.

    Attributes:
        namespace: The namespace; empty for all namespaces, and for cluster-scoped resources.
        group: The group of the resource; empty for the core group.
        resource: The plural, with the subresource: ``websites/status``.
        verb: The verb, such as ``get``.
        name: Only the object with this name; empty for all.
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
        names: Only objects with these names; empty for all.
    """

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        """Return the rule as plain data."""
        made = {
            "apiGroups": list(self.groups),
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return {**made, "resourceNames": list(self.names)} if self.names else made


def grants_of(manager: Manager, options: RunOptions, namespace: str) -> frozenset[Grant]:
    """Return the grants that a manager needs.

    Args:
        manager: The manager.
        options: The options of its run.
        namespace: The namespace of its pod.
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
    if manager.webhooks and options.webhook_bind != "0" and not options.webhook_cert_dir:
        found.update(_of_webhooks(manager, namespace))
    return frozenset(grant for grant in found if not _is_implied(grant, found))


def rules_of(grants: Iterable[Grant]) -> Mapping[str, tuple[RbacRule, ...]]:
    """Return the minimal rules by namespace, in a fixed order. Rules for the cluster have an empty namespace."""
    # Merged in three steps: verbs of one object, names with equal verbs, resources with equal verbs and names.
    verbs: dict[tuple[str, str, str, str], set[str]] = {}
    for grant in grants:
        verbs.setdefault((grant.namespace, grant.group, grant.resource, grant.name), set()).add(grant.verb)
    names: dict[tuple[str, str, str, tuple[str, ...], bool], set[str]] = {}
    for (namespace, group, resource, name), given in verbs.items():
        # A rule without names is for all objects, so it must not be merged with rules for names.
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
    """Whether RBAC allows a request."""
    return any(
        grant.namespace in {CLUSTER, wanted.namespace}
        and grant.group in {"*", wanted.group}
        and grant.resource in {"*", wanted.resource}
        and grant.verb in {"*", wanted.verb}
        and grant.name in {"", wanted.name}
        for grant in grants
    )


def _is_implied(grant: Grant, others: set[Grant]) -> bool:
    """Whether a wider grant includes this one."""
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
        # The admission plugin OwnerReferencesPermissionEnforcement asks for it: our references block the owner's
        # deletion.
        yield from _grants(primary, options, ["update"], "finalizers")
    yield from _of_status(primary, options)
    for permission in controller.permissions:
        yield from _of_permission(permission, options.namespaces)
    for namespace in _namespaces(primary, options):
        is_elsewhere = options.namespaces and not _is_namespaced(primary)
        yield from _of_events(_EVENTS_OF_CLUSTER_SCOPED if is_elsewhere else namespace)


def _of_events(namespace: str) -> Iterator[Grant]:
    yield Grant(namespace, _EVENTS, "events", "create")
    # A repeated Event becomes a series.
    yield Grant(namespace, _EVENTS, "events", "patch")


def _of_status(primary: WatchSpec, options: RunOptions) -> Iterator[Grant]:
    """Yield the grants for the status of a custom resource. The status of a built-in kind has another controller."""
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
    name = _join_path(resource.resource, permission.subresource)
    for namespace in given if given and is_namespaced else (CLUSTER,):
        for verb in permission.verbs:
            for object_name in permission.names or ("",):
                yield Grant(namespace, resource.group, name, verb, object_name)


def _of_lease(namespace: str, name: str) -> Iterator[Grant]:
    # RBAC does not know the name of a new object, because it is in the request body.
    yield Grant(namespace, _LEASES, "leases", "create")
    yield Grant(namespace, _LEASES, "leases", "get", name)
    yield Grant(namespace, _LEASES, "leases", "update", name)
    yield from _of_events(namespace)


def _of_shards(namespace: str) -> Iterator[Grant]:
    # Every replica has a lease, and the group has one. The names of the replicas are unknown.
    for verb in ("get", "list", "create", "update", "delete"):
        yield Grant(namespace, _LEASES, "leases", verb)
    yield from _of_events(namespace)


def _of_webhooks(manager: Manager, namespace: str) -> Iterator[Grant]:
    # The certificate, shared by all replicas.
    secret = service_name(manager.name)
    yield Grant(namespace, "", "secrets", "create")
    yield Grant(namespace, "", "secrets", "get", secret)
    yield Grant(namespace, "", "secrets", "update", secret)
    # The bundles of the configurations and definitions.
    webhooks = manager.webhooks
    targets = [(_ADMISSION, f"{adjective}webhookconfigurations", manager.name) for adjective in _adjectives(webhooks)]
    targets += [(_EXTENSIONS, "customresourcedefinitions", name) for name in webhooks.definition_names()]
    for group, resource, name in targets:
        for verb in ("list", "watch", "patch"):
            yield Grant(CLUSTER, group, resource, verb, name)


def _adjectives(webhooks: Webhooks) -> list[str]:
    roles = {"mutate": "mutating", "validate": "validating"}
    return [roles[role] for role in dict.fromkeys(webhook.role for webhook in webhooks.admission)]


def _grants(spec: WatchSpec, options: RunOptions, verbs: Iterable[str], subresource: str = "") -> Iterator[Grant]:
    resource, name = spec.resource, _only_name(spec)
    for namespace in _namespaces(spec, options):
        for verb in verbs:
            yield Grant(namespace, resource.group, _join_path(resource.resource, subresource), verb, name)


def _namespaces(spec: WatchSpec, options: RunOptions) -> tuple[str, ...]:
    given = options.namespaces if spec.namespace is None else spec.namespace
    return given if given and _is_namespaced(spec) else (CLUSTER,)


def _only_name(spec: WatchSpec) -> str:
    """Return the name in a field selector; empty for all. RBAC allows such a list by the name."""
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
    """Whether a kind is namespaced; true for a resource without a class, because only the server knows."""
    resource = spec.kind.RESOURCE if isinstance(spec.kind, type) else None
    return resource is None or resource.namespaced


def _is_builtin(spec: WatchSpec) -> bool:
    kind, group = spec.kind, spec.resource.group
    # Generated classes are built in; a custom resource is a class of the program.
    if isinstance(kind, type) and not issubclass(kind, Unstructured):
        return kind.__module__.startswith(_BUILTIN_TYPES)
    # Kubernetes reserves these groups.
    return "." not in group or group.endswith(".k8s.io")


def _join_path(resource: str, subresource: str) -> str:
    return f"{resource}/{subresource}" if subresource else resource


def _in_order(verbs: set[str]) -> tuple[str, ...]:
    return (*(verb for verb in _VERBS if verb in verbs), *sorted(verbs.difference(_VERBS)))
