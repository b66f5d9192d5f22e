"""Scenarios of Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.controllers.parts import bound, delete_pod, finished, hold_pod, running, template, write_status
from tests.controllers.scenario import Action, Area, Scenario

if TYPE_CHECKING:
    from random import Random

AREA = Area(
    embedded=("jobs", "ttl-after-finished"),
    real=("job-controller", "ttl-after-finished-controller"),
    resources=("jobs", "pods", "events"),
    advance=50.0,
    quiet=60.0,
)


def compose(random: Random) -> Scenario:
    """Compose a scenario of one Job."""
    job = {"metadata": {"name": "alpha"}, "spec": _spec(random)}
    actions = [Action("create", "jobs", body=job)]
    actions += [_edit(random) for _ in range(random.randint(2, 7))]
    return Scenario("jobs", actions)


def _spec(random: Random) -> dict[str, Any]:
    policy = random.choice(("Never", "Never", "OnFailure"))
    pod_spec: dict[str, Any] = {"restartPolicy": policy, **(bound() if random.random() < 0.5 else {})}
    spec: dict[str, Any] = {"template": template({"app": "alpha"}, **pod_spec)}
    if random.random() < 0.8:
        spec["parallelism"] = random.randint(0, 3)
    if is_indexed := random.random() < 0.4:
        spec["completionMode"] = "Indexed"
    if is_indexed or random.random() < 0.6:
        spec["completions"] = random.randint(1, 4)
    if random.random() < 0.6:
        spec["backoffLimit"] = random.randint(0, 2)
    if random.random() < 0.15:
        spec["suspend"] = True
    if random.random() < 0.1:
        spec["activeDeadlineSeconds"] = random.randint(1, 2)
    if random.random() < 0.15:
        spec["ttlSecondsAfterFinished"] = random.randint(0, 1)
    if policy == "Never":
        _add_policies(random, spec, is_indexed=is_indexed)
    if is_indexed and random.random() < 0.3:
        rule = random.choice(({"succeededCount": 1}, {"succeededIndexes": "0"}))
        spec["successPolicy"] = {"rules": [rule]}
    return spec


def _add_policies(random: Random, spec: dict[str, Any], *, is_indexed: bool) -> None:
    if is_indexed and random.random() < 0.4:
        spec["backoffLimitPerIndex"] = random.randint(0, 1)
        if random.random() < 0.4:
            spec["maxFailedIndexes"] = random.randint(0, 2)
        spec.pop("backoffLimit", None)
    if random.random() < 0.35:
        actions = ["FailJob", "Ignore", "Count", *(["FailIndex"] if "backoffLimitPerIndex" in spec else [])]
        rules: list[dict[str, Any]] = []
        for _ in range(random.randint(1, 2)):
            on_codes = {"operator": random.choice(("In", "NotIn")), "values": [random.choice((3, 42))]}
            on_condition = [{"type": "DisruptionTarget", "status": "True"}]
            what = {"onExitCodes": on_codes} if random.random() < 0.6 else {"onPodConditions": on_condition}
            rules.append({"action": random.choice(actions), **what})
        spec["podFailurePolicy"] = {"rules": rules}
    if "podFailurePolicy" not in spec and random.random() < 0.2:
        spec["podReplacementPolicy"] = "Failed"


def _edit(random: Random) -> Action:  # noqa: PLR0911 - one per kind of edit
    draw = random.random()
    if draw < 0.35:
        return write_status(random, finished(0))
    if draw < 0.6:
        condition = "DisruptionTarget" if random.random() < 0.25 else ""
        return write_status(random, finished(random.choice((1, 3, 42)), condition=condition))
    if draw < 0.7:
        return write_status(random, running(ready=random.random() < 0.7))
    if draw < 0.76:
        return delete_pod(random)
    if draw < 0.8:
        return delete_pod(random, "terminating", at_once=True)
    if draw < 0.84:
        return hold_pod(random)
    if draw < 0.92:
        return Action("patch", "jobs", "alpha", {"spec": {"suspend": random.random() < 0.5}})
    if draw < 0.95:
        return Action("patch", "jobs", "alpha", {"spec": {"parallelism": random.randint(0, 4)}})
    if draw < 0.97:
        # Refused, unless the Job is indexed.
        size = random.randint(0, 4)
        return Action("patch", "jobs", "alpha", {"spec": {"parallelism": size, "completions": size}})
    policy = random.choice(("Background", "Orphan"))
    return Action("delete", "jobs", "alpha", query=f"propagationPolicy={policy}")
