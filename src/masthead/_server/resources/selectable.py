"""What field selectors can select by, and what the server says of the rest."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.table import BUILT_IN
from masthead._server.wire.failures import quoted
from masthead._server.wire.plain import Plain, items, part, text

_NAME: Final = "metadata.name"
_NAMESPACE: Final = "metadata.namespace"
_METADATA: Final = frozenset({_NAME, _NAMESPACE})

_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

# Beyond the name and the namespace. What stands here besides metadata is read from the path that it spells,
# unless `_READ` or `_FLAGS` and `_COUNTS` say otherwise.
_SUPPORTED: Final[dict[tuple[str, str], frozenset[str]]] = {
    ("", "events"): frozenset(
        {f"involvedObject.{each}" for each in _REFERENCE} | {"reason", "reportingComponent", "source", "type"}
    ),
    ("", "namespaces"): frozenset({"status.phase"}),
    ("", "nodes"): frozenset({"spec.unschedulable"}),
    ("", "pods"): frozenset(
        {
            "spec.host",
            "spec.hostNetwork",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
            "status.podIPs",
        }
    ),
    ("", "replicationcontrollers"): frozenset({"status.replicas"}),
    ("", "secrets"): frozenset({"type"}),
    ("", "services"): frozenset({"spec.clusterIP", "spec.type"}),
    ("batch", "jobs"): frozenset({"status.successful"}),
    ("certificates.k8s.io", "certificatesigningrequests"): frozenset({"spec.signerName"}),
    ("certificates.k8s.io", "clustertrustbundles"): frozenset({"spec.signerName"}),
    ("certificates.k8s.io", "podcertificaterequests"): frozenset(
        {"spec.nodeName", "spec.podName", "spec.signerName"}
    ),
    ("events.k8s.io", "events"): frozenset(
        {f"regarding.{each}" for each in _REFERENCE} | {"reason", "reportingController", "type"}
    ),
    ("resource.k8s.io", "resourceslices"): frozenset({"spec.driver", "spec.nodeName"}),
}
_WITHOUT_NAMESPACE: Final = frozenset(
    {
        ("", "namespaces"),
        ("", "nodes"),
        ("certificates.k8s.io", "certificatesigningrequests"),
        ("certificates.k8s.io", "clustertrustbundles"),
        ("certificates.k8s.io", "podcertificaterequests"),
        ("resource.k8s.io", "resourceslices"),
    }
)
"""Kinds that refuse ``metadata.namespace``; other cluster-scoped kinds know the field, and have nothing in it."""

_FLAGS: Final = frozenset({"spec.hostNetwork", "spec.unschedulable"})
_COUNTS: Final = frozenset({"status.replicas", "status.successful"})
_READ: Final = {
    "spec.host": "spec.nodeName",
    "status.successful": "status.succeeded",
}
"""Fields whose values lie elsewhere."""


def supported_fields(group: str, resource: str, *, namespaced: bool = True) -> frozenset[str]:
    """Return the fields that a selector may name.

    Args:
        group: The resource's group.
        resource: Its plural name.
        namespaced: Whether it lives in namespaces; only asked of custom resources.
    """
    key = (group, resource)
    common = _METADATA
    if key in _WITHOUT_NAMESPACE or (key not in BUILT_IN and not namespaced):
        common = frozenset({_NAME})
    return common | _SUPPORTED.get(key, frozenset())


def field_values(group: str, resource: str, obj: Plain) -> dict[str, str]:
    """Return what an object has in each field that a selector may name; a field that is missing is empty.

    An event is read the same in the shape of either of its groups, and has the fields of both.
    """
    meta = part(obj, "metadata")
    values = {_NAME: text(meta, "name"), _NAMESPACE: text(meta, "namespace")}
    if resource == "events" and (group, resource) in _SUPPORTED:
        return values | _event_values(obj)
    for field in _SUPPORTED.get((group, resource), ()):
        values[field] = _value(field, obj)
    return values


def unsupported_field_message(group: str, version: str, resource: str, field: str) -> str:
    """Say, as the real server would, that a selector names a field that is not supported."""
    key = (group, resource)
    if key == ("batch", "jobs"):
        return f"field label {quoted(field)} not supported for Job"
    if key == ("resource.k8s.io", "resourceslices"):
        return f"field label not supported for {group}/{version}, Kind=ResourceSlice: {field}"
    if key in _SUPPORTED or key not in BUILT_IN:
        return f"field label not supported: {field}"
    return f'{quoted(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'


def _value(field: str, obj: Plain) -> str:
    if field == "status.podIPs":
        return ""  # Accepted, and empty for every Pod.
    if field == "status.podIP":
        addresses = items(part(obj, "status"), "podIPs")
        return text(addresses[0], "ip") if addresses else ""
    owner, _, name = _READ.get(field, field).rpartition(".")
    found = (part(obj, owner) if owner else obj).get(name)
    if field in _FLAGS:
        return "true" if found is True else "false"
    if field in _COUNTS:
        return str(found or 0)
    return found if isinstance(found, str) else ""


def _event_values(event: Plain) -> dict[str, str]:
    reference = part(event, "involvedObject") or part(event, "regarding")
    source = part(event, "source") or part(event, "deprecatedSource")
    reporter = text(event, "reportingComponent") or text(event, "reportingController")
    values = {
        "reason": text(event, "reason"),
        "type": text(event, "type"),
        "reportingComponent": reporter,
        "reportingController": reporter,
        "source": text(source, "component") or reporter,
    }
    for owner in ("involvedObject", "regarding"):
        values |= {f"{owner}.{each}": text(reference, each) for each in _REFERENCE}
    return values
