"""The registry of admission plugins: their names, their order and their defaults, as in kube-apiserver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from masthead.errors import ConfigError
from masthead_server.admission.chain import AdmissionChain
from masthead_server.admission.plugins.always_pull_images import AlwaysPullImages
from masthead_server.admission.plugins.certificate_approval import CertificateApproval
from masthead_server.admission.plugins.certificate_signing import CertificateSigning
from masthead_server.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from masthead_server.admission.plugins.cluster_trust_bundle_attest import ClusterTrustBundleAttest
from masthead_server.admission.plugins.default_ingress_class import DefaultIngressClass
from masthead_server.admission.plugins.default_storage_class import DefaultStorageClass
from masthead_server.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from masthead_server.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from masthead_server.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from masthead_server.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from masthead_server.admission.plugins.limit_ranger import LimitRanger
from masthead_server.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from masthead_server.admission.plugins.node_restriction import NodeRestriction
from masthead_server.admission.plugins.owner_references_permission_enforcement import (
    OwnerReferencesPermissionEnforcement,
)
from masthead_server.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from masthead_server.admission.plugins.pod_node_selector import PodNodeSelector
from masthead_server.admission.plugins.pod_resize_validator import PodResizeValidator
from masthead_server.admission.plugins.pod_security import PodSecurity
from masthead_server.admission.plugins.pod_toleration_restriction import PodTolerationRestriction
from masthead_server.admission.plugins.pod_topology_labels import PodTopologyLabels
from masthead_server.admission.plugins.priority import Priority
from masthead_server.admission.plugins.resource_quota import ResourceQuota
from masthead_server.admission.plugins.runtime_class import RuntimeClass
from masthead_server.admission.plugins.service_account import ServiceAccount
from masthead_server.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from masthead_server.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from masthead_server.admission.policies.mutating import MutatingAdmissionPolicy
from masthead_server.admission.policies.validating import ValidatingAdmissionPolicy
from masthead_server.admission.webhooks.plugins import MutatingAdmissionWebhook, ValidatingAdmissionWebhook

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from masthead_server.admission.plugin import AdmissionPlugin
    from masthead_server.cluster import ClusterState

__all__ = ["OFF_BY_DEFAULT", "PLUGINS", "UNAVAILABLE", "choose_plugins", "make_chain"]

PLUGINS: Final[Mapping[str, Callable[[ClusterState], AdmissionPlugin]]] = {
    "NamespaceLifecycle": NamespaceLifecycle,
    "LimitPodHardAntiAffinityTopology": LimitPodHardAntiAffinityTopology,
    "LimitRanger": LimitRanger,
    "ServiceAccount": ServiceAccount,
    "NodeRestriction": NodeRestriction,
    "TaintNodesByCondition": TaintNodesByCondition,
    "AlwaysPullImages": AlwaysPullImages,
    "PodSecurity": PodSecurity,
    "PodNodeSelector": PodNodeSelector,
    "Priority": Priority,
    "DefaultTolerationSeconds": DefaultTolerationSeconds,
    "PodTolerationRestriction": PodTolerationRestriction,
    "ExtendedResourceToleration": ExtendedResourceToleration,
    "DefaultStorageClass": DefaultStorageClass,
    "StorageObjectInUseProtection": StorageObjectInUseProtection,
    "OwnerReferencesPermissionEnforcement": OwnerReferencesPermissionEnforcement,
    "PersistentVolumeClaimResize": PersistentVolumeClaimResize,
    "RuntimeClass": RuntimeClass,
    "CertificateApproval": CertificateApproval,
    "CertificateSigning": CertificateSigning,
    "ClusterTrustBundleAttest": ClusterTrustBundleAttest,
    "CertificateSubjectRestriction": CertificateSubjectRestriction,
    "DefaultIngressClass": DefaultIngressClass,
    "DenyServiceExternalIPs": DenyServiceExternalIPs,
    "PodTopologyLabels": PodTopologyLabels,
    "PodResizeValidator": PodResizeValidator,
    "MutatingAdmissionPolicy": MutatingAdmissionPolicy,
    "MutatingAdmissionWebhook": MutatingAdmissionWebhook,
    "ValidatingAdmissionPolicy": ValidatingAdmissionPolicy,
    "ValidatingAdmissionWebhook": ValidatingAdmissionWebhook,
    "ResourceQuota": ResourceQuota,
}
"""Every plugin by its name, in the order in which they decide."""
OFF_BY_DEFAULT: Final[frozenset[str]] = frozenset(
    {
        "AlwaysPullImages",
        "DenyServiceExternalIPs",
        "ExtendedResourceToleration",
        "LimitPodHardAntiAffinityTopology",
        "NodeRestriction",
        "OwnerReferencesPermissionEnforcement",
        "PodNodeSelector",
        "PodTolerationRestriction",
    }
)
"""The plugins that must be enabled by name."""
UNAVAILABLE: Final[frozenset[str]] = frozenset(
    {
        "AlwaysAdmit",
        "AlwaysDeny",
        "EventRateLimit",
        "ImagePolicyWebhook",
        "JobValidation",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "NodeDeclaredFeatureValidator",
        "PodGroupProtection",
        "PodGroupWorkloadExists",
    }
)
"""The plugins of kube-apiserver that this server does not have."""


def make_chain(cluster: ClusterState, enabled: bool | Collection[str] | Mapping[str, bool]) -> AdmissionChain:
    """Make the chain of a server.

    Args:
        cluster: The cluster state.
        enabled: True for kube-apiserver's defaults, False for no plugin, the names of the only plugins to run, or a
            mapping that switches plugins on or off relative to the defaults.

    Raises:
        ConfigError: If there is no plugin of a name.
    """
    chosen = choose_plugins(enabled)
    chain = AdmissionChain([make(cluster) for name, make in PLUGINS.items() if name in chosen])
    # After the plugins, which have then observed a configuration when they are asked about it.
    chain.observe(cluster)
    return chain


def choose_plugins(enabled: bool | Collection[str] | Mapping[str, bool]) -> frozenset[str]:
    """Return the names of the plugins to run; `make_chain` explains the argument.

    Raises:
        ConfigError: If there is no plugin of a name, unless it is only to be switched off.
    """
    defaults = PLUGINS.keys() - OFF_BY_DEFAULT
    if isinstance(enabled, bool):
        return frozenset(defaults if enabled else ())
    is_relative = isinstance(enabled, Mapping)
    switches = dict(cast("Mapping[str, bool]", enabled)) if is_relative else dict.fromkeys(enabled, True)
    for name in sorted(switches.keys() - PLUGINS.keys()):
        if name not in UNAVAILABLE:
            raise ConfigError(f"there is no admission plugin {name!r}; there are {', '.join(PLUGINS)}")
        if switches[name]:
            raise ConfigError(f"the admission plugin {name} of kube-apiserver is not part of this server")
    return frozenset(name for name in PLUGINS if switches.get(name, is_relative and name in defaults))
