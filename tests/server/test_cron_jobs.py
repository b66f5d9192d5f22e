"""CronJobs: Jobs on schedule, in a time zone, with a concurrency policy and a history."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

BATCH = "/apis/batch/v1/namespaces/default"
CRON_JOB = f"{BATCH}/cronjobs/report"
START = datetime(2026, 5, 6, 12, 30, 20, tzinfo=UTC)
MINUTES = int(START.timestamp()) // 60
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronCluster(QuietCluster):
    """A quiet cluster with a CronJob, whose Jobs end when a test says so."""

    def __init__(self, server: Server, clock: VirtualClock) -> None:
        super().__init__(server)
        self.clock = clock

    def create_cron_job(self, schedule: str = "* * * * *", **spec: Any) -> None:
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        template = {"metadata": {"labels": {"kind": "report"}}, "spec": {"template": {"spec": pod}}}
        body = {"metadata": {"name": "report"}, "spec": {"schedule": schedule, "jobTemplate": template, **spec}}
        self.call("POST", f"{BATCH}/cronjobs", body)

    def patch(self, **spec: Any) -> None:
        self.call("PATCH", CRON_JOB, {"spec": spec}, content_type=MERGE_PATCH)

    def pass_minutes(self, minutes: float) -> None:
        self.server.advance(60 * minutes)
        self.server.block_until_idle()

    def jobs(self) -> list[str]:
        """The Jobs, by the minutes from the start of the test to theirs."""
        items = self.call("GET", f"{BATCH}/jobs")["items"]
        return [f"{int(job['metadata']['name'].removeprefix('report-')) - MINUTES:+d}" for job in items]

    def end(self, minute: int, condition: str = "Complete") -> None:
        now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        times = {"startTime": now, **({"completionTime": now} if condition == "Complete" else {})}
        before = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[condition]
        conditions = [{"type": name, "status": "True", "lastTransitionTime": now} for name in (before, condition)]
        body = {"status": {**times, "conditions": conditions}}
        self.call("PATCH", f"{BATCH}/jobs/report-{MINUTES + minute}/status", body, content_type=MERGE_PATCH)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.call("GET", CRON_JOB)["status"]
        return found

    def reports(self) -> list[tuple[str, str]]:
        items = self.call("GET", "/api/v1/namespaces/default/events")["items"]
        return [
            (event["reason"], event["message"].replace(f"report-{MINUTES}", "report-0"))
            for event in items
            if event["involvedObject"]["kind"] == "CronJob"
        ]


@pytest.fixture
def cluster() -> Iterator[CronCluster]:
    clock = VirtualClock(START)
    # The Job controller is left out, so that Jobs end when a test says so.
    controllers = ["garbage", "cronjobs"]
    with masthead.server.run(clock=clock, token=None, controllers=controllers, bootstrap=False) as running:
        made = CronCluster(running, clock)
        yield made
        made.caller.close()


def test_a_job_starts_at_each_time_of_the_schedule(cluster: CronCluster) -> None:
    cluster.create_cron_job("*/10 * * * *")
    cluster.pass_minutes(9.6)
    assert cluster.jobs() == []
    cluster.pass_minutes(1)
    assert cluster.jobs() == ["+10"]
    job = cluster.call("GET", f"{BATCH}/jobs/report-{MINUTES + 10}")
    assert job["metadata"]["annotations"][SCHEDULED] == "2026-05-06T12:40:00Z"
    assert job["metadata"]["labels"]["kind"] == "report"
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    assert cluster.status()["lastScheduleTime"] == "2026-05-06T12:40:00Z"
    assert [active["name"] for active in cluster.status()["active"]] == [job["metadata"]["name"]]
    assert cluster.reports() == [("SuccessfulCreate", f"Created job {job['metadata']['name']}")]


def test_a_deadline_may_be_longer_than_the_calendar(cluster: CronCluster) -> None:
    cluster.create_cron_job(startingDeadlineSeconds=2**63 - 1)
    cluster.pass_minutes(1)
    assert cluster.jobs() == ["+1"]


def test_a_finished_job_is_active_no_longer_and_its_success_is_noted(cluster: CronCluster) -> None:
    cluster.create_cron_job()
    cluster.pass_minutes(0.7)
    cluster.end(1)
    assert cluster.status() == {
        "lastScheduleTime": "2026-05-06T12:31:00Z",
        "lastSuccessfulTime": "2026-05-06T12:31:02Z",
    }
    name = f"report-{MINUTES + 1}"
    assert ("SawCompletedJob", f"Saw completed job: {name}, condition: Complete") in cluster.reports()


def test_the_history_keeps_the_newest_jobs_of_each_end(cluster: CronCluster) -> None:
    cluster.create_cron_job(successfulJobsHistoryLimit=2, failedJobsHistoryLimit=1)
    for minute, condition in enumerate(["Complete", "Failed", "Complete", "Failed", "Complete"], 1):
        cluster.pass_minutes(1)
        cluster.end(minute, condition)
    assert cluster.jobs() == ["+3", "+4", "+5"]
    assert sum(reason == "SuccessfulDelete" for reason, _ in cluster.reports()) == 2


@pytest.mark.parametrize(
    ("policy", "jobs", "reason"),
    [
        ("Allow", ["+1", "+2", "+3"], "SuccessfulCreate"),
        ("Forbid", ["+1"], "JobAlreadyActive"),
        ("Replace", ["+3"], "SuccessfulDelete"),
    ],
)
def test_a_concurrency_policy_decides_about_jobs_that_still_run(
    cluster: CronCluster, policy: str, jobs: list[str], reason: str
) -> None:
    cluster.create_cron_job(concurrencyPolicy=policy)
    cluster.pass_minutes(3)
    assert cluster.jobs() == jobs
    assert len(cluster.status()["active"]) == len(jobs)
    assert reason in dict(cluster.reports())


def test_a_forbidden_start_is_made_up_for_when_the_job_ends(cluster: CronCluster) -> None:
    cluster.create_cron_job(concurrencyPolicy="Forbid")
    cluster.pass_minutes(3)
    cluster.end(1)
    assert cluster.jobs() == ["+1", "+3"]


def test_starts_follow_the_clocks_of_a_time_zone(cluster: CronCluster) -> None:
    cluster.create_cron_job("0 9 * * *", timeZone="America/New_York", startingDeadlineSeconds=3600)
    cluster.pass_minutes(31)
    (job,) = cluster.call("GET", f"{BATCH}/jobs")["items"]
    assert job["metadata"]["annotations"][SCHEDULED] == "2026-05-06T09:00:00-04:00"
    assert cluster.status()["lastScheduleTime"] == "2026-05-06T13:00:00Z"


def test_a_suspended_cron_job_starts_the_last_missed_job_when_it_goes_on(cluster: CronCluster) -> None:
    cluster.create_cron_job(suspend=True)
    cluster.pass_minutes(4)
    assert cluster.jobs() == []
    cluster.patch(suspend=False)
    assert cluster.jobs() == ["+4"]
    assert dict(cluster.reports()).keys() == {"SuccessfulCreate"}


def test_more_than_a_hundred_missed_starts_are_reported(cluster: CronCluster) -> None:
    cluster.create_cron_job(suspend=True)
    cluster.pass_minutes(102)
    cluster.patch(suspend=False)
    assert cluster.jobs() == ["+102"]
    message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
    assert ("TooManyMissedTimes", message) in cluster.reports()


def test_a_start_is_missed_for_good_after_its_deadline(cluster: CronCluster) -> None:
    cluster.create_cron_job("40 12 * * *", suspend=True, startingDeadlineSeconds=60)
    cluster.pass_minutes(12)
    cluster.patch(suspend=False)
    assert cluster.jobs() == []


def test_a_new_schedule_does_not_make_up_for_earlier_times(cluster: CronCluster) -> None:
    cluster.create_cron_job("0 0 1 1 *")
    cluster.pass_minutes(20)
    cluster.patch(schedule="*/10 * * * *")
    assert cluster.jobs() == []
    cluster.pass_minutes(10)
    assert cluster.jobs() == ["+30"]


def test_a_deleted_job_goes_missing(cluster: CronCluster) -> None:
    cluster.create_cron_job("31 12 * * *")
    cluster.pass_minutes(1)
    name = f"report-{MINUTES + 1}"
    cluster.call("DELETE", f"{BATCH}/jobs/{name}", {"propagationPolicy": "Background"})
    assert cluster.status() == {"lastScheduleTime": "2026-05-06T12:31:00Z"}
    assert ("MissingJob", f"Active job went missing: {name}") in cluster.reports()


def test_a_job_of_somebody_else_is_unexpected(cluster: CronCluster) -> None:
    cluster.create_cron_job(suspend=True)
    found = cluster.call("GET", CRON_JOB)
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "report", "uid": found["metadata"]["uid"]}
    spec = found["spec"]["jobTemplate"]["spec"]
    metadata = {"name": "by-hand", "ownerReferences": [{**owner, "controller": True}]}
    cluster.call("POST", f"{BATCH}/jobs", {"metadata": metadata, "spec": spec})
    message = "Saw a job that the controller did not create or forgot: by-hand"
    assert cluster.reports() == [("UnexpectedJob", message)]


def test_the_jobs_of_a_deleted_cron_job_are_collected(cluster: CronCluster) -> None:
    cluster.create_cron_job()
    cluster.pass_minutes(2)
    cluster.call("DELETE", CRON_JOB, {"propagationPolicy": "Background"})
    cluster.pass_minutes(2)
    assert cluster.jobs() == []


def test_a_refused_job_is_reported_and_tried_again(cluster: CronCluster) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    cluster.call("POST", quotas, {"metadata": {"name": "none"}, "spec": {"hard": {"count/jobs.batch": "0"}}})
    body = {"status": {"hard": {"count/jobs.batch": "0"}, "used": {"count/jobs.batch": "0"}}}
    cluster.call("PATCH", f"{quotas}/none/status", body, content_type=MERGE_PATCH)
    cluster.create_cron_job("31 12 * * *")
    cluster.pass_minutes(1)
    assert cluster.jobs() == []
    assert dict(cluster.reports())["FailedCreate"].startswith("Error creating job: jobs.batch ")
    cluster.call("DELETE", f"{quotas}/none")
    cluster.pass_minutes(2)
    assert cluster.jobs() == ["+1"]


def test_a_new_schedule_does_not_cancel_the_retry_of_a_refused_job(cluster: CronCluster) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    taken = {"metadata": {"name": f"report-{MINUTES + 1}"}, "spec": {"template": {"spec": pod}}}
    cluster.call("POST", f"{BATCH}/jobs", taken)
    cluster.create_cron_job("31 12 * * *")
    cluster.pass_minutes(3)
    cluster.patch(schedule="32 12 * * *")
    cluster.pass_minutes(1)
    assert cluster.jobs() == ["+1", "+2"]


def test_pods_of_a_cron_job_run_to_their_end() -> None:
    with masthead.server.run(clock=VirtualClock(START), token=None, workloads=True, kubelet=True) as server:
        cluster = CronCluster(server, VirtualClock(START))
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox", "command": ["true"]}]}
        body = {
            "metadata": {"name": "report"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}},
        }
        cluster.call("POST", f"{BATCH}/cronjobs", body)
        cluster.pass_minutes(2)
        assert cluster.status()["lastSuccessfulTime"].startswith("2026-05-06T12:3")
        cluster.caller.close()
