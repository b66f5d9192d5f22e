"""Paths of the resources that cases refer to by a short name."""

from __future__ import annotations

_CORE = "v1"

NAMESPACED = {
    "configmaps": _CORE,
    "endpoints": _CORE,
    "events": _CORE,
    "limitranges": _CORE,
    "persistentvolumeclaims": _CORE,
    "pods": _CORE,
    "podtemplates": _CORE,
    "replicationcontrollers": _CORE,
    "resourcequotas": _CORE,
    "secrets": _CORE,
    "serviceaccounts": _CORE,
    "services": _CORE,
    "controllerrevisions": "apps/v1",
    "daemonsets": "apps/v1",
    "deployments": "apps/v1",
    "replicasets": "apps/v1",
    "statefulsets": "apps/v1",
    "horizontalpodautoscalers": "autoscaling/v2",
    "cronjobs": "batch/v1",
    "jobs": "batch/v1",
    "leases": "coordination.k8s.io/v1",
    "endpointslices": "discovery.k8s.io/v1",
    "ingresses": "networking.k8s.io/v1",
    "networkpolicies": "networking.k8s.io/v1",
    "poddisruptionbudgets": "policy/v1",
    "rolebindings": "rbac.authorization.k8s.io/v1",
    "roles": "rbac.authorization.k8s.io/v1",
    "resourceclaims": "resource.k8s.io/v1",
    "resourceclaimtemplates": "resource.k8s.io/v1",
}
CLUSTER_SCOPED = {
    "namespaces": _CORE,
    "nodes": _CORE,
    "persistentvolumes": _CORE,
    "mutatingadmissionpolicies": "admissionregistration.k8s.io/v1",
    "mutatingadmissionpolicybindings": "admissionregistration.k8s.io/v1",
    "validatingadmissionpolicies": "admissionregistration.k8s.io/v1",
    "validatingadmissionpolicybindings": "admissionregistration.k8s.io/v1",
    "customresourcedefinitions": "apiextensions.k8s.io/v1",
    "apiservices": "apiregistration.k8s.io/v1",
    "certificatesigningrequests": "certificates.k8s.io/v1",
    "flowschemas": "flowcontrol.apiserver.k8s.io/v1",
    "prioritylevelconfigurations": "flowcontrol.apiserver.k8s.io/v1",
    "ingressclasses": "networking.k8s.io/v1",
    "runtimeclasses": "node.k8s.io/v1",
    "clusterrolebindings": "rbac.authorization.k8s.io/v1",
    "clusterroles": "rbac.authorization.k8s.io/v1",
    "deviceclasses": "resource.k8s.io/v1",
    "devicetaintrules": "resource.k8s.io/v1beta2",
    "resourceslices": "resource.k8s.io/v1",
    "priorityclasses": "scheduling.k8s.io/v1",
    "csidrivers": "storage.k8s.io/v1",
    "storageclasses": "storage.k8s.io/v1",
    "volumeattachments": "storage.k8s.io/v1",
}


def path_of(resource: str, namespace: str) -> str:
    """The path of a collection.

    Args:
        resource: A name of the tables above, or ``group/version/resource`` where another version is meant.
        namespace: Empty for that of all namespaces.
    """
    version, _, plural = resource.rpartition("/")
    version = version or NAMESPACED.get(plural) or CLUSTER_SCOPED[plural]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    within = f"/namespaces/{namespace}" if namespace and plural not in CLUSTER_SCOPED else ""
    return f"{root}{within}/{plural}"
