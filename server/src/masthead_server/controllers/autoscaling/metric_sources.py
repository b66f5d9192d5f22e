"""The replicas that each metric of an autoscaler calls for, with kube-controller-manager's statuses and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masthead._meta.labels import from_label_selector
from masthead._meta.quantity import Quantity, QuantityFormat
from masthead._meta.v1 import LabelSelector
from masthead_server.controllers.autoscaling.pod_samples import (
    custom_samples,
    milli,
    object_value,
    requests_of,
    resource_samples,
)
from masthead_server.controllers.autoscaling.replica_calculation import (
    MetricError,
    Proposal,
    ScaledPods,
    propose_by_ratio,
    propose_by_usage,
    propose_by_utilization,
    propose_per_pod,
)
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from masthead._meta.labels import Selector
    from masthead_server.simulated_metrics import SimulatedMetrics

__all__ = ["MetricFailure", "MetricProposal", "MetricReader"]


class MetricProposal(NamedTuple):
    """The replicas that a metric calls for, its name in messages, and its status."""

    replicas: int
    name: str
    status: Plain


class MetricFailure(Exception):  # noqa: N818 - as one of several metrics fails, the autoscaler goes on
    """A metric could not be read.

    Attributes:
        reason: The reason of the event, and of the condition.
        problem: The message of both.
    """

    def __init__(self, reason: str, problem: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.problem = problem


class MetricReader:
    """Reads the metrics of one autoscaler.

    Args:
        metrics: The simulated metrics.
        namespace: The namespace of the autoscaler.
        scaled: The target's pods.
    """

    def __init__(self, metrics: SimulatedMetrics, namespace: str, scaled: ScaledPods) -> None:
        self._metrics = metrics
        self._namespace = namespace
        self._scaled = scaled

    def read(self, metric: Plain) -> MetricProposal:
        """Return the proposal of a metric of the spec.

        Raises:
            MetricFailure: If its values are missing or do not allow a proposal.
        """
        match metric.get("type"):
            case "Resource":
                return self._read_resource(metric, "resource")
            case "ContainerResource":
                return self._read_resource(metric, "containerResource")
            case "Pods":
                return self._read_pods(part(metric, "pods"))
            case "Object":
                return self._read_object(part(metric, "object"))
            case _:
                return self._read_external(part(metric, "external"))

    def _read_resource(self, metric: Plain, field: str) -> MetricProposal:
        source = part(metric, field)
        resource, container, target = text(source, "name"), text(source, "container"), part(source, "target")
        is_average = target.get("averageValue") is not None
        try:
            proposal = self._propose_for_resource(resource, container, target)
        except MetricError as error:
            problem = f"failed to get {resource} {'usage' if is_average else 'utilization'}: {error}"
            kind = f"{container} container metric value" if container else f"{resource} resource metric value"
            reason = "FailedGetContainerResourceMetric" if container else "FailedGetResourceMetric"
            raise MetricFailure(reason, problem, f"failed to get {kind}: {problem}") from error
        current: Plain = {"averageValue": _amount(proposal.usage, is_binary=resource == "memory")}
        name = f"{resource} resource"
        if proposal.utilization is not None:
            current["averageUtilization"] = proposal.utilization
            kind = "container resource" if container else "resource"
            name = f"{resource} {kind} utilization (percentage of request)"
        identity = {"name": resource, **({"container": container} if container else {})}
        status: Plain = {"type": metric["type"], field: {**identity, "current": current}}
        return MetricProposal(proposal.replicas, name, status)

    def _propose_for_resource(self, resource: str, container: str, target: Plain) -> Proposal:
        try:
            samples = resource_samples(self._metrics, self._scaled.pods, resource, container)
        except MetricError as error:
            raise MetricError(f"unable to get metrics for resource {resource}: {error}") from error
        average = target.get("averageValue")
        if average is not None:
            return propose_by_usage(self._scaled, samples, resource, milli(average))
        return propose_by_utilization(
            self._scaled,
            samples,
            lambda: requests_of(self._scaled.pods, resource, container),
            resource,
            target["averageUtilization"],
        )

    def _read_pods(self, source: Plain) -> MetricProposal:
        name, selector = _identity(source)
        try:
            try:
                samples = custom_samples(self._metrics, self._scaled.pods, name, selector)
            except MetricError as error:
                raise MetricError(f"unable to get metric {name}: {error}") from error
            proposal = propose_by_usage(self._scaled, samples, "", milli(part(source, "target")["averageValue"]))
        except MetricError as error:
            message = f"failed to get pods metric value: {error}"
            raise MetricFailure("FailedGetPodsMetric", str(error), message) from error
        current = {"averageValue": _amount(proposal.usage)}
        status: Plain = {"type": "Pods", "pods": {"metric": part(source, "metric"), "current": current}}
        return MetricProposal(proposal.replicas, f"pods metric {name}", status)

    def _read_object(self, source: Plain) -> MetricProposal:
        name, selector = _identity(source)
        described, target = part(source, "describedObject"), part(source, "target")
        kind, of = text(described, "kind"), text(described, "name")
        is_average = target.get("type") == "AverageValue"
        try:
            try:
                value = object_value(self._metrics, kind, self._namespace, of, name, selector)
            except MetricError as error:
                raise MetricError(f"unable to get metric {name}: {kind} on {self._namespace} {of}/{error}") from error
            if is_average:
                proposal = propose_per_pod(self._scaled, value, milli(target["averageValue"]))
            else:
                proposal = propose_by_ratio(self._scaled, value, milli(target["value"]))
        except MetricError as error:
            inner = f"failed to get {name} object metric: {error}" if is_average else str(error)
            message = f"failed to get object metric value: {inner}"
            raise MetricFailure("FailedGetObjectMetric", str(error), message) from error
        current = {"averageValue" if is_average else "value": _amount(proposal.usage)}
        shown = f"external metric {name}({_spell(source)})" if is_average else f"{kind} metric {name}"
        content = {"metric": part(source, "metric"), "current": current, "describedObject": described}
        return MetricProposal(proposal.replicas, shown, {"type": "Object", "object": content})

    def _read_external(self, source: Plain) -> MetricProposal:
        name, selector = _identity(source)
        target = part(source, "target")
        is_average = target.get("averageValue") is not None
        try:
            value = self._external_value(source, name, selector)
            if is_average:
                proposal = propose_per_pod(self._scaled, value, milli(target["averageValue"]))
            else:
                proposal = propose_by_ratio(self._scaled, value, milli(target["value"]))
        except MetricError as error:
            inner = f"{name} external metric" if is_average else f"external metric {name}"
            message = f"failed to get {name} external metric value: failed to get {inner}: {error}"
            raise MetricFailure("FailedGetExternalMetric", str(error), message) from error
        current = {"averageValue" if is_average else "value": _amount(proposal.usage)}
        status: Plain = {"type": "External", "external": {"metric": part(source, "metric"), "current": current}}
        return MetricProposal(proposal.replicas, f"external metric {name}({_spell(source)})", status)

    def _external_value(self, source: Plain, name: str, selector: Selector) -> int:
        values = self._metrics.external_of(name, self._namespace)
        found = [milli(value.value) for value in values if selector.matches(value.labels)]
        if found:
            return sum(found)
        problem = "no metrics returned from external metrics API"
        if not values:
            missing = f"the server could not find the requested resource (get {name}.external.metrics.k8s.io)"
            problem = f"unable to fetch metrics from external metrics API: {missing}"
        raise MetricError(f"unable to get external metric {self._namespace}/{name}/{_spell(source)}: {problem}")


def _identity(source: Plain) -> tuple[str, Selector]:
    """Return the name and selector of a metric; without a selector, every value matches."""
    metric = part(source, "metric")
    written = LabelSelector.from_dict(part(metric, "selector"))
    return text(metric, "name"), from_label_selector(written)


def _amount(thousandths: int, *, is_binary: bool = False) -> str:
    amount = Quantity(f"{thousandths}m")
    return str(amount.to_format(QuantityFormat.BINARY_SI) if is_binary else amount)


def _spell(source: Plain) -> str:
    """Format the selector of a metric as Go prints it."""
    selector = part(source, "metric").get("selector")
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(part(selector, "matchLabels").items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{found.get('key')},Operator:{found.get('operator')},"
        f"Values:[{' '.join(found.get('values') or ())}],}},"
        for found in items(selector, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
