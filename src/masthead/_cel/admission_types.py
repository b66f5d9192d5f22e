"""Types of the variables of admission expressions."""

from __future__ import annotations

from typing import Final

from masthead._cel.library.authorization import AUTHORIZER, RESOURCE_CHECK
from masthead._cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of, object_type

__all__ = ["MATCH_VARIABLES", "NAMESPACE", "REQUEST"]

_TEXTS: Final = list_of(STRING)
_KIND: Final = object_type("kubernetes.GroupVersionKind", dict.fromkeys(("group", "version", "kind"), STRING))
_RESOURCE: Final = object_type(
    "kubernetes.GroupVersionResource", dict.fromkeys(("group", "version", "resource"), STRING)
)
_USER: Final = object_type(
    "kubernetes.UserInfo", {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": map_of(STRING, _TEXTS)}
)
REQUEST: Final = object_type(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
"""The type of ``request``."""
_LABELS: Final = map_of(STRING, STRING)
_CONDITION: Final = object_type(
    "kubernetes.NamespaceCondition",
    {"status": STRING, "type": STRING, "lastTransitionTime": TIMESTAMP, "message": STRING, "reason": STRING},
)
NAMESPACE: Final = object_type(
    "kubernetes.Namespace",
    {
        "metadata": object_type(
            "kubernetes.NamespaceMetadata",
            {
                "name": STRING,
                "generateName": STRING,
                "namespace": STRING,
                "labels": _LABELS,
                "annotations": _LABELS,
                "UID": STRING,
                "creationTimestamp": TIMESTAMP,
                "deletionGracePeriodSeconds": INT,
                "deletionTimestamp": TIMESTAMP,
                "generation": INT,
                "resourceVersion": STRING,
                "finalizers": _TEXTS,
            },
        ),
        "spec": object_type("kubernetes.NamespaceSpec", {"finalizers": _TEXTS}),
        "status": object_type("kubernetes.NamespaceStatus", {"conditions": list_of(_CONDITION), "phase": STRING}),
    },
)
"""The type of ``namespaceObject``."""
MATCH_VARIABLES: Final[dict[str, Type]] = {
    "object": DYN,
    "oldObject": DYN,
    "request": REQUEST,
    "namespaceObject": NAMESPACE,
    "authorizer": AUTHORIZER,
    "authorizer.requestResource": RESOURCE_CHECK,
}
"""The variables of a webhook's match conditions."""
