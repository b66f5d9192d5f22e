"""The facts about every resource of Kubernetes 1.36, one row for each.

A row names only what differs from `Facts`' defaults, which are those of a plain built-in kind: named by a DNS
subdomain, without status and generation, and updated without a resourceVersion if a writer wants that.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, TypedDict

from masthead._server.resources import names

EVERYTHING: Final = "*"
"""Stands among what a generation watches for all of an object but its metadata."""

SYSTEM_METADATA: Final = frozenset(
    {"deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"}
)
"""What a write to most younger kinds' status leaves as it was."""

ALL_METADATA: Final = SYSTEM_METADATA | {
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
}
"""All of the metadata but managedFields, where the write itself is recorded."""

WHOLE: Final = "whole"
UPDATE: Final = "update"


Dependents: TypeAlias = Literal["delete", "orphan", "ignore"]


class Facts(TypedDict, total=False):
    """What a row may say; `masthead._server.resources.strategy.Strategy` explains each."""

    create_on_update: bool
    unconditional_update: bool
    returns_deleted: bool
    has_status: bool
    drops_status: bool
    status_keeps: frozenset[str]
    first_generation: int | None
    watches: tuple[str, ...]
    name_rule: names.NameRule
    checks_generate_name: bool
    known_finalizers: bool
    rechecks: tuple[str, ...]
    graceful: bool
    dependents: Dependents


_NOTHING: Final[frozenset[str]] = frozenset()


def _status(keeps: frozenset[str] = _NOTHING) -> Facts:
    """Create drops the status and update keeps it; a write to it keeps these fields of the metadata."""
    return {"has_status": True, "drops_status": True, "status_keeps": keeps}


def _generation(*watched: str) -> Facts:
    """1 at first, and one more whenever one of these changes."""
    return {"first_generation": 1, "watches": watched}


_SPEC: Final = _generation("spec")
_DELETED: Final[Facts] = {"returns_deleted": True}
_CONDITIONAL: Final[Facts] = {"unconditional_update": False}
_CREATED: Final[Facts] = {"create_on_update": True}
_TWICE: Final[Facts] = {"rechecks": (WHOLE, UPDATE)}
_BACKWARDS: Final[Facts] = {"rechecks": (UPDATE, WHOLE)}
_WHOLE: Final[Facts] = {"rechecks": (WHOLE,)}
_PLAIN: Final[Facts] = {"known_finalizers": False}
_UNCHECKED: Final[Facts] = {"name_rule": names.as_url_part, "known_finalizers": False, "rechecks": ()}
_GENERATED: Final[Facts] = {"name_rule": names.as_long_name, "checks_generate_name": False}
_ORPHANED: Final[Facts] = {"dependents": "orphan"}
_IGNORED: Final[Facts] = {"dependents": "ignore"}
_ADMISSION: Final[Facts] = {**_CONDITIONAL, **_PLAIN, **_WHOLE}
_RBAC: Final[Facts] = {**_CREATED, **_TWICE, "name_rule": names.as_path_segment}

CUSTOM: Final[Facts] = {
    **_status(ALL_METADATA),
    **_generation(EVERYTHING),
    **_CONDITIONAL,
    **_PLAIN,
}
"""Custom resources; whether there is a status is up to their definition."""

