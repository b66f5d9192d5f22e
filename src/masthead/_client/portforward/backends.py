"""Which pod is behind a service or a workload, and which of its ports: pure, as kubectl decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import typeinfo
from masthead.errors import PortForwardError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.gvk import GroupVersionKind

__all__ = [
    "Backend",
    "PodList",
    "PodState",
    "can_forward",
    "choose_pod",
    "container_port",
    "selector_of",
    "target_port",
]

_WORKLOADS: Final = frozenset({"DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"})
_GROUPS: Final = frozenset({"", "apps", "batch", "extensions"})
_RUNNING: Final = "Running"


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class _ContainerPort(msgspec.Struct, frozen=True, rename="camel"):
    container_port: int
    name: str = ""
    protocol: str = "TCP"


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    ports: tuple[_ContainerPort, ...] | None = None


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    containers: tuple[_Container, ...] | None = None
    init_containers: tuple[_Container, ...] | None = None


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[_Condition, ...] | None = None


class PodState(msgspec.Struct, frozen=True):
    """What matters of a pod."""

    metadata: _Metadata
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def key(self) -> str:
        """The pod as ``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def is_running(self) -> bool:
        """Whether its ports can be forwarded."""
        return self.status.phase == _RUNNING

    @property
    def is_ready(self) -> bool:
        """Whether a service would send it requests."""
        conditions = self.status.conditions or ()
        return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


class PodList(msgspec.Struct, frozen=True):
    """What matters of a list of pods."""

    items: tuple[PodState, ...] = ()


class _ServicePort(msgspec.Struct, frozen=True, rename="camel"):
    port: int
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str = 0


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[_Expression, ...] | None = None


class _Expression(msgspec.Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class _BackendSpec(msgspec.Struct, frozen=True):
    # Of a service and of a replication controller, a selector is a plain mapping.
    selector: dict[str, object] | None = None
    ports: tuple[_ServicePort, ...] | None = None
    cluster_ip: str = msgspec.field(default="", name="clusterIP")


class Backend(msgspec.Struct, frozen=True):
    """What matters of a service or a workload."""

    metadata: _Metadata
    spec: _BackendSpec = _BackendSpec()


def can_forward(gvk: GroupVersionKind) -> bool:
    """Whether objects of a kind have pods whose ports can be forwarded, other than pods themselves."""
    return gvk.group in _GROUPS and (gvk.kind in _WORKLOADS or (gvk.group, gvk.kind) == ("", "Service"))


def selector_of(backend: Backend, title: str) -> str:
    """The label selector of a service or a workload.

    Args:
        backend: The object.
        title: What messages call it.

    Raises:
        PortForwardError: If it has none, because it has no pods.
    """
    selector = backend.spec.selector
    if not selector:
        raise PortForwardError(f"port-forward {title}: it has no selector, and so no pods; name a pod")
    # Services and replication controllers have a plain map of labels.
    if not selector.keys() <= {"matchLabels", "matchExpressions"}:
        return ",".join(f"{key}={value}" for key, value in selector.items())
    structured = typeinfo.converter(_Selector)(selector)
    parts = [f"{key}={value}" for key, value in (structured.match_labels or {}).items()]
    return ",".join([*parts, *map(_requirement, structured.match_expressions or ())])


def _requirement(expression: _Expression) -> str:
    match expression.operator:
        case "Exists":
            return expression.key
        case "DoesNotExist":
            return f"!{expression.key}"
        case operator:
            return f"{expression.key} {operator.lower()} ({','.join(expression.values or ())})"


def choose_pod(pods: Sequence[PodState], title: str) -> PodState:
    """Choose a pod to forward to: running, preferably ready and not about to end; the newest of several.

    Raises:
        PortForwardError: If none runs.
    """
    # Not only ready ones: to debug a pod that is not ready is a frequent use.
    running = [pod for pod in pods if pod.is_running]
    if not running:
        raise PortForwardError(f"port-forward {title}: {_why_none_runs(pods)}; wait until one runs")
    return max(running, key=_preference)


def _why_none_runs(pods: Sequence[PodState]) -> str:
    phases = ", ".join(sorted({pod.status.phase or "Unknown" for pod in pods}))
    match len(pods):
        case 0:
            return "it has no pods"
        case 1:
            return f"its pod does not run ({phases})"
        case count:
            return f"none of its {count} pods runs ({phases})"


def _preference(pod: PodState) -> tuple[bool, bool, str, str]:
    metadata = pod.metadata
    return metadata.deletion_timestamp is None, pod.is_ready, metadata.creation_timestamp, metadata.name


def container_port(pod: PodState, port: int | str, title: str) -> int:
    """The number of a port of a pod. A number need not be declared by a container.

    Raises:
        PortForwardError: If no container has a port of that name, or it is declared for UDP only.
    """
    containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    declared = [port_spec for container in containers for port_spec in container.ports or ()]
    if isinstance(port, str):
        number = next((port_spec.container_port for port_spec in declared if port_spec.name == port), None)
        if number is None:
            named = ", ".join(port_spec.name for port_spec in declared if port_spec.name) or "none"
            raise PortForwardError(
                f"port-forward {title}: pod {pod.key} has no port named {port!r} (named ports: {named})",
                pod=pod.key,
            )
    else:
        number = port
    _refuse_udp({port_spec.protocol for port_spec in declared if port_spec.container_port == number}, port, title)
    return number


def target_port(service: Backend, pod: PodState, port: int | str, title: str) -> int:
    """The port of the pod behind a port of a service.

    Raises:
        PortForwardError: If the service or the pod has no such port, or it is one for UDP.
    """
    ports = service.spec.ports or ()
    matching = [port_spec for port_spec in ports if port in {port_spec.port, port_spec.name}]
    if not matching:
        known = ", ".join(
            f"{port_spec.port} ({port_spec.name})" if port_spec.name else str(port_spec.port) for port_spec in ports
        )
        raise PortForwardError(f"port-forward {title}: the service has no port {port} (ports: {known or 'none'})")
    _refuse_udp({port_spec.protocol for port_spec in matching}, port, title)
    found = next(port_spec for port_spec in matching if port_spec.protocol != "UDP")
    # A headless service leads to the pod's own ports, untranslated.
    if service.spec.cluster_ip == "None":
        return found.port
    target: int | str = found.target_port or found.port
    return container_port(pod, target, title)


def _refuse_udp(protocols: set[str], port: int | str, title: str) -> None:
    if protocols == {"UDP"}:
        raise PortForwardError(f"port-forward {title}: port {port} is one for UDP, which cannot be forwarded")
