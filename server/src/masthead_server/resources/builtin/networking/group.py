"""The resources of ``networking.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import (
    SPEC_GENERATION,
    SYSTEM_METADATA,
    UPDATE_THEN_WHOLE,
    WHOLE_THEN_UPDATE,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "ingressclasses": ResourceDescription(
        strategy=Strategy.of(SPEC_GENERATION, UPDATE_THEN_WHOLE),
        behavior=builtin_behavior("networking.ingressclass"),
    ),
    "ingresses": ResourceDescription(
        strategy=Strategy.of(status(), SPEC_GENERATION, UPDATE_THEN_WHOLE),
        behavior=builtin_behavior("networking.ingress"),
    ),
    "ipaddresses": ResourceDescription(
        strategy=Strategy.of(WHOLE_THEN_UPDATE, {"name_rule": names.as_ip_address}),
        behavior=builtin_behavior("networking.ipaddress"),
        deprecated={"v1beta1": "v1.34+, unavailable in v1.37+"},
    ),
    "networkpolicies": ResourceDescription(
        strategy=Strategy.of(SPEC_GENERATION), behavior=builtin_behavior("networking.networkpolicy")
    ),
    "servicecidrs": ResourceDescription(
        strategy=Strategy.of(status(SYSTEM_METADATA)),
        behavior=builtin_behavior("networking.servicecidr"),
        deprecated={"v1beta1": "v1.34+, unavailable in v1.37+"},
    ),
}
"""The resources of the group, by name."""
