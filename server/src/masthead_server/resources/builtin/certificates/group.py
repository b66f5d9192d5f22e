"""The resources of ``certificates.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.field_selectors import SelectableFields, texts_at
from masthead_server.resources.strategy import (
    CONDITIONAL_UPDATE,
    SYSTEM_METADATA,
    WHOLE_THEN_UPDATE,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

_SIGNER_FIELDS: Final = SelectableFields(readers=texts_at("spec.signerName"), has_namespace=False)

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "certificatesigningrequests": ResourceDescription(
        strategy=Strategy.of(status(), WHOLE_THEN_UPDATE, {"name_rule": names.as_anything}),
        behavior=builtin_behavior("certificates.certificatesigningrequest"),
        selectable=_SIGNER_FIELDS,
    ),
    "clustertrustbundles": ResourceDescription(
        strategy=Strategy.of(CONDITIONAL_UPDATE, WHOLE_THEN_UPDATE, {"name_rule": names.as_trust_bundle}),
        selectable=_SIGNER_FIELDS,
        deprecated={"v1alpha1": "v1.34+, unavailable in v1.37+"},
    ),
    "podcertificaterequests": ResourceDescription(
        strategy=Strategy.of(status(SYSTEM_METADATA), CONDITIONAL_UPDATE),
        selectable=SelectableFields(
            readers=texts_at("spec.nodeName", "spec.podName", "spec.signerName"), has_namespace=False
        ),
    ),
}
"""The resources of the group, by name."""
