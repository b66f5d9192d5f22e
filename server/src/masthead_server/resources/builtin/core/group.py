"""The resources of the core group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.builtin.event_field_selectors import (
    EVENT_READERS,
    read_reporter,
    read_source,
    reference_readers,
)
from masthead_server.resources.description import NOT_STORED, ResourceDescription, builtin_behavior
from masthead_server.resources.field_selectors import SelectableFields, count_at, flag_at, text_at, texts_at
from masthead_server.resources.strategy import (
    CREATE_ON_UPDATE,
    IGNORES_DEPENDENTS,
    LONG_NAME,
    ORPHANS_DEPENDENTS,
    RETURNS_DELETED,
    SPEC_GENERATION,
    UNVALIDATED_METADATA,
    UPDATE_THEN_WHOLE,
    WHOLE,
    WHOLE_ONLY,
    WHOLE_THEN_UPDATE,
    Strategy,
    generation,
    status,
)
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.wire.plain import Plain

__all__ = ["RESOURCES"]


def _first_pod_ip(pod: Plain) -> str:
    addresses = items(part(pod, "status"), "podIPs")
    return text(addresses[0], "ip") if addresses else ""


def _no_pod_ips(_pod: Plain) -> str:
    return ""  # The field is accepted, and empty for every Pod.


RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "bindings": NOT_STORED,
    "componentstatuses": ResourceDescription(is_stored=False, deprecated={"v1": "v1.19+"}),
    "configmaps": ResourceDescription(
        strategy=Strategy.of(UPDATE_THEN_WHOLE), behavior=builtin_behavior("core.configmap")
    ),
    "endpoints": ResourceDescription(
        strategy=Strategy.of(CREATE_ON_UPDATE, UPDATE_THEN_WHOLE),
        behavior=builtin_behavior("core.endpoints"),
        deprecated={"v1": "v1.33+; use discovery.k8s.io/v1 EndpointSlice"},
    ),
    "events": ResourceDescription(
        strategy=Strategy.of(CREATE_ON_UPDATE, UNVALIDATED_METADATA, IGNORES_DEPENDENTS),
        behavior=builtin_behavior("core.event"),
        selectable=SelectableFields(
            readers={
                **reference_readers("involvedObject"),
                **EVENT_READERS,
                "reportingComponent": read_reporter,
                "source": read_source,
            }
        ),
    ),
    "limitranges": ResourceDescription(
        strategy=Strategy.of(CREATE_ON_UPDATE, WHOLE_ONLY), behavior=builtin_behavior("core.limitrange")
    ),
    "namespaces": ResourceDescription(
        strategy=Strategy.of(status(), RETURNS_DELETED, WHOLE_THEN_UPDATE, {"name_rule": names.as_label}),
        behavior=builtin_behavior("core.namespace"),
        selectable=SelectableFields(readers=texts_at("status.phase"), has_namespace=False),
    ),
    "nodes": ResourceDescription(
        strategy=Strategy.of(WHOLE_THEN_UPDATE, {"has_status": True}),
        behavior=builtin_behavior("core.node"),
        selectable=SelectableFields(readers={"spec.unschedulable": flag_at("spec.unschedulable")}, has_namespace=False),
    ),
    "persistentvolumeclaims": ResourceDescription(
        strategy=Strategy.of(status(), RETURNS_DELETED, UPDATE_THEN_WHOLE),
        behavior=builtin_behavior("core.persistentvolumeclaim"),
    ),
    "persistentvolumes": ResourceDescription(
        # kube-apiserver validates the metadata of volumes twice.
        strategy=Strategy.of(status(), RETURNS_DELETED, {"rechecks": (WHOLE, WHOLE)}),
        behavior=builtin_behavior("core.persistentvolume"),
    ),
    "pods": ResourceDescription(
        strategy=Strategy.of(
            # Old kubelets corrupted owner references in status writes, which broke garbage collection.
            status(frozenset({"deletionTimestamp", "ownerReferences"})),
            SPEC_GENERATION,
            RETURNS_DELETED,
            UPDATE_THEN_WHOLE,
            {"graceful": True},
        ),
        behavior=builtin_behavior("core.pod.behavior"),
        selectable=SelectableFields(
            readers={
                **texts_at(
                    "spec.nodeName",
                    "spec.restartPolicy",
                    "spec.schedulerName",
                    "spec.serviceAccountName",
                    "status.nominatedNodeName",
                    "status.phase",
                ),
                # An old name of spec.nodeName, still accepted in selectors.
                "spec.host": text_at("spec.nodeName"),
                "spec.hostNetwork": flag_at("spec.hostNetwork"),
                "status.podIP": _first_pod_ip,
                "status.podIPs": _no_pod_ips,
            }
        ),
    ),
    "podtemplates": ResourceDescription(
        strategy=Strategy.of(generation("template"), RETURNS_DELETED),
        behavior=builtin_behavior("core.podtemplate"),
    ),
    "replicationcontrollers": ResourceDescription(
        strategy=Strategy.of(status(), SPEC_GENERATION, LONG_NAME, ORPHANS_DEPENDENTS),
        behavior=builtin_behavior("core.replicationcontroller"),
        selectable=SelectableFields(readers={"status.replicas": count_at("status.replicas")}),
    ),
    "resourcequotas": ResourceDescription(
        strategy=Strategy.of(status(), RETURNS_DELETED), behavior=builtin_behavior("core.resourcequota")
    ),
    "secrets": ResourceDescription(
        strategy=Strategy.of(UPDATE_THEN_WHOLE),
        behavior=builtin_behavior("core.secret"),
        selectable=SelectableFields(readers=texts_at("type")),
    ),
    "serviceaccounts": ResourceDescription(
        strategy=Strategy.of(RETURNS_DELETED, UPDATE_THEN_WHOLE),
        behavior=builtin_behavior("core.serviceaccount"),
    ),
    "services": ResourceDescription(
        strategy=Strategy.of(status(), CREATE_ON_UPDATE, RETURNS_DELETED, {"name_rule": names.as_label}),
        behavior=builtin_behavior("core.service.behavior"),
        selectable=SelectableFields(readers=texts_at("spec.clusterIP", "spec.type")),
    ),
}
"""The resources of the group, by name."""
