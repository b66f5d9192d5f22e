"""Metrics for autoscalers. Tests set them, because the server measures nothing."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from masthead._meta.quantity import Quantity
from masthead._module import set_module
from masthead.errors import ArgumentError
from masthead_server.argument_checks import check_text, check_texts, check_type, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

__all__ = ["LabelledValue", "ServerMetrics", "SimulatedMetrics"]


class LabelledValue(NamedTuple):
    """A value of a metric, and its labels."""

    labels: Mapping[str, str]
    value: Quantity


class _UsageKey(NamedTuple):
    namespace: str
    pod: str
    container: str


class _CustomKey(NamedTuple):
    metric: str
    kind: str
    namespace: str
    name: str
    labels: tuple[tuple[str, str], ...]


class _ExternalKey(NamedTuple):
    metric: str
    namespace: str
    labels: tuple[tuple[str, str], ...]


class SimulatedMetrics:
    """The current metrics. A later setting overrides an earlier one for the same object."""

    def __init__(self) -> None:
        self._usages: dict[_UsageKey, dict[str, Quantity]] = {}
        self._custom: dict[_CustomKey, Quantity] = {}
        self._external: dict[_ExternalKey, Quantity] = {}

    @property
    def has_usages(self) -> bool:
        """Whether the usage of any pod was set."""
        return bool(self._usages)

    @property
    def has_custom(self) -> bool:
        """Whether a metric of any object was set."""
        return bool(self._custom)

    def set_usage(self, namespace: str, pod: str, container: str, usage: dict[str, Quantity]) -> None:
        """Set the usage of pods that match a pattern; an empty usage removes the setting."""
        key = _UsageKey(namespace, pod, container)
        self._usages.pop(key, None)
        if usage:
            self._usages[key] = usage

    def usage_of(self, namespace: str, pod: str, containers: Sequence[str]) -> dict[str, dict[str, Quantity]]:
        """Return the usage of the containers of a pod, by resource; empty without a setting."""
        found: dict[str, dict[str, Quantity]] = {}
        for key, usage in self._usages.items():
            if not (fnmatchcase(namespace, key.namespace) and fnmatchcase(pod, key.pod)):
                continue
            for number, container in enumerate(containers):
                # The usage of a whole pod counts for its first container.
                if key.container == container or (not key.container and number == 0):
                    found.setdefault(container, {}).update(usage)
                elif not key.container:
                    found.setdefault(container, {}).update(dict.fromkeys(usage, Quantity(0)))
        return found

    def set_custom(
        self, metric: str, kind: str, namespace: str, name: str, labels: Mapping[str, str], value: Quantity | None
    ) -> None:
        """Set a metric of the objects of a pattern; None removes it."""
        key = _CustomKey(metric, kind, namespace, name, tuple(sorted(labels.items())))
        self._custom.pop(key, None)
        if value is not None:
            self._custom[key] = value

    def custom_of(self, metric: str, kind: str, namespace: str, name: str) -> list[LabelledValue]:
        """Return the values of a metric of an object, the newest first."""
        return [
            LabelledValue(dict(key.labels), value)
            for key, value in reversed(self._custom.items())
            if key.metric == metric
            and key.kind == kind
            and fnmatchcase(namespace, key.namespace)
            and fnmatchcase(name, key.name)
        ]

    def set_external(self, metric: str, namespace: str, labels: Mapping[str, str], value: Quantity | None) -> None:
        """Set a value of a metric that belongs to no object; None removes it."""
        key = _ExternalKey(metric, namespace, tuple(sorted(labels.items())))
        self._external.pop(key, None)
        if value is not None:
            self._external[key] = value

    def external_of(self, metric: str, namespace: str) -> list[LabelledValue]:
        """Return all values of an external metric."""
        return [
            LabelledValue(dict(key.labels), value)
            for key, value in self._external.items()
            if key.metric == metric and fnmatchcase(namespace, key.namespace)
        ]

    def clear(self) -> None:
        """Remove all metrics."""
        self._usages.clear()
        self._custom.clear()
        self._external.clear()


@set_module("masthead.server")
class ServerMetrics:
    """The metrics for HorizontalPodAutoscalers of an embedded server: `Server.metrics`.

    Names and namespaces may be patterns such as ``web-*``; of several settings for one pod, the last one counts. The
    controller reads them every 15 seconds of the server's clock. All methods are thread-safe.
    """

    def __init__(
        self,
        metrics: SimulatedMetrics,
        call: Callable[[Callable[[], None]], None],
        list_kinds: Callable[[], Collection[str]],
    ) -> None:
        self._metrics = metrics
        self._call = call
        self._list_kinds = list_kinds

    def set_pod(
        self,
        pod: str,
        *,
        cpu: Quantity | str | float | None = None,
        memory: Quantity | str | float | None = None,
        container: str = "",
        namespace: str = "default",
    ) -> None:
        """Set the usage of running pods; without amounts, remove it.

        Args:
            pod: The name of the pods, or a pattern.
            cpu: The amount of CPU: ``200m``.
            memory: The memory: ``64Mi``.
            container: The container; empty for the pod as a whole, whose usage then counts for its first container.
            namespace: The namespace, or a pattern.

        Raises:
            TypeError: If a name is no text, or an amount neither text nor a number.
            QuantityError: If an amount is invalid.
            ArgumentError: If an amount is negative, or a name empty.
        """
        check_text("the pod", pod, may_be_empty=False)
        check_text("namespace", namespace, may_be_empty=False)
        check_text("container", container)
        amounts = {"cpu": cpu, "memory": memory}
        usage = {resource: _read_usage(resource, amount) for resource, amount in amounts.items() if amount is not None}
        self._call(lambda: self._metrics.set_usage(namespace, pod, container, usage))

    def set_object(
        self,
        metric: str,
        value: Quantity | str | float | None,
        *,
        kind: str = "Pod",
        name: str = "*",
        namespace: str = "default",
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Set a custom metric of pods or other objects, for metrics of the types ``Pods`` and ``Object``.

        Args:
            metric: The name of the metric.
            value: The value, which may be negative; None removes it.
            kind: The kind of the objects, which the server has to serve: define a custom one before.
            name: Their name, or a pattern.
            namespace: Their namespace, or a pattern.
            labels: The labels of the value, which the metric's selector selects.

        Raises:
            TypeError: If a name is no text, or the value neither text nor a number.
            QuantityError: If the value is invalid.
            ArgumentError: If a name is empty, or there is no such kind.
        """
        names = {"the metric": metric, "kind": kind, "name": name, "namespace": namespace}
        for argument, text in names.items():
            check_text(argument, text, may_be_empty=False)
        chosen = _read_labels(labels)
        amount = None if value is None else _read_amount("the value", value)

        def set_metric() -> None:
            # In the loop, in which definitions come and go.
            kinds = self._list_kinds()
            if kind not in kinds:
                raise ArgumentError(f"the server serves no kind {kind!r}{nearest_hint(kind, kinds)}", value=kind)
            self._metrics.set_custom(metric, kind, namespace, name, chosen, amount)

        self._call(set_metric)

    def set_external(
        self,
        metric: str,
        value: Quantity | str | float | None,
        *,
        namespace: str = "default",
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Set a value of an external metric, such as the length of a queue.

        Args:
            metric: The name of the metric.
            value: The value, which may be negative; None removes it.
            namespace: The namespace of the autoscalers that read it, or a pattern.
            labels: The labels of the value: values of different labels add up.

        Raises:
            TypeError: If a name is no text, or the value neither text nor a number.
            QuantityError: If the value is invalid.
            ArgumentError: If a name is empty.
        """
        check_text("the metric", metric, may_be_empty=False)
        check_text("namespace", namespace, may_be_empty=False)
        chosen = _read_labels(labels)
        amount = None if value is None else _read_amount("the value", value)
        self._call(lambda: self._metrics.set_external(metric, namespace, chosen, amount))

    def clear(self) -> None:
        """Remove all metrics."""
        self._call(self._metrics.clear)


def _read_amount(name: str, value: Quantity | str | float) -> Quantity:
    check_type(name, value, Quantity | str | int | float, "text such as '200m', or a number")
    return Quantity(value)


def _read_usage(resource: str, value: Quantity | str | float) -> Quantity:
    amount = _read_amount(resource, value)
    if amount.sign < 0:
        raise ArgumentError(f"{resource} is a usage, 0 or more, not {value}", value=value)
    return amount


def _read_labels(labels: Mapping[str, str] | None) -> dict[str, str]:
    if labels is None:
        return {}
    check_type("labels", labels, Mapping, "a mapping of texts to texts")
    check_texts("labels", [text for label in labels.items() for text in label])
    return dict(labels)
