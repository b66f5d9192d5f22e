"""Usage and requests of pods, in thousandths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead_server.controllers.autoscaling.replica_calculation import MetricError
from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.labels import Selector
    from masthead_server.simulated_metrics import SimulatedMetrics

__all__ = ["custom_samples", "milli", "object_value", "requests_of", "resource_samples"]

_NO_RESOURCE_API: Final = (
    "unable to fetch metrics from resource metrics API: the server could not find the requested resource "
    "(get pods.metrics.k8s.io)"
)
_NO_CUSTOM_API: Final = (
    "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
)


def milli(amount: Quantity | str) -> int:
    """Return an amount in thousandths, rounded up."""
    return Quantity(amount).milli_value()


def resource_samples(metrics: SimulatedMetrics, pods: Sequence[Plain], resource: str, container: str) -> dict[str, int]:
    """Return the usage of a resource by running pods, or by one container of each.

    Raises:
        MetricError: If no usage is set.
    """
    if not metrics.has_usages:
        raise MetricError(_NO_RESOURCE_API)
    found, is_any = dict[str, int](), False
    for pod in pods:
        if text(part(pod, "status"), "phase") != "Running":
            continue
        names = _container_names(pod)
        usage = metrics.usage_of(text(metadata(pod), "namespace"), text(metadata(pod), "name"), names)
        is_any = is_any or bool(usage)
        wanted = [container] if container else list(usage)
        # Skip a pod with a container without a sample: the sum would be too low.
        if wanted and all(resource in usage.get(name, {}) for name in wanted):
            found[text(metadata(pod), "name")] = sum(milli(usage[name][resource]) for name in wanted)
    if not is_any:
        raise MetricError("no metrics returned from resource metrics API")
    return found


def custom_samples(metrics: SimulatedMetrics, pods: Sequence[Plain], metric: str, selector: Selector) -> dict[str, int]:
    """Return the values of a metric of pods.

    Raises:
        MetricError: If no value is set.
    """
    if not metrics.has_custom:
        raise MetricError(_NO_CUSTOM_API)
    found = dict[str, int]()
    for pod in pods:
        namespace, name = text(metadata(pod), "namespace"), text(metadata(pod), "name")
        for value in metrics.custom_of(metric, "Pod", namespace, name):
            if selector.matches(value.labels):
                found.setdefault(name, milli(value.value))
    if not found:
        raise MetricError("no metrics returned from custom metrics API")
    return found


def object_value(
    metrics: SimulatedMetrics, kind: str, namespace: str, name: str, metric: str, selector: Selector
) -> int:
    """Return the value of a metric of an object.

    Raises:
        MetricError: If it is not set.
    """
    if not metrics.has_custom:
        raise MetricError(_NO_CUSTOM_API)
    for value in metrics.custom_of(metric, kind, namespace, name):
        if selector.matches(value.labels):
            return milli(value.value)
    problem = f"the server could not find the metric {metric} for {kind.lower()} {name}"
    raise MetricError(f"unable to fetch metrics from custom metrics API: {problem}")


def requests_of(pods: Sequence[Plain], resource: str, container: str) -> dict[str, int]:
    """Return the requests of pods, or of one container of each, for a resource.

    Raises:
        MetricError: If a request is missing.
    """
    return {text(metadata(pod), "name"): _request_of(pod, resource, container) for pod in pods}


def _request_of(pod: Plain, resource: str, container: str) -> int:
    name, spec = text(metadata(pod), "name"), part(pod, "spec")
    of_pod = part(part(spec, "resources"), "requests")
    if of_pod and not container and resource in of_pod:
        return milli(of_pod[resource])
    total = 0
    containers = [found for found in _lasting_containers(pod) if container in {"", found.get("name")}]
    if container and not containers:
        raise MetricError(f"container {container} not found in Pod {name}")
    for found in containers:
        requests = part(part(found, "resources"), "requests")
        if resource not in requests:
            raise MetricError(f"missing request for {resource} in container {found.get('name')} of Pod {name}")
        total += milli(requests[resource])
    return total


def _lasting_containers(pod: Plain) -> list[Plain]:
    """Return the containers and sidecars of a pod."""
    spec = part(pod, "spec")
    sidecars = [found for found in items(spec, "initContainers") if found.get("restartPolicy") == "Always"]
    return [*items(spec, "containers"), *sidecars]


def _container_names(pod: Plain) -> list[str]:
    return [text(found, "name") for found in _lasting_containers(pod)]
