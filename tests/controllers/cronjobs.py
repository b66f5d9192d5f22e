"""Scenarios of CronJobs, without waiting for a minute to pass.

A daily schedule fired ten minutes before the scenario; the status says when the CronJob was last scheduled, so that
starts count as missed. Jobs are written by the scenario, which stands in for the Job controller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.controllers.moments import DAY
from tests.controllers.parts import template
from tests.controllers.scenario import Action, Area, Scenario

if TYPE_CHECKING:
    from random import Random

AREA = Area(
    embedded=("cronjobs",),
    real=("cronjob-controller",),
    resources=("cronjobs", "jobs", "events"),
    advance=4.0,
    options=("--concurrent-cron-job-syncs=20",),
)


def compose(random: Random) -> Scenario:
    """Compose a scenario of one CronJob."""
    cron_job = {"metadata": {"name": "alpha"}, "spec": {**_spec(random), "suspend": True}}
    actions = [Action("create", "cronjobs", body=cron_job), _set_last_schedule(random)]
    actions += [_job(random, name) for name in ("one", "two", "three")[: random.choice((0, 0, 1, 2, 3))]]
    actions += [_patch({"suspend": False})]
    actions += [_edit(random) for _ in range(random.randint(1, 5))]
    return Scenario("cronjobs", actions)


_ZONES = ("Etc/UTC", "UTC", "Africa/Lagos")
"""In the last one, the schedule fired an hour earlier."""


def _spec(random: Random) -> dict[str, Any]:
    job: dict[str, Any] = {"spec": {"template": template({"app": "alpha"}, restartPolicy="Never")}}
    if random.random() < 0.3:
        job["metadata"] = {"labels": {"kind": "report"}, "annotations": {"note": "kept"}}
    spec: dict[str, Any] = {"schedule": "{cron:-10}", "jobTemplate": job}
    if random.random() < 0.7:
        spec["concurrencyPolicy"] = random.choice(("Allow", "Forbid", "Replace"))
    if random.random() < 0.4:
        spec["startingDeadlineSeconds"] = random.choice((60, 1200, 4000, 5000))
    if random.random() < 0.5:
        spec["successfulJobsHistoryLimit"] = random.randint(0, 2)
    if random.random() < 0.5:
        spec["failedJobsHistoryLimit"] = random.randint(0, 2)
    if random.random() < 0.25:
        spec["timeZone"] = random.choice(_ZONES)
    return spec


def _set_last_schedule(random: Random) -> Action:
    minutes = random.choice((-20, -10 - DAY, -10 - 2 * DAY, -10 - 200 * DAY, -10))
    body = {"status": {"lastScheduleTime": f"{{time:{minutes}}}"}}
    return Action("patch", "cronjobs", "alpha", body, subresource="status")


def _job(random: Random, name: str) -> Action:
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "alpha",
        "uid": "{uid:cronjobs/alpha}",
        "controller": True,
    }
    metadata: dict[str, Any] = {"name": f"alpha-{name}", "ownerReferences": [owner]}
    if random.random() < 0.2:
        metadata["finalizers"] = ["example.com/held"]
    spec = {"template": template({"app": "alpha"}, restartPolicy="Never")}
    return Action("create", "jobs", body={"metadata": metadata, "spec": spec})


def _finish(random: Random) -> Action:
    is_complete = random.random() < 0.6
    common = {"status": "True", "lastProbeTime": "{time:-2}", "lastTransitionTime": "{time:-2}"}
    status: dict[str, Any] = {"startTime": "{time:-3}"}
    if is_complete:
        status |= {"completionTime": "{time:-2}", "succeeded": 1}
        status["conditions"] = [{"type": "SuccessCriteriaMet", **common}, {"type": "Complete", **common}]
    else:
        status["conditions"] = [{"type": "FailureTarget", **common}, {"type": "Failed", **common}]
    body = {"status": status}
    return Action("patch", "jobs", body=body, subresource="status", where="any", pick=random.randrange(6))


def _patch(spec: dict[str, Any]) -> Action:
    return Action("patch", "cronjobs", "alpha", {"spec": spec})


def _edit(random: Random) -> Action:  # noqa: PLR0911 - one per kind of edit
    draw = random.random()
    if draw < 0.45:
        return _finish(random)
    if draw < 0.55:
        return Action("delete", "jobs", where="any", pick=random.randrange(6), query="propagationPolicy=Background")
    if draw < 0.65:
        return _patch({"suspend": random.random() < 0.5})
    if draw < 0.75:
        return _set_last_schedule(random)
    if draw < 0.85:
        return _patch({"concurrencyPolicy": random.choice(("Allow", "Forbid", "Replace"))})
    if draw < 0.88:
        return _patch({"schedule": random.choice(("{cron:-10}", "{cron:-20}"))})
    if draw < 0.9:
        return _patch({"timeZone": random.choice(_ZONES)})
    if draw < 0.94:
        return _patch({random.choice(("successfulJobsHistoryLimit", "failedJobsHistoryLimit")): random.randint(0, 1)})
    if draw < 0.97:
        return _job(random, random.choice(("four", "five")))
    return Action("delete", "cronjobs", "alpha", query="propagationPolicy=Background")