BUILT_IN: Final[dict[tuple[str, str], Facts]] = {
    ("", "bindings"): {},
    ("", "componentstatuses"): {},
    ("", "configmaps"): {**_BACKWARDS},
    ("", "endpoints"): {**_CREATED, **_BACKWARDS},
    ("", "events"): {**_CREATED, **_UNCHECKED, **_IGNORED},
    ("", "limitranges"): {**_CREATED, **_WHOLE},
    ("", "namespaces"): {**_status(), **_DELETED, **_TWICE, "name_rule": names.as_label},
    ("", "nodes"): {"has_status": True, **_TWICE},
    ("", "persistentvolumeclaims"): {**_status(), **_DELETED, **_BACKWARDS},
    ("", "persistentvolumes"): {**_status(), **_DELETED, "rechecks": (WHOLE, WHOLE)},
    ("", "pods"): {
        **_status(frozenset({"ownerReferences"})),
        **_SPEC,
        **_DELETED,
        **_BACKWARDS,
        "graceful": True,
    },
    ("", "podtemplates"): {**_generation("template"), **_DELETED},
    ("", "replicationcontrollers"): {**_status(), **_SPEC, **_GENERATED, **_ORPHANED},
    ("", "resourcequotas"): {**_status(), **_DELETED},
    ("", "secrets"): {**_BACKWARDS},
    ("", "serviceaccounts"): {**_DELETED, **_BACKWARDS},
    ("", "services"): {**_status(), **_CREATED, **_DELETED, "name_rule": names.as_label},
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): {**_SPEC, **_ADMISSION},
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): {**_SPEC, **_ADMISSION},
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): {
        **_generation("webhooks"),
        **_ADMISSION,
    },
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): {
        **_status(SYSTEM_METADATA),
        **_SPEC,
        **_ADMISSION,
    },
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): {**_SPEC, **_ADMISSION},
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): {
        **_generation("webhooks"),
        **_ADMISSION,
    },
    ("apiextensions.k8s.io", "customresourcedefinitions"): {
        **_status(),
        **_SPEC,
        **_CONDITIONAL,
        **_PLAIN,
        "name_rule": names.as_definition,
    },
    ("apiregistration.k8s.io", "apiservices"): {
        **_status(frozenset({"labels", "annotations", "finalizers", "ownerReferences"})),
        **_CONDITIONAL,
        **_PLAIN,
        **_BACKWARDS,
        "name_rule": names.as_api_service,
    },
    ("apps", "controllerrevisions"): {**_BACKWARDS},
    ("apps", "daemonsets"): {**_status(), **_SPEC},
    ("apps", "deployments"): {
        **_status(frozenset({"labels"})),
        **_generation("spec", "metadata.annotations"),
    },
    ("apps", "replicasets"): {**_status(), **_SPEC},
    ("apps", "statefulsets"): {**_status(), **_SPEC, "name_rule": names.as_label},
    ("autoscaling", "horizontalpodautoscalers"): {**_status()},
    ("batch", "cronjobs"): {**_status(), **_SPEC, "name_rule": names.as_cron_job},
    ("batch", "jobs"): {**_status(), **_SPEC, **_TWICE, **_ORPHANED},
    ("certificates.k8s.io", "certificatesigningrequests"): {
        **_status(),
        **_TWICE,
        "name_rule": names.as_anything,
    },
    ("certificates.k8s.io", "clustertrustbundles"): {
        **_CONDITIONAL,
        **_TWICE,
        "name_rule": names.as_trust_bundle,
    },
    ("certificates.k8s.io", "podcertificaterequests"): {**_status(SYSTEM_METADATA), **_CONDITIONAL},
    ("coordination.k8s.io", "leasecandidates"): {
        **_CREATED,
        **_CONDITIONAL,
        **_PLAIN,
        "name_rule": names.as_config_key,
    },
    ("coordination.k8s.io", "leases"): {**_CREATED, **_CONDITIONAL, **_PLAIN},
    ("discovery.k8s.io", "endpointslices"): {**_generation(EVERYTHING, "metadata.labels"), **_WHOLE},
    ("events.k8s.io", "events"): {**_CREATED, **_IGNORED},
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): {**_status(ALL_METADATA), **_SPEC, **_WHOLE},
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): {
        **_status(ALL_METADATA),
        **_SPEC,
        **_WHOLE,
    },
    ("internal.apiserver.k8s.io", "storageversions"): {
        **_status(SYSTEM_METADATA),
        **_CONDITIONAL,
        "name_rule": names.as_storage_version,
        "rechecks": (),
    },
    ("networking.k8s.io", "ingressclasses"): {**_SPEC, **_BACKWARDS},
    ("networking.k8s.io", "ingresses"): {**_status(), **_SPEC, **_BACKWARDS},
    ("networking.k8s.io", "ipaddresses"): {**_TWICE, "name_rule": names.as_ip_address},
    ("networking.k8s.io", "networkpolicies"): {**_SPEC},
    ("networking.k8s.io", "servicecidrs"): {**_status(SYSTEM_METADATA)},
    ("node.k8s.io", "runtimeclasses"): {**_CREATED, **_CONDITIONAL, **_PLAIN, **_TWICE},
    ("policy", "poddisruptionbudgets"): {**_status(), **_SPEC, **_CONDITIONAL, **_UNCHECKED},
    ("rbac.authorization.k8s.io", "clusterrolebindings"): {**_RBAC},
    ("rbac.authorization.k8s.io", "clusterroles"): {**_RBAC},
    ("rbac.authorization.k8s.io", "rolebindings"): {**_RBAC},
    ("rbac.authorization.k8s.io", "roles"): {**_RBAC},
    ("resource.k8s.io", "deviceclasses"): {**_SPEC, **_DELETED, **_TWICE, **_GENERATED},
    ("resource.k8s.io", "devicetaintrules"): {**_status(SYSTEM_METADATA), **_SPEC, **_DELETED},
    ("resource.k8s.io", "resourceclaims"): {**_status(SYSTEM_METADATA), **_DELETED, **_TWICE},
    ("resource.k8s.io", "resourceclaimtemplates"): {**_DELETED, **_TWICE},
    ("resource.k8s.io", "resourcepoolstatusrequests"): {
        **_status(SYSTEM_METADATA),
        **_CONDITIONAL,
        **_DELETED,
    },
    ("resource.k8s.io", "resourceslices"): {**_SPEC, **_DELETED},
    ("scheduling.k8s.io", "podgroups"): {**_status(SYSTEM_METADATA)},
    ("scheduling.k8s.io", "priorityclasses"): {**_generation()},
    ("scheduling.k8s.io", "workloads"): {},
    # A CSIDriver counts its changes, but begins to count at the first of them.
    ("storage.k8s.io", "csidrivers"): {"watches": ("spec",), **_CONDITIONAL, **_DELETED},
    ("storage.k8s.io", "csinodes"): {**_CONDITIONAL, **_DELETED, **_WHOLE},
    ("storage.k8s.io", "csistoragecapacities"): {**_CONDITIONAL, **_TWICE},
    ("storage.k8s.io", "storageclasses"): {**_DELETED, **_TWICE},
    ("storage.k8s.io", "volumeattachments"): {
        **_status(SYSTEM_METADATA),
        **_CONDITIONAL,
        **_DELETED,
        **_WHOLE,
    },
    ("storage.k8s.io", "volumeattributesclasses"): {**_DELETED, **_BACKWARDS},
    ("storagemigration.k8s.io", "storageversionmigrations"): {
        **_status(SYSTEM_METADATA),
        **_CONDITIONAL,
        **_TWICE,
    },
}
