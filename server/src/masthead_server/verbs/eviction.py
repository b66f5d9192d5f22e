"""Evictions: delete a pod if its disruption budget allows it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.labels import from_label_selector
from masthead._meta.quoting import quoted
from masthead._meta.v1 import LabelSelector
from masthead._schema.errors import invalid
from masthead_server.field_managers.own_entries import CLUSTER_MANAGER
from masthead_server.verbs import delete, write
from masthead_server.verbs.delete import DeletionContext
from masthead_server.verbs.write_context import WriteContext
from masthead_server.wire.failures import StatusFailure, bad_request, details_of, refused_fields
from masthead_server.wire.options import DeletionOptions, WriteOptions
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource

__all__ = ["OLDER_VERSIONS", "evict"]

_BUDGETS: Final = GroupVersionResource("policy", "v1", "poddisruptionbudgets")

OLDER_VERSIONS: Final = ("policy/v1beta1",)
"""Versions of an Eviction that are accepted as well, though they are no longer served."""
_UNGUARDED: Final = frozenset({"Succeeded", "Failed", "Pending"})
"""Phases in which budgets do not count a pod: it does not run any more, or not yet."""
_MAX_DISRUPTED: Final = 2000
"""The most evictions that the disruption controller has not observed yet."""
_RISKY: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_PATIENCE: Final = 10
_ALLOWED: Final = "DisruptionAllowed"


async def evict(context: WriteContext, body: Plain) -> None:
    """Evict a pod: count it against its disruption budget, and delete it with the options of the Eviction.

    Raises:
        StatusFailure: If there is no such pod, if it fails a precondition, or if its budget allows no
            disruption now.
    """
    cluster, served, name = context.cluster, context.served, context.name
    _check_names(name, body)
    dry_run = _dry_run(body, context.options)
    how = _deletion_options(part(body, "deleteOptions"), dry_run)
    pod = served.load(cluster.find(served, context.namespace, name))
    budget = None if _is_unguarded(pod) else _budget_of(cluster, pod)
    if budget is None or _is_unobserved(budget):
        await _end(cluster, served, pod, how, dry_run)
    elif _counts_as_down_already(budget, pod):
        # Its budget does not count this pod as healthy, so that its eviction spends no disruption.
        await _end_unready(cluster, served, pod, how, dry_run, text(metadata(budget), "name"))
    else:
        # The budget is spent before the pod is deleted, so that a refused eviction deletes nothing.
        await _spend(cluster, budget, name, is_dry_run=how.is_dry_run)
        await _let_controllers_run()
        await _end(cluster, served, pod, how, dry_run)


def _check_names(name: str, body: Plain) -> None:
    if text(part(body, "metadata"), "name") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    if part(body, "deleteOptions").get(_RISKY):
        detail = "can not be set for pod eviction, try after removing the option"
        raise refused_fields("policy", "Eviction", name, [invalid(f"deleteOptions.{_RISKY}", True, detail)])


def _dry_run(body: Plain, options: WriteOptions) -> tuple[str, ...]:
    """The dry run of the query or the body; where both have one, they must be equal."""
    in_query = ("All",) if options.is_dry_run else ()
    in_body = tuple(cast("list[str]", part(body, "deleteOptions").get("dryRun") or ()))
    if in_query and in_body and in_query != in_body:
        problem = f"[{' '.join(in_query)}] and [{' '.join(in_body)}]"
        raise StatusFailure(500, "", f"Non-matching dry-run options in request and content: {problem}")
    return in_body or in_query


def _deletion_options(wanted: Plain, dry_run: tuple[str, ...]) -> DeletionOptions:
    conditions = part(wanted, "preconditions")
    return DeletionOptions(
        is_dry_run=bool(dry_run),
        grace=wanted.get("gracePeriodSeconds"),
        policy=wanted.get("propagationPolicy"),
        orphans=wanted.get("orphanDependents"),
        uid=conditions.get("uid"),
        version=conditions.get("resourceVersion"),
    )


def _is_unguarded(pod: Plain) -> bool:
    return is_being_deleted(pod) or part(pod, "status").get("phase") in _UNGUARDED


async def _end(
    cluster: ClusterState, served: ServedResource, pod: Plain, how: DeletionOptions, dry_run: tuple[str, ...]
) -> None:
    """Set the condition of a pod that is being evicted, and delete it, in two writes."""
    meta = metadata(pod)
    place = meta["namespace"], meta["name"]
    if not how.is_dry_run:
        # Empty preconditions do not count here, but they do for the deletion.
        delete.check_preconditions(served, meta, replace(how, uid=how.uid or None, version=how.version or None))

        async def mark(found: Plain) -> Plain:
            return _mark_evicted(found, cluster.now())

        status = WriteContext(cluster, served, *place, WriteOptions(), subresource="status", is_admitted=True)
        await write.update(status, mark)
        await _let_controllers_run()
        how = replace(how, version=None)  # it was met, until the write above
    if errors := how.errors(dry_run):
        raise refused_fields("meta.k8s.io", "DeleteOptions", "", errors)
    # Admission has decided about the Eviction, and is not asked about the deletion.
    await delete.delete(DeletionContext(cluster, served, *place, how, is_admitted=True))


async def _end_unready(
    cluster: ClusterState,
    served: ServedResource,
    pod: Plain,
    how: DeletionOptions,
    dry_run: tuple[str, ...],
    budget: str,
) -> None:
    """Delete a pod in the version of the budget check, rather than in the client's."""
    try:
        await _end(cluster, served, pod, replace(how, version=metadata(pod)["resourceVersion"]), dry_run)
    except StatusFailure as failure:
        if failure.reason == "Conflict" and how.version is None:
            raise _still_processed(budget) from None
        raise


