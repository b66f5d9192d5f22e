"""Defaults of NetworkPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import each, shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain


def _fill_policy_types(spec: Plain) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


_POLICY_PORTS: Final = each(shape(inside={"ports": each(shape(unset={"protocol": "TCP"}))}))
DEFAULTS: Final[Fill] = shape(
    always={"spec": shape(inside={"ingress": _POLICY_PORTS, "egress": _POLICY_PORTS}, then=_fill_policy_types)}
)
