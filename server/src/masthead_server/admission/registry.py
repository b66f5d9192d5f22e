"""The registry of admission plugins: their names, their order and their defaults, as in kube-apiserver."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from masthead.errors import ConfigError
from masthead_server.admission.chain import AdmissionChain
from masthead_server.admission.plugin import AdmissionPlugin, PluginEntry

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead_server.cluster import ClusterState

__all__ = ["OFF_BY_DEFAULT", "PLUGINS", "UNAVAILABLE", "choose_plugins", "make_chain"]

_MIN_SIMILARITY: Final = 0.75
"""The similarity of a misspelt name and the intended one, from 0 to 1."""


def _make(module: str, name: str, cluster: ClusterState) -> AdmissionPlugin:
    plugin = getattr(import_module(f"masthead_server.admission.{module}"), name)
    return cast("type[AdmissionPlugin]", plugin)(cluster)


def _entry(module: str, name: str, configured_by: str = "", *, may_wait: bool = False) -> PluginEntry:
    """Describe a plugin, whose module is imported when it first decides: few servers have policies or quotas."""
    return PluginEntry(name, partial(_make, module, name), configured_by, may_wait)


PLUGINS: Final[Mapping[str, PluginEntry]] = {
    "NamespaceLifecycle": _entry("plugins.namespace_lifecycle", "NamespaceLifecycle"),
    "LimitPodHardAntiAffinityTopology": _entry(
        "plugins.limit_pod_hard_anti_affinity_topology", "LimitPodHardAntiAffinityTopology"
    ),
    "LimitRanger": _entry("plugins.limit_ranger", "LimitRanger", "limitranges"),
    "ServiceAccount": _entry("plugins.service_account", "ServiceAccount"),
    "NodeRestriction": _entry("plugins.node_restriction", "NodeRestriction"),
    "TaintNodesByCondition": _entry("plugins.taint_nodes_by_condition", "TaintNodesByCondition"),
    "AlwaysPullImages": _entry("plugins.always_pull_images", "AlwaysPullImages"),
    "PodSecurity": _entry("plugins.pod_security", "PodSecurity"),
    "PodNodeSelector": _entry("plugins.pod_node_selector", "PodNodeSelector"),
    "Priority": _entry("plugins.priority", "Priority"),
    "DefaultTolerationSeconds": _entry("plugins.default_toleration_seconds", "DefaultTolerationSeconds"),
    "PodTolerationRestriction": _entry("plugins.pod_toleration_restriction", "PodTolerationRestriction"),
    "ExtendedResourceToleration": _entry("plugins.extended_resource_toleration", "ExtendedResourceToleration"),
    "DefaultStorageClass": _entry("plugins.default_storage_class", "DefaultStorageClass"),
    "StorageObjectInUseProtection": _entry("plugins.storage_object_in_use_protection", "StorageObjectInUseProtection"),
    "OwnerReferencesPermissionEnforcement": _entry(
        "plugins.owner_references_permission_enforcement", "OwnerReferencesPermissionEnforcement"
    ),
    "PersistentVolumeClaimResize": _entry("plugins.persistent_volume_claim_resize", "PersistentVolumeClaimResize"),
    "RuntimeClass": _entry("plugins.runtime_class", "RuntimeClass"),
    "CertificateApproval": _entry("plugins.certificate_approval", "CertificateApproval"),
    "CertificateSigning": _entry("plugins.certificate_signing", "CertificateSigning"),
    "ClusterTrustBundleAttest": _entry("plugins.cluster_trust_bundle_attest", "ClusterTrustBundleAttest"),
    "CertificateSubjectRestriction": _entry("plugins.certificate_subject_restriction", "CertificateSubjectRestriction"),
    "DefaultIngressClass": _entry("plugins.default_ingress_class", "DefaultIngressClass"),
    "DenyServiceExternalIPs": _entry("plugins.deny_service_external_ips", "DenyServiceExternalIPs"),
    "PodTopologyLabels": _entry("plugins.pod_topology_labels", "PodTopologyLabels"),
    "PodResizeValidator": _entry("plugins.pod_resize_validator", "PodResizeValidator"),
    "MutatingAdmissionPolicy": _entry(
        "policies.mutating", "MutatingAdmissionPolicy", "admissionregistration.k8s.io/mutatingadmissionpolicybindings"
    ),
    "MutatingAdmissionWebhook": _entry(
        "webhooks.plugins",
        "MutatingAdmissionWebhook",
        "admissionregistration.k8s.io/mutatingwebhookconfigurations",
        may_wait=True,
    ),
    "ValidatingAdmissionPolicy": _entry(
        "policies.validating",
        "ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/validatingadmissionpolicybindings",
    ),
    "ValidatingAdmissionWebhook": _entry(
        "webhooks.plugins",
        "ValidatingAdmissionWebhook",
        "admissionregistration.k8s.io/validatingwebhookconfigurations",
        may_wait=True,
    ),
    "ResourceQuota": _entry("plugins.resource_quota", "ResourceQuota", "resourcequotas"),
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
    chain = AdmissionChain([entry for name, entry in PLUGINS.items() if name in chosen])
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
            raise ConfigError(f"there is no admission plugin {name!r}; {_suggest(name)}there are {', '.join(PLUGINS)}")
        if switches[name]:
            raise ConfigError(f"the admission plugin {name} of kube-apiserver is not part of this server")
    return frozenset(name for name in PLUGINS if switches.get(name, is_relative and name in defaults))


def _suggest(name: str) -> str:
    """Ask whether a similar name was meant, in whatever case; empty if there is none."""
    known = {plugin.lower(): plugin for plugin in PLUGINS}
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=_MIN_SIMILARITY)
    return f"did you mean {known[near[0]]}? " if near else ""