async def _let_controllers_run() -> None:
    """Let controllers act on one write of an eviction before the next, as beside kube-apiserver."""
    await asyncio.sleep(0)


def _mark_evicted(pod: Plain, now: str) -> Plain:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    _set_condition(pod.setdefault("status", {}), condition, now)
    return pod


def _set_condition(status: Plain, condition: Plain, now: str) -> None:
    """Replace the condition of a type; its transition time changes with its status."""
    conditions = items(status, "conditions")
    before = _condition(status, condition["type"])
    condition["lastTransitionTime"] = now
    if before is None:
        status["conditions"] = [*conditions, condition]
        return
    if before.get("status") == condition["status"]:
        condition["lastTransitionTime"] = before.get("lastTransitionTime")
    status["conditions"] = [condition if stored is before else stored for stored in conditions]


def _condition(status: Plain, kind: str) -> Plain | None:
    return next((condition for condition in items(status, "conditions") if condition.get("type") == kind), None)


def _budgets(cluster: ClusterState, pod: Plain) -> Iterator[Plain]:
    """The disruption budgets that select a pod."""
    served = cluster.catalog.require(_BUDGETS)
    labels = part(metadata(pod), "labels")
    storage = cluster.storage
    for record in storage.table(served.table).scan(f"{metadata(pod)['namespace']}/", storage.revision):
        found = served.load(record)
        wanted = part(found, "spec").get("selector")
        if from_label_selector(None if wanted is None else LabelSelector.from_dict(wanted)).matches(labels):
            yield found


def _budget_of(cluster: ClusterState, pod: Plain) -> Plain | None:
    budgets = list(_budgets(cluster, pod))
    if len(budgets) > 1:
        problem = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise StatusFailure(500, "", problem)
    return budgets[0] if budgets else None


def _is_unobserved(budget: Plain) -> bool:
    """Tell whether nobody has written the status of a budget.

    No controller of this server does. kube-apiserver refuses evictions until one has, and a drain would never end.
    """
    return not any(part(budget, "status").values())


