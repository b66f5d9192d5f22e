"""Evictions: deletions of pods that a disruption budget may refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, CallResponse, Plain

case = area("Evictions")

UNUSED_UID = "00000000-0000-0000-0000-000000000000"
READY = {"type": "Ready", "status": "True"}
CALM: Plain = {
    "observedGeneration": 1,
    "disruptionsAllowed": 1,
    "currentHealthy": 2,
    "desiredHealthy": 1,
    "expectedPods": 2,
}
TENSE: Plain = {**CALM, "disruptionsAllowed": 0, "currentHealthy": 1}


def eviction(name: str, **options: Any) -> Plain:
    """An eviction, with the options of its deletion."""
    body = named("policy/v1", "Eviction", name)
    return {**body, "deleteOptions": options} if options else body


def evict(api: Api, name: str, body: Plain | None = None, **query: str) -> CallResponse:
    return api.create("pods", body or eviction(name), sub=f"{name}/eviction", **query)


def running(api: Api, name: str, *, ready: bool = True, phase: str = "Running", **meta: Any) -> CallResponse:
    """Make a pod that a node runs, labelled for the budgets below."""
    meta = {"labels": {"app": "a"}, **meta}
    api.create("pods", pod(name, spec={"nodeName": "node"}, **meta))
    status = {
        "phase": phase,
        "conditions": [{**READY, "lastTransitionTime": "2001-02-03T04:05:06Z"}] if ready else [],
    }
    return api.patch("pods", f"{name}/status", {"status": status})


def budget(api: Api, status: Plain | None = None, *, name: str = "b", spec: Plain | None = None) -> CallResponse:
    """Create a budget and write its status; without one, no controller has observed it yet."""
    wanted = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}, **(spec or {})}
    made = api.create("poddisruptionbudgets", named("policy/v1", "PodDisruptionBudget", name, spec=wanted))
    return api.patch("poddisruptionbudgets", f"{name}/status", {"status": status}) if status else made


@case("a pod is evicted")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    evict(api, "a")
    api.get("pods", "a")
    evict(api, "a")


@case("an eviction as a dry run, and of another name")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    evict(api, "a", dryRun="All")
    evict(api, "a", eviction("b"))
    api.get("pods", "a")


@case("an eviction that does not say whose it is")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    evict(api, "a", {"apiVersion": "policy/v1", "kind": "Eviction"})
    evict(api, "a", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {}})
    api.create("pods", {}, sub="a/eviction")
    api.create("pods", None, sub="a/eviction")
    evict(api, "none", {"apiVersion": "policy/v1", "kind": "Eviction"})
    api.get("pods", "a")


@case("an eviction in another namespace, or of another kind or version")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    evict(api, "a", {**eviction("a"), "metadata": {"name": "a", "namespace": "elsewhere"}})
    evict(api, "a", named("v1", "Binding", "a"))
    evict(api, "a", named("policy/v1alpha1", "Eviction", "a"))
    evict(api, "a", {"metadata": {"name": "a", "namespace": api.namespace}})


@case("an eviction in the version before")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    evict(api, "a", named("policy/v1beta1", "Eviction", "a"))
    api.get("pods", "a")


@case("an evicted pod has its grace period, and a condition with the reason")
def _(api: Api) -> None:
    with api.watching("pods") as stream:
        running(api, "a")
        evict(api, "a")
        api.get("pods", "a")
        evict(api, "a")
        api.get("pods", "a")
        evict(api, "a", eviction("a", gracePeriodSeconds=0))
        api.get("pods", "a")
        stream.read(6)


@case("an evicted pod that a finalizer holds")
def _(api: Api) -> None:
    running(api, "a", finalizers=["example.com/one"])
    evict(api, "a", eviction("a", gracePeriodSeconds=0))
    api.get("pods", "a")
    evict(api, "a")
    api.get("pods", "a")


@case("an evicted pod that has ended, or has not begun")
def _(api: Api) -> None:
    budget(api, TENSE)
    for phase in ("Succeeded", "Failed", "Pending", "Running", "Unknown"):
        name = phase.lower()
        running(api, name, phase=phase)
        evict(api, name)
        api.get("pods", name)


@case("a pod that is being deleted can be evicted against a budget")
def _(api: Api) -> None:
    running(api, "a")
    budget(api, TENSE)
    evict(api, "a")
    api.delete("pods", "a", gracePeriodSeconds=60)
    evict(api, "a", eviction("a", gracePeriodSeconds=5))
    api.get("pods", "a")


@case("the options of an evicted pod's deletion")
def _(api: Api) -> None:
    wanted: dict[str, Plain] = {
        "grace": {"gracePeriodSeconds": 7},
        "negative": {"gracePeriodSeconds": -1},
        "foreground": {"propagationPolicy": "Foreground"},
        "orphans": {"orphanDependents": True},
        "both": {"orphanDependents": True, "propagationPolicy": "Background"},
        "unknown": {"propagationPolicy": "Sideways"},
    }
    for name, options in wanted.items():
        running(api, name)
        evict(api, name, eviction(name, **options))
        api.get("pods", name)


@case("an eviction that would break what it cannot read")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    evict(api, "a", eviction("a", ignoreStoreReadErrorWithClusterBreakingPotential=True))
    evict(api, "a", eviction("b", ignoreStoreReadErrorWithClusterBreakingPotential=True))
    evict(api, "none", eviction("none", ignoreStoreReadErrorWithClusterBreakingPotential=True))
    evict(api, "a", eviction("a", ignoreStoreReadErrorWithClusterBreakingPotential=False))


@case("an eviction with dryRun in its body")
def _(api: Api) -> None:
    running(api, "a")
    budget(api, CALM)
    evict(api, "a", eviction("a", dryRun=["All"]))
    evict(api, "a", eviction("a", dryRun=["All"]), dryRun="All")
    evict(api, "a", eviction("a", dryRun=["Some"]))
    evict(api, "a", eviction("a", dryRun=["Some"]), dryRun="All")
    evict(api, "a", eviction("a", dryRun=["All", "All"]), dryRun="All")
    evict(api, "a", eviction("a", gracePeriodSeconds=5), dryRun="All")
    api.get("pods", "a")
    api.get("poddisruptionbudgets", "b")


@case("conditions of an eviction")
def _(api: Api) -> None:
    made = running(api, "a")
    evict(api, "a", eviction("a", preconditions={"uid": UNUSED_UID}))
    evict(api, "a", eviction("a", preconditions={"uid": UNUSED_UID}), dryRun="All")
    evict(api, "a", eviction("a", preconditions={"resourceVersion": "1"}))
    evict(api, "a", eviction("a", preconditions={"resourceVersion": "1"}), dryRun="All")
    api.get("pods", "a")
    evict(api, "a", eviction("a", preconditions={"uid": made.uid, "resourceVersion": made.version}))
    api.get("pods", "a")


@case("conditions of an eviction that no budget guards against")
def _(api: Api) -> None:
    made = api.create("pods", pod("a"))
    evict(api, "a", eviction("a", preconditions={"resourceVersion": "1"}))
    evict(api, "a", eviction("a", preconditions={"uid": UNUSED_UID, "resourceVersion": made.version}))
    evict(api, "a", eviction("a", preconditions={"uid": made.uid, "resourceVersion": made.version}))
    api.get("pods", "a")


@case("conditions that are there, and empty")
def _(api: Api) -> None:
    running(api, "a")
    evict(api, "a", eviction("a", preconditions={"uid": ""}))
    evict(api, "a", eviction("a", preconditions={"resourceVersion": ""}))
    evict(api, "a", eviction("a", preconditions={}))
    api.get("pods", "a")


@case("a budget that no controller has observed")
def _(api: Api) -> None:
    running(api, "a")
    budget(api)
    evict(api, "a")


@case("a budget that changed since a controller observed it")
def _(api: Api) -> None:
    running(api, "a")
    budget(api, CALM)
    api.patch("poddisruptionbudgets", "b", {"spec": {"minAvailable": 2}})
    evict(api, "a")
    evict(api, "a", dryRun="All")
    api.get("pods", "a")


@case("a budget that allows nothing")
def _(api: Api) -> None:
    running(api, "a")
    budget(api, {**CALM, "disruptionsAllowed": 0, "desiredHealthy": 2})
    evict(api, "a")
    evict(api, "a", dryRun="All")
    evict(api, "a", eviction("a", preconditions={"uid": UNUSED_UID}))
    api.get("pods", "a")
    api.get("poddisruptionbudgets", "b")


@case("a budget that allows nothing, and its reasons")
def _(api: Api) -> None:
    running(api, "a")
    budget(api, {**CALM, "disruptionsAllowed": 0})
    evict(api, "a")
    for condition, counts in (
        (("SyncFailed", "no such owner", "False"), {}),
        (("SyncFailed", "no such owner", "False"), {"desiredHealthy": 2}),
        (("SyncFailed", "", "False"), {"desiredHealthy": 1}),
        (("InsufficientPods", "too few", "False"), {}),
        (("InsufficientPods", "too few", "False"), {"desiredHealthy": 2}),
        (("InsufficientPods", "", "False"), {"desiredHealthy": 1}),
        (("SufficientPods", "enough", "True"), {}),
    ):
        reason, message, status = condition
        written = {"type": "DisruptionAllowed", "status": status, "reason": reason, "message": message}
        written["lastTransitionTime"] = "2001-02-03T04:05:06Z"
        api.patch("poddisruptionbudgets", "b/status", {"status": {"conditions": [written], **counts}})
        evict(api, "a")


@case("a budget counts what it allowed")
def _(api: Api) -> None:
    running(api, "a")
    running(api, "c")
    running(api, "d")
    budget(api, {**CALM, "disruptionsAllowed": 2, "currentHealthy": 3})
    evict(api, "a")
    api.get("poddisruptionbudgets", "b")
    evict(api, "a")
    evict(api, "c")
    api.get("poddisruptionbudgets", "b")
    evict(api, "d")


@case("a budget keeps its earlier status")
def _(api: Api) -> None:
    condition = {
        "type": "DisruptionAllowed",
        "status": "True",
        "reason": "SufficientPods",
        "message": "enough",
    }
    condition["lastTransitionTime"] = "2001-02-03T04:05:06Z"
    pods = {"z": "2001-02-03T04:05:06Z"}
    running(api, "a")
    budget(api, {**CALM, "conditions": [condition], "disruptedPods": pods})
    evict(api, "a")
    api.get("poddisruptionbudgets", "b")
    running(api, "c")
    refusing = {**condition, "status": "False", "reason": "InsufficientPods"}
    changed = {"conditions": [refusing], "disruptionsAllowed": 1}
    api.patch("poddisruptionbudgets", "b/status", {"status": changed})
    evict(api, "c")
    api.get("poddisruptionbudgets", "b")


@case("a budget counts also what came to nothing")
def _(api: Api) -> None:
    running(api, "a")
    budget(api, CALM)
    evict(api, "a", eviction("a", preconditions={"uid": UNUSED_UID}))
    api.get("poddisruptionbudgets", "b")
    api.get("pods", "a")


@case("two budgets for one pod")
def _(api: Api) -> None:
    running(api, "a")
    budget(api, CALM)
    budget(api, CALM, name="c")
    evict(api, "a")
    evict(api, "a", dryRun="All")
    api.get("pods", "a")
    api.get("poddisruptionbudgets", "b")


@case("budgets for other pods")
def _(api: Api) -> None:
    running(api, "a")
    budget(api, name="other", spec={"selector": {"matchLabels": {"app": "b"}}})
    budget(api, name="none", spec={"selector": None})
    evict(api, "a")
    api.get("poddisruptionbudgets", "other")


@case("a budget for all pods, and one by expressions")
def _(api: Api) -> None:
    running(api, "a")
    running(api, "c", labels={})
    budget(api, TENSE, name="all", spec={"selector": {}})
    evict(api, "a")
    evict(api, "c")
    api.delete("poddisruptionbudgets", "all")
    expressions = [{"key": "app", "operator": "In", "values": ["a", "b"]}]
    budget(api, TENSE, name="some", spec={"selector": {"matchExpressions": expressions}})
    evict(api, "a")
    evict(api, "c")


@case("a pod that is not ready, while enough others are")
def _(api: Api) -> None:
    budget(api, {**CALM, "disruptionsAllowed": 0})
    running(api, "a", ready=False)
    evict(api, "a")
    api.get("pods", "a")
    api.get("poddisruptionbudgets", "b")


@case("a pod that is not ready, while too few others are")
def _(api: Api) -> None:
    running(api, "a", ready=False)
    budget(api, {**CALM, "disruptionsAllowed": 0, "currentHealthy": 0})
    evict(api, "a")
    api.patch("poddisruptionbudgets", "b", {"spec": {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}})
    evict(api, "a")
    healthy = {"observedGeneration": 2, "desiredHealthy": 0}
    api.patch("poddisruptionbudgets", "b/status", {"status": healthy})
    evict(api, "a")
    api.patch("poddisruptionbudgets", "b/status", {"status": {"disruptionsAllowed": 1}})
    evict(api, "a")
    api.get("poddisruptionbudgets", "b")


@case("a pod that is not ready, and a budget that does not mind")
def _(api: Api) -> None:
    running(api, "a", ready=False)
    running(api, "c")
    spec = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}
    budget(api, {**CALM, "disruptionsAllowed": 0, "currentHealthy": 0}, spec=spec)
    evict(api, "c")
    evict(api, "a", eviction("a", preconditions={"uid": UNUSED_UID}))
    evict(api, "a", eviction("a", preconditions={"resourceVersion": "1"}))
    evict(api, "a", dryRun="All")
    evict(api, "a")
    api.get("pods", "a")
    api.get("poddisruptionbudgets", "b")
