"""The disruption controller: keeps the status of PodDisruptionBudgets, which evictions rely on."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead._meta.intstr import scaled_value
from masthead.errors import SelectorError
from masthead_server.clock import stamp
from masthead_server.controllers.disruption_scale import ScaleFinder, UnknownScaleError
from masthead_server.controllers.events import WARNING, ServerEventRecorder, reference_to
from masthead_server.controllers.pod_index import PodIndex, PodSelector, SelectorIndex
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef
    from masthead_server.controllers.pod_index import IndexedPod

__all__ = ["DisruptionController"]

_BUDGETS: Final = "policy/poddisruptionbudgets"
_PODS: Final = "pods"
_KIND: Final = ("policy/v1", "PodDisruptionBudget")
_ALLOWED: Final = "DisruptionAllowed"
_TARGET: Final = "DisruptionTarget"
_PATIENCE: Final = timedelta(minutes=2)
"""How long an evicted pod may wait for its deletion before it no longer counts as disrupted."""
_SEVERAL: Final = "MultiplePodDisruptionBudgets"


class DisruptionController:
    """Counts the pods of every budget, and resets conditions of pods whose eviction did not happen."""

    observes = frozenset({_BUDGETS, _PODS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._events = ServerEventRecorder(client, "controllermanager")
        self._pods = PodIndex.of(client.cluster)
        self._budgets = SelectorIndex()
        self._scales = ScaleFinder(client)

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a written budget, or the budget of a written pod, and pods that need a report or reset."""
        if write.ref.table == _BUDGETS:
            self._budgets.put(
                write.ref, None if write.record.is_deleted else _selector(write.served.load(write.record))
            )
            return (write.ref,)
        before, after = self._pods.update(write)
        pod = after or before
        if pod is None:
            return ()
        # As in kube-controller-manager, the labels before the write do not count.
        budgets = self._budgets.matching(write.ref.namespace, pod.metadata.labels)
        is_of_interest = len(budgets) > 1 or (after is not None and _disrupted_since(after) is not None)
        # kube-controller-manager picks one of several budgets at random; the first one is deterministic.
        return (*budgets[:1], write.ref) if is_of_interest else budgets[:1]

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Write the status of a budget; or report and reset a pod.

        Returns:
            The seconds until an evicted pod that was not deleted no longer counts as disrupted.

        Raises:
            JournalError: A change could not be stored.
        """
        if ref.table == _PODS:
            return await self._check_pod(ref)
        budget = self._client.load(ref)
        if budget is None:
            return None
        selector = PodSelector.of_label_selector(part(budget, "spec").get("selector"))
        pods = self._pods.select(ref.namespace, selector)
        involved = reference_to(budget, *_KIND)
        if not pods:
            self._events.record(involved, "NoPods", "No matching pods found")
        try:
            expected, wanted = self._expect(budget, pods, involved)
        except UnknownScaleError as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self._events.record(involved, "CalculateExpectedPodCountFailed", message, event_type=WARNING)
            await self._write(ref, budget, _failure_status(budget, str(error), self._client.cluster.now()))
            return None
        now = self._client.cluster.clock.now()
        disrupted = self._still_disrupted(budget, pods, now)
        healthy = sum(
            pod.is_ready and not pod.is_terminating and pod.metadata.name not in disrupted for pod in pods.values()
        )
        await self._write(ref, budget, status_of(budget, healthy, wanted, expected, disrupted, stamp(now)))
        ends = [datetime.fromisoformat(since) + _PATIENCE for since in disrupted.values()]
        return min((end - now).total_seconds() for end in ends) if ends else None

    def _expect(self, budget: Plain, pods: Mapping[ObjectRef, IndexedPod], involved: Plain) -> tuple[int, int]:
        """Return the expected number of pods, and the desired number of healthy pods.

        Raises:
            UnknownScaleError: If the controller of a pod has no scale.
        """
        spec = part(budget, "spec")
        most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
        if most is None and not isinstance(least, str):
            return (0, 0) if least is None else (len(pods), least)
        scales: dict[str, int] = {}
        unmanaged = False
        for pod in pods.values():
            owner = pod.controller
            if owner is None:
                unmanaged = True
            elif owner.uid not in scales:
                uid, scale = self._scales.find(pod)
                scales[uid] = scale
        if unmanaged:
            self._events.record(
                involved, "UnmanagedPods", _unmanaged_message(spec.get("selector") or {}), event_type=WARNING
            )
        expected = sum(scales.values())
        if most is not None:
            return expected, max(0, expected - scaled_value(most, expected, round_up=True))
        return expected, scaled_value(least or 0, expected, round_up=True)

    def _still_disrupted(self, budget: Plain, pods: Mapping[ObjectRef, IndexedPod], now: datetime) -> dict[str, str]:
        """Return the evicted pods that wait for their deletion; report pods that were not deleted in time."""
        known: dict[str, str] = part(part(budget, "status"), "disruptedPods")
        found: dict[str, str] = {}
        for ref, pod in pods.items():
            since = known.get(pod.metadata.name)
            if since is None or pod.is_terminating:
                continue
            if datetime.fromisoformat(since) + _PATIENCE > now:
                found[pod.metadata.name] = since
                continue
            stored = self._client.load(ref)
            if stored is not None:
                namespace = ref.namespace
                # The namespace instead of the name, as in kube-controller-manager's message.
                message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
                self._events.record(reference_to(stored, "v1", "Pod"), "NotDeleted", message, event_type=WARNING)
        return found

    async def _write(self, ref: ObjectRef, budget: Plain, status: Plain) -> None:
        if status != part(budget, "status"):
            await self._client.update(ref, lambda found: found.update(status=status), subresource="status")

    async def _check_pod(self, ref: ObjectRef) -> float | None:
        """Report a pod of several budgets; reset the DisruptionTarget condition of a pod that was not deleted.

        Raises:
            JournalError: A change could not be stored.
        """
        pod, stored = self._pods.get(ref), self._client.load(ref)
        if pod is None or stored is None:
            return None
        budgets = self._budgets.matching(ref.namespace, pod.metadata.labels)
        if len(budgets) > 1:
            which = f'"{ref.namespace}"/"{ref.name}" matches multiple PodDisruptionBudgets.'
            message = f'Pod {which}  Chose "{budgets[0].name}" arbitrarily.'
            self._events.record(reference_to(stored, "v1", "Pod"), _SEVERAL, message, event_type=WARNING)
        since = _disrupted_since(pod)
        if since is None:
            return None
        now = self._client.cluster.clock.now()
        remaining = (since + _PATIENCE - now).total_seconds()
        if remaining <= 0:
            await self._client.update(ref, lambda found: _reset_target(found, stamp(now)), subresource="status")
            return None
        return remaining


def status_of(budget: Plain, healthy: int, wanted: int, expected: int, disrupted: Mapping[str, str], now: str) -> Plain:
    """Compute the status of a budget.

    Args:
        budget: The budget.
        healthy: The number of ready pods that are not being deleted or evicted.
        wanted: The desired number of healthy pods.
        expected: The expected number of pods.
        disrupted: Evicted pods that wait for their deletion, with the time of the eviction.
        now: The time.
    """
    # Without pods, nothing is allowed: the first pods may be evicted before the budget counts them.
    allowed = max(0, healthy - wanted) if expected > 0 else 0
    generation = metadata(budget).get("generation", 0)
    before = part(budget, "status")
    status: Plain = {
        **({"observedGeneration": generation} if generation else {}),
        **({"disruptedPods": dict(disrupted)} if disrupted else {}),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": wanted,
        "expectedPods": expected,
    }
    conditions = items(before, "conditions")
    status["conditions"] = conditions
    reason = "SufficientPods" if allowed else "InsufficientPods"
    known = next((condition for condition in conditions if condition.get("type") == _ALLOWED), Plain())
    is_known = (known.get("status"), known.get("reason")) == (str(bool(allowed)), reason)
    counted = {name: value for name, value in before.items() if name != "conditions"}
    # A new message alone does not update the condition.
    if not is_known or counted != {name: value for name, value in status.items() if name != "conditions"}:
        status["conditions"] = _with_condition(conditions, str(bool(allowed)), reason, "", generation, now)
    return status


def _failure_status(budget: Plain, message: str, now: str) -> Plain:
    """Return the status of a budget without a count of pods, which allows no eviction."""
    status = {**part(budget, "status"), "disruptionsAllowed": 0}
    observed = status.get("observedGeneration", 0)
    conditions = _with_condition(items(status, "conditions"), "False", "SyncFailed", message, observed, now)
    return {**status, "conditions": conditions}


def _with_condition(
    conditions: list[Plain], status: str, reason: str, message: str, observed: int, now: str
) -> list[Plain]:
    known = next((condition for condition in conditions if condition.get("type") == _ALLOWED), None)
    since = known["lastTransitionTime"] if known is not None and known.get("status") == status else now
    condition: Plain = {
        "type": _ALLOWED,
        "status": status,
        **({"observedGeneration": observed} if observed else {}),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    if known is None:
        return [*conditions, condition]
    return [condition if stored is known else stored for stored in conditions]


def _selector(budget: Plain) -> PodSelector | None:
    try:
        return PodSelector.of_label_selector(part(budget, "spec").get("selector"))
    except SelectorError:
        return None


def _disrupted_since(pod: IndexedPod) -> datetime | None:
    """Return since when a pod is a DisruptionTarget; None for a pod that is not, or that is being deleted."""
    if pod.is_terminating or pod.is_finished:
        return None
    for condition in pod.status.conditions or ():
        # The condition of a kubelet does not expire.
        is_target = condition.type == _TARGET and condition.status == "True"
        if is_target and condition.reason != "TerminationByKubelet" and condition.last_transition_time:
            return datetime.fromisoformat(condition.last_transition_time)
    return None


def _reset_target(pod: Plain, now: str) -> None:
    if is_being_deleted(pod):
        return
    for condition in items(part(pod, "status"), "conditions"):
        if condition.get("type") == _TARGET:
            observed = {name: condition[name] for name in ("observedGeneration",) if name in condition}
            condition.clear()
            condition.update(
                {"type": _TARGET, **observed, "status": "False", "lastProbeTime": None, "lastTransitionTime": now}
            )


def _unmanaged_message(selector: Plain) -> str:
    """Return the message about pods without a controller, with the selector as Go's ``String`` prints it."""
    labels = "".join(f"{key}: {value}," for key, value in sorted(part(selector, "matchLabels").items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{text(expression, 'key')},Operator:{text(expression, 'operator')},"
        f"Values:[{' '.join(expression.get('values') or ())}],}},"
        for expression in items(selector, "matchExpressions")
    )
    written = (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
    return (
        f"Pods selected by this PodDisruptionBudget (selector: {written}) were found to be unmanaged. As a result, the "
        "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for "
        'these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
    )
