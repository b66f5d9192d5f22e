"""The addresses of Services, for what the server itself connects to: webhooks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.cluster import ClusterState

__all__ = ["ServiceAddresses"]

_log: Final = logging.getLogger("masthead.server")
_DEFAULT_PORT: Final = 443
"""The port of a Service that a webhook does not name."""


class ServiceAddresses:
    """Resolves Services: to the ports of this machine that tests name, or to external names.

    Threads: `listen` and `discard` may be called in any thread, `resolve` in the server's.

    Args:
        cluster: The cluster state.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._targets: dict[tuple[str, str, int], tuple[str, int]] = {}

    def listen(self, namespace: str, name: str, port: int, target: tuple[str, int]) -> None:
        """Let a port of a Service lead to a host and port."""
        self._targets[namespace, name, port] = target

    def discard(self, namespace: str, name: str, port: int) -> None:
        """Let a port of a Service lead nowhere."""
        self._targets.pop((namespace, name, port), None)

    def resolve(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """Return the host and port behind a port of a Service.

        Raises:
            LookupError: If there is no such Service or port, or if nothing listens there; the message is that of
                kube-apiserver.
        """
        served = self._cluster.catalog.stored_in("services")
        record = self._cluster.storage.table("services").get(f"{namespace}/{name}")
        if served is None or record is None:
            raise LookupError(f"service {quoted(name)} not found")
        spec = part(served.load(record), "spec")
        is_external = text(spec, "type") == "ExternalName"
        if not is_external and not any(entry.get("port") == port for entry in items(spec, "ports")):
            raise LookupError(f"no service port {port} found for service {quoted(name)}")
        if target := self._targets.get((namespace, name, port)):
            return target
        if is_external:
            return text(spec, "externalName"), port
        service = f"{namespace}/{name}" if port == _DEFAULT_PORT else f"{namespace}/{name}:{port}"
        advice = f"call server.listen_on_service, or start masthead serve with --service {service}=PORT"
        _log.warning("A webhook is behind the Service %s/%s, and nothing listens there: %s.", namespace, name, advice)
        # Nothing has a cluster address here, and in another network someone else may have it.
        raise LookupError(f"dial tcp {text(spec, 'clusterIP')}:{port}: connect: connection refused")
