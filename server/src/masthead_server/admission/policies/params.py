"""Parameters of policies: the objects that a binding refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.validation.label_selectors import selects
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["ConfigurationError", "collect_params", "find_param_resource"]


class ConfigurationError(Exception):
    """A policy or a binding is unusable: its parameters are missing, or its namespace."""


def find_param_resource(cluster: ClusterState, kind: GroupVersionKind) -> ServedResource:
    """Return the resource of a paramKind.

    Raises:
        ConfigurationError: If it is not served.
    """
    served = cluster.catalog.by_kind(kind)
    if served is None:
        shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{shown}'")
    return served


def collect_params(
    cluster: ClusterState, served: ServedResource | None, reference: Plain | None, namespace: str
) -> list[Plain | None]:
    """Return the parameters of a binding, for each of which its policy is evaluated.

    Args:
        cluster: The cluster state.
        served: The resource of the paramKind; None if the policy has none.
        reference: The paramRef of the binding; None if it has none.
        namespace: The namespace of the request; empty for a cluster-scoped object.

    Raises:
        ConfigurationError: If there are none and there must be, or if the reference does not fit the resource.
    """
    # Without parameters a policy is evaluated once, with null.
    if served is None or reference is None:
        return [None]
    found = _find(cluster, served, reference, _choose_namespace(served, reference, namespace))
    if not found and text(reference, "parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _choose_namespace(served: ServedResource, reference: Plain, namespace: str) -> str:
    own = text(reference, "namespace")
    if not served.is_namespaced:
        if own:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not own and not namespace:
        problem = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        raise ConfigurationError(problem)
    return own or namespace


def _find(cluster: ClusterState, served: ServedResource, reference: Plain, namespace: str) -> list[Plain | None]:
    table = cluster.storage.table(served.table)
    if name := text(reference, "name"):
        record = table.get(served.key(namespace, name))
        return [] if record is None else [cluster.decode(served, record)]
    # In the order of their names; the real server has no order.
    selector = part(reference, "selector")
    prefix = f"{namespace}/" if namespace else ""
    records = list(table.scan(prefix, cluster.storage.revision))
    params = [cluster.decode(served, record) for record in records]
    return [found for found in params if selects(selector, part(part(found, "metadata"), "labels"))]
