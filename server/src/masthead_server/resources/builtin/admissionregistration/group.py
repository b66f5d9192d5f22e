"""The resources of ``admissionregistration.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import (
    ANY_FINALIZER,
    CONDITIONAL_UPDATE,
    SPEC_GENERATION,
    SYSTEM_METADATA,
    WHOLE_ONLY,
    Strategy,
    generation,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.strategy import Facts

__all__ = ["RESOURCES"]

_CONFIGURATION: Final[Facts] = {**CONDITIONAL_UPDATE, **ANY_FINALIZER, **WHOLE_ONLY}

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "mutatingadmissionpolicies": ResourceDescription(
        strategy=Strategy.of(SPEC_GENERATION, _CONFIGURATION),
        behavior=builtin_behavior("admissionregistration.mutatingadmissionpolicy"),
        stored_as=GroupVersion("admissionregistration.k8s.io", "v1beta1"),
        deprecated={"v1alpha1": "v1.35+, unavailable in v1.38+"},
    ),
    "mutatingadmissionpolicybindings": ResourceDescription(
        strategy=Strategy.of(SPEC_GENERATION, _CONFIGURATION),
        behavior=builtin_behavior("admissionregistration.mutatingadmissionpolicybinding"),
        stored_as=GroupVersion("admissionregistration.k8s.io", "v1beta1"),
        deprecated={"v1alpha1": "v1.35+, unavailable in v1.38+"},
    ),
    "mutatingwebhookconfigurations": ResourceDescription(
        strategy=Strategy.of(generation("webhooks"), _CONFIGURATION),
        behavior=builtin_behavior("admissionregistration.mutatingwebhookconfiguration"),
    ),
    "validatingadmissionpolicies": ResourceDescription(
        strategy=Strategy.of(status(SYSTEM_METADATA), SPEC_GENERATION, _CONFIGURATION),
        behavior=builtin_behavior("admissionregistration.validatingadmissionpolicy"),
    ),
    "validatingadmissionpolicybindings": ResourceDescription(
        strategy=Strategy.of(SPEC_GENERATION, _CONFIGURATION),
        behavior=builtin_behavior("admissionregistration.validatingadmissionpolicybinding"),
    ),
    "validatingwebhookconfigurations": ResourceDescription(
        strategy=Strategy.of(generation("webhooks"), _CONFIGURATION),
        behavior=builtin_behavior("admissionregistration.validatingwebhookconfiguration"),
    ),
}
"""The resources of the group, by name."""
