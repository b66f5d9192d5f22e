"""The HorizontalPodAutoscaler controller: scales targets every 15 seconds, by simulated metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._meta.labels import parse
from masthead._meta.quantity import Quantity
from masthead.errors import SelectorError
from masthead_server.clock import stamp
from masthead_server.controllers.autoscaling.metric_sources import MetricFailure, MetricReader
from masthead_server.controllers.autoscaling.replica_calculation import ScaledPods, Tolerances
from masthead_server.controllers.autoscaling.scale_target import TargetError, find_target
from masthead_server.controllers.autoscaling.scaler_status import ScalerStatus
from masthead_server.controllers.autoscaling.scaling_rules import Bounds, ScalingHistory, normalize
from masthead_server.controllers.events import NORMAL, WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.pod_index import PodIndex, PodSelector
from masthead_server.wire.plain import Plain, items, part

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from masthead._meta.labels import Selector
    from masthead_server.controllers.autoscaling.metric_sources import MetricProposal
    from masthead_server.controllers.autoscaling.scale_target import ScaleTarget, TargetScale
    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["HorizontalPodAutoscalerController"]

_TABLE: Final = "autoscaling/horizontalpodautoscalers"
_PODS: Final = "pods"
_KIND: Final = ("autoscaling/v2", "HorizontalPodAutoscaler")
_PERIOD: Final = 15.0
"""Seconds between two reconciles of an autoscaler."""
_TOLERANCE: Final = 0.1
_ABLE: Final = "AbleToScale"
_ACTIVE: Final = "ScalingActive"
_LIMITED: Final = "ScalingLimited"
_UNREADABLE: Final = "the HPA controller was unable to get the target's current scale: "


@dataclass
class _Memory:
    """What an autoscaler remembers between reconciles."""

    history: ScalingHistory = field(default_factory=ScalingHistory)
    selector: PodSelector | None = None


class _StoppedError(Exception):
    """Ends a reconcile without scaling; the status has the reason."""


@dataclass(frozen=True)
class _Turn:
    """One reconcile of an autoscaler."""

    ref: ObjectRef
    spec: Plain
    involved: Plain
    status: ScalerStatus
    memory: _Memory
    now: datetime

    @property
    def tolerances(self) -> Tolerances:
        behavior = part(self.spec, "behavior")
        down, up = (part(behavior, name).get("tolerance") for name in ("scaleDown", "scaleUp"))
        return Tolerances(*(_TOLERANCE if written is None else float(Quantity(written)) for written in (down, up)))


class HorizontalPodAutoscalerController:
    """Scales the targets of autoscalers, and writes their status."""

    observes = frozenset({_TABLE, _PODS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "horizontal-pod-autoscaler")
        self._pods = PodIndex.of(client.cluster)
        self._memories: dict[ObjectRef, _Memory] = {}

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile new and deleted autoscalers; the others are reconciled periodically."""
        if write.ref.table == _PODS:
            self._pods.update(write)
            return ()
        return (write.ref,) if write.record.is_deleted or write.ref not in self._memories else ()

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Scale the target of an autoscaler; return the seconds until the next reconcile.

        Raises:
            JournalError: A change could not be stored.
        """
        scaler = self._client.load(ref)
        if scaler is None:
            self._memories.pop(ref, None)
            return None
        memory = self._memories.get(ref)
        # As in kube-controller-manager, the first reconcile comes a period after the creation.
        if memory is None:
            self._memories[ref] = _Memory()
            return _PERIOD
        now = self._client.cluster.clock.now()
        turn = _Turn(
            ref, part(scaler, "spec"), reference_to(scaler, *_KIND), ScalerStatus(scaler, stamp(now)), memory, now
        )
        try:
            await self._scale(turn)
        except _StoppedError:
            pass
        finally:
            if turn.status.is_changed:
                content = turn.status.content
                await self._client.update(ref, lambda found: found.update(status=content), subresource="status")
        return _PERIOD

    async def _scale(self, turn: _Turn) -> None:
        target, scale = self._find_scale(turn)
        turn.status.set_condition(
            _ABLE, "SucceededGetScale", "the HPA controller was able to get the target's current scale"
        )
        turn.memory.history.begin(scale.replicas, turn.now)
        current, metrics = scale.replicas, None
        bounds = Bounds(turn.spec.get("minReplicas", 1), turn.spec["maxReplicas"], current)
        if not current:
            message = "scaling is disabled since the replica count of the target is zero"
            turn.status.set_condition(_ACTIVE, "ScalingDisabled", message, is_true=False)
            desired, reason = 0, ""
        elif current > bounds.most:
            desired, reason = bounds.most, "Current number of replicas above Spec.MaxReplicas"
        elif current < bounds.least:
            desired, reason = bounds.least, "Current number of replicas below Spec.MinReplicas"
        else:
            desired, reason, metrics = self._decide(turn, scale, bounds)
        if desired != current:
            await self._rescale(turn, target, bounds, desired, reason, metrics)
        turn.status.set_replicas(current, desired, metrics)
        if desired != current:
            turn.status.note_scaling()

    def _find_scale(self, turn: _Turn) -> tuple[ScaleTarget, TargetScale]:
        try:
            target = find_target(self._client, part(turn.spec, "scaleTargetRef"), turn.ref.namespace)
            return target, target.read()
        except TargetError as error:
            self._report(turn, "FailedGetScale", str(error))
            turn.status.set_condition(_ABLE, "FailedGetScale", f"{_UNREADABLE}{error}", is_true=False)
            raise _StoppedError from error

    async def _rescale(
        self, turn: _Turn, target: ScaleTarget, bounds: Bounds, desired: int, reason: str, metrics: list[Plain] | None
    ) -> None:
        try:
            await target.write(desired)
        except TargetError as error:
            self._report(turn, "FailedRescale", f"New size: {desired}; reason: {reason}; error: {error}")
            message = f"the HPA controller was unable to update the target scale: {error}"
            turn.status.set_condition(_ABLE, "FailedUpdateScale", message, is_true=False)
            turn.status.set_replicas(bounds.current, None, metrics)
            raise _StoppedError from error
        message = f"the HPA controller was able to update the target scale to {desired}"
        turn.status.set_condition(_ABLE, "SucceededRescale", message)
        self._report(turn, "SuccessfulRescale", f"New size: {desired}; reason: {reason}", event_type=NORMAL)
        turn.memory.history.note_change(bounds.current, desired, part(turn.spec, "behavior"), turn.now)

    def _decide(self, turn: _Turn, scale: TargetScale, bounds: Bounds) -> tuple[int, str, list[Plain]]:
        """Return the desired replicas, the reason to scale, and the status of the metrics."""
        selector = self._read_selector(turn, scale)
        selected = self._pods.select(turn.ref.namespace, turn.memory.selector or PodSelector(selector.matches, ()))
        pods = [pod for pod in map(self._client.load, selected) if pod is not None]
        scaled = ScaledPods(pods, scale.replicas, scale.present, turn.tolerances, turn.now)
        best, statuses = self._read_metrics(turn, scaled)
        reason = f"{best.name} above target" if best.replicas > bounds.current else ""
        if best.replicas < bounds.current:
            reason = "All metrics below target"
        behavior = part(turn.spec, "behavior")
        outcome = normalize(behavior, best.replicas, bounds, turn.memory.history, turn.now)
        turn.status.set_condition(_ABLE, *outcome.able)
        turn.status.set_condition(_LIMITED, *outcome.limited, is_true=outcome.is_limited)
        return outcome.replicas, reason, statuses

    def _read_metrics(self, turn: _Turn, scaled: ScaledPods) -> tuple[MetricProposal, list[Plain]]:
        """Return the highest proposal of all metrics, and their statuses."""
        reader = MetricReader(self._client.cluster.metrics, turn.ref.namespace, scaled)
        metrics, statuses = items(turn.spec, "metrics"), list[Plain]()
        best: MetricProposal | None = None
        failures: list[MetricFailure] = []
        for metric in metrics:
            try:
                proposal = reader.read(metric)
            except MetricFailure as failure:
                self._report(turn, failure.reason, failure.problem)
                failures.append(failure)
                statuses.append({"type": ""})
                continue
            statuses.append(proposal.status)
            if best is None or not best.replicas or proposal.replicas > best.replicas:
                best = proposal
        # A missing metric might call for more replicas, so that the others cannot justify fewer.
        if best is not None and not (failures and best.replicas < scaled.replicas):
            message = f"the HPA was able to successfully calculate a replica count from {best.name}"
            turn.status.set_condition(_ACTIVE, "ValidMetricFound", message)
            return best, statuses
        message = f"the HPA was unable to compute the replica count: {failures[0].problem}"
        turn.status.set_condition(_ACTIVE, failures[0].reason, message, is_true=False)
        invalid = f"invalid metrics ({len(failures)} invalid out of {len(metrics)}), first error is: {failures[0]}"
        raise self._stop(turn, scaled.replicas, statuses, invalid)

    def _read_selector(self, turn: _Turn, scale: TargetScale) -> Selector:
        """Return the selector of the target; refuse pods that another autoscaler selects, too."""
        if not scale.selector:
            self._report(turn, "SelectorRequired", "selector is required")
            missing = "the HPA target's scale is missing a selector"
            turn.status.set_condition(_ACTIVE, "InvalidSelector", missing, is_true=False)
            raise self._stop(turn, scale.replicas, None, "selector is required")
        try:
            selector = parse(scale.selector)
        except SelectorError as error:
            problem = f"couldn't convert selector into a corresponding internal selector object: {error}"
            raise self._refuse_selector(turn, scale, "InvalidSelector", problem) from error
        turn.memory.selector = PodSelector(selector.matches, _equalities(selector))
        rivals = self._find_rivals(turn)
        if len(rivals) > 1:
            listed = " ".join(f"{{{ref.name} {ref.namespace}}}" for ref in rivals)
            problem = f"pods by selector {scale.selector} are controlled by multiple HPAs: [{listed}]"
            raise self._refuse_selector(turn, scale, "AmbiguousSelector", problem)
        return selector

    def _find_rivals(self, turn: _Turn) -> list[ObjectRef]:
        """Return all autoscalers that select pods of this one, itself included."""
        selector, namespace = turn.memory.selector, turn.ref.namespace
        others = {
            ref: memory.selector
            for ref, memory in self._memories.items()
            if ref.namespace == namespace and memory.selector is not None
        }
        if selector is None or len(others) < 2:
            return []
        labels = [pod.metadata.labels for pod in self._pods.select(namespace, selector).values()]
        return sorted(ref for ref, other in others.items() if any(other.matches(found) for found in labels))

    def _refuse_selector(self, turn: _Turn, scale: TargetScale, reason: str, problem: str) -> _StoppedError:
        self._report(turn, reason, problem)
        turn.status.set_condition(_ACTIVE, reason, problem, is_true=False)
        return self._stop(turn, scale.replicas, None, problem)

    def _stop(self, turn: _Turn, current: int, metrics: list[Plain] | None, problem: str) -> _StoppedError:
        turn.status.set_replicas(current, None, metrics)
        self._report(turn, "FailedComputeMetricsReplicas", problem)
        return _StoppedError(problem)

    def _report(self, turn: _Turn, reason: str, message: str, *, event_type: str = WARNING) -> None:
        self._events.record(turn.involved, reason, message, event_type=event_type)


def _equalities(selector: Selector) -> tuple[tuple[str, str], ...]:
    """Return the labels that every match has, for the lookup in the pod index."""
    return tuple(
        (requirement.key, requirement.values[0])
        for requirement in selector.requirements
        if requirement.operator in {"=", "=="} and len(requirement.values) == 1
    )