def _counts_as_down_already(budget: Plain, pod: Plain) -> bool:
    """Tell whether a pod may be evicted without counting: it is not ready, and its budget allows that."""
    ready = _condition(part(pod, "status"), "Ready")
    if ready is not None and ready.get("status") == "True":
        return False
    if part(budget, "spec").get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    # Otherwise a pod that is not ready may go only while enough others are healthy.
    status = part(budget, "status")
    needed = status.get("desiredHealthy", 0)
    return bool(needed) and status.get("currentHealthy", 0) >= needed


async def _spend(cluster: ClusterState, budget: Plain, pod: str, *, is_dry_run: bool) -> None:
    """Take one disruption from a budget.

    Raises:
        StatusFailure: If the budget allows none now.
    """
    if is_dry_run:
        _check_allows_disruption(budget)
        return

    async def spend(stored: Plain) -> Plain:
        # Checked in every attempt: another eviction may spend the last disruption first.
        _check_allows_disruption(stored)
        return _count_disruption(stored, pod, cluster.now())

    meta = metadata(budget)
    context = WriteContext(
        cluster,
        cluster.catalog.require(_BUDGETS),
        meta["namespace"],
        meta["name"],
        WriteOptions(),
        subresource="status",
        manager=CLUSTER_MANAGER,
        is_admitted=True,
    )
    await write.update(context, spend)


def _check_allows_disruption(budget: Plain) -> None:
    meta, status = metadata(budget), part(budget, "status")
    name = meta["name"]
    # Until the disruption controller has seen the current spec, disruptionsAllowed may be out of date.
    if status.get("observedGeneration", 0) < meta.get("generation", 0):
        raise _still_processed(name)
    # The disruption controller removes entries; so many of them mean that it does not keep up.
    if len(part(status, "disruptedPods")) > _MAX_DISRUPTED:
        raise _too_many_disrupted(name)
    if not status.get("disruptionsAllowed"):
        raise _used_up(name, status)


def _count_disruption(budget: Plain, pod: str, now: str) -> Plain:
    status = part(budget, "status")
    status["disruptionsAllowed"] -= 1
    status["disruptedPods"] = {**part(status, "disruptedPods"), pod: now}
    if not status["disruptionsAllowed"]:
        condition: Plain = {"type": _ALLOWED, "status": "False", "reason": "InsufficientPods", "message": ""}
        if seen := status.get("observedGeneration"):
            condition["observedGeneration"] = seen
        _set_condition(status, condition, now)
    return budget


def _still_processed(budget: str) -> StatusFailure:
    """The disruption controller has not observed the budget yet: the client is to retry."""
    return _too_many(f"The disruption budget {budget} is still being processed by the server.", retry_after=_PATIENCE)


def _used_up(budget: str, status: Plain) -> StatusFailure:
    """A budget allows no disruption, for the reason in its status."""
    condition = _condition(status, _ALLOWED) or {}
    reason, message = text(condition, "reason"), text(condition, "message")
    says_why = condition.get("status") == "False" and bool(message)
    healthy, needed = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    refusal = f"The disruption budget {budget} does not allow evicting pods currently"
    if says_why and reason == "SyncFailed":  # the counts are not reliable then
        return _too_many(f"{refusal} because it failed sync: {message}")
    if healthy <= needed:
        return _too_many(f"The disruption budget {budget} needs {needed} healthy pods and has {healthy} currently")
    return _too_many(f"{refusal} ({reason}): {message}" if says_why else refusal)


def _too_many(cause: str, *, retry_after: int | None = None) -> StatusFailure:
    details: Plain = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    return StatusFailure(429, "TooManyRequests", _REFUSED, details=details, retry_after=retry_after)


def _too_many_disrupted(budget: str) -> StatusFailure:
    problem = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
    return StatusFailure(
        403,
        "Forbidden",
        f"poddisruptionbudget.policy {quoted(budget)} is forbidden: {problem}",
        details=details_of(budget, "policy", "poddisruptionbudget"),
    )
