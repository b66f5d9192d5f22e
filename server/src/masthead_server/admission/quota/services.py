"""What services use of a quota."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead_server.admission.quota.evaluators import ONE, Evaluator
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from datetime import datetime

    from masthead_server.resources.amounts import Amounts
    from masthead_server.wire.plain import Plain

__all__ = ["ServiceEvaluator"]

_MEASURED: Final = frozenset({"services", "services.nodeports", "services.loadbalancers"})


class ServiceEvaluator(Evaluator):
    """Counts services, their node ports and load balancers."""

    counts_updates = True

    def measures(self, name: str) -> bool:
        """Tell whether a limit is about services."""
        return name in self.counted or name in _MEASURED

    def measure(self, found: Plain, now: datetime) -> Amounts:  # noqa: ARG002 - of `Evaluator`
        """Return what a service uses."""
        spec = part(found, "spec")
        kind, ports = text(spec, "type"), items(spec, "ports")
        # Ports that are not allocated yet count, too: what the client asks for decides.
        if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
        has_ports = kind in {"NodePort", "LoadBalancer"}
        return {
            **dict.fromkeys(self.counted, ONE),
            "services": ONE,
            "services.nodeports": Quantity(len(ports) if has_ports else 0),
            "services.loadbalancers": Quantity(int(kind == "LoadBalancer")),
        }
