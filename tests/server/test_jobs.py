"""Jobs: pods until enough of them succeed, counted once, with the conditions and Events of the real controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MERGE_PATCH
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

JOBS = "/apis/batch/v1/namespaces/default/jobs"
CORE = "/api/v1/namespaces/default"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
FINALIZER = "batch.kubernetes.io/job-tracking"


class JobCluster(QuietCluster):
    """A quiet cluster with the clock of its server."""

    def __init__(self, server: Server, clock: VirtualClock) -> None:
        super().__init__(server)
        self.clock = clock


@pytest.fixture
def cluster() -> Iterator[JobCluster]:
    clock = VirtualClock()
    with masthead.server.run(clock=clock, token=None, workloads=True) as running:
        made = JobCluster(running, clock)
        yield made
        made.caller.close()


def create(cluster: JobCluster, **spec: Any) -> None:
    pod = {"restartPolicy": spec.pop("restartPolicy", "Never"), "containers": [{"name": "c", "image": "i"}]}
    body = {"metadata": {"name": "work"}, "spec": {"template": {"spec": pod}, **spec}}
    cluster.call("POST", JOBS, body)
    cluster.server.block_until_idle()


def status(cluster: JobCluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.call("GET", f"{JOBS}/work")["status"]
    return found


def conditions(cluster: JobCluster) -> list[tuple[str, str, str]]:
    return [(item["type"], item["status"], item.get("reason", "")) for item in status(cluster).get("conditions", [])]


def reasons(cluster: JobCluster) -> list[str]:
    events = cluster.call("GET", f"{CORE}/events")["items"]
    return sorted(event["reason"] for event in events if event["involvedObject"]["kind"] == "Job")


def pods(cluster: JobCluster, *, is_active: bool = True) -> list[Any]:
    items = cluster.call("GET", f"{CORE}/pods")["items"]
    return [pod for pod in items if not is_active or pod["status"]["phase"] not in {"Succeeded", "Failed"}]


def end(cluster: JobCluster, pod: Any, phase: str, code: int = 0) -> None:
    now = cluster.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    state = {"terminated": {"exitCode": code, "finishedAt": now, "startedAt": now}}
    container = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    patch = {"status": {"phase": phase, "containerStatuses": [container]}}
    path = f"{CORE}/pods/{pod['metadata']['name']}/status"
    cluster.caller.call("PATCH", path, patch, content_type=MERGE_PATCH)
    cluster.server.block_until_idle()


def patch(cluster: JobCluster, **spec: Any) -> None:
    cluster.caller.call("PATCH", f"{JOBS}/work", {"spec": spec}, content_type=MERGE_PATCH)
    cluster.server.block_until_idle()


def test_job_completes_after_its_completions(cluster: JobCluster) -> None:
    create(cluster, completions=3, parallelism=2)
    assert status(cluster)["active"] == 2
    while pods(cluster):
        assert pods(cluster)[0]["metadata"]["finalizers"] == [FINALIZER]
        end(cluster, pods(cluster)[0], "Succeeded")
    found = status(cluster)
    assert (found["succeeded"], found["ready"], found["terminating"]) == (3, 0, 0)
    assert found["uncountedTerminatedPods"] == {}
    assert "active" not in found
    assert found["completionTime"]
    reached = ("True", "CompletionsReached")
    assert conditions(cluster) == [("SuccessCriteriaMet", *reached), ("Complete", *reached)]
    assert reasons(cluster) == ["Completed", *["SuccessfulCreate"] * 3]
    assert not any(pod["metadata"].get("finalizers") for pod in pods(cluster, is_active=False))


def test_failed_pods_are_replaced_with_a_doubling_delay_until_the_limit(cluster: JobCluster) -> None:
    create(cluster, backoffLimit=2)
    for delay in (10, 20):
        end(cluster, pods(cluster)[0], "Failed", 1)
        cluster.server.advance(delay - 1)
        assert not pods(cluster)
        cluster.server.advance(1)
        assert len(pods(cluster)) == 1
    end(cluster, pods(cluster)[0], "Failed", 1)
    exceeded = ("True", "BackoffLimitExceeded")
    assert conditions(cluster) == [("FailureTarget", *exceeded), ("Failed", *exceeded)]
    assert status(cluster)["failed"] == 3
    assert reasons(cluster) == ["BackoffLimitExceeded", *["SuccessfulCreate"] * 3]


def test_indexed_pods_have_their_index_everywhere(cluster: JobCluster) -> None:
    create(cluster, completions=3, parallelism=3, completionMode="Indexed")
    by_index = {pod["metadata"]["annotations"][INDEX]: pod for pod in pods(cluster)}
    assert sorted(by_index) == ["0", "1", "2"]
    pod = by_index["1"]
    assert pod["metadata"]["labels"][INDEX] == "1"
    assert pod["metadata"]["generateName"] == "work-1-"
    assert pod["spec"]["hostname"] == "work-1"
    assert [variable["name"] for variable in pod["spec"]["containers"][0]["env"]] == ["JOB_COMPLETION_INDEX"]
    end(cluster, by_index["0"], "Succeeded")
    end(cluster, by_index["2"], "Succeeded")
    assert status(cluster)["completedIndexes"] == "0,2"
    end(cluster, pod, "Succeeded")
    assert status(cluster)["completedIndexes"] == "0-2"


def test_each_index_has_its_own_limit(cluster: JobCluster) -> None:
    create(cluster, completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=1)
    first = next(pod for pod in pods(cluster) if pod["metadata"]["annotations"][INDEX] == "0")
    end(cluster, first, "Failed", 1)
    cluster.server.advance(10)
    again = next(pod for pod in pods(cluster) if pod["metadata"]["annotations"][INDEX] == "0")
    assert again["metadata"]["annotations"][FAILURES] == "1"
    end(cluster, again, "Failed", 1)
    assert status(cluster)["failedIndexes"] == "0"
    end(cluster, pods(cluster)[0], "Succeeded")
    assert [reason for _, _, reason in conditions(cluster)] == ["FailedIndexes"] * 2
    assert (status(cluster)["failed"], status(cluster)["succeeded"]) == (2, 1)


@pytest.mark.parametrize(("action", "failed"), [("FailJob", 1), ("Ignore", 0), ("Count", 1)])
def test_failure_policy_decides_by_exit_code(cluster: JobCluster, action: str, failed: int) -> None:
    rule = {"action": action, "onExitCodes": {"operator": "In", "values": [42]}}
    create(cluster, podFailurePolicy={"rules": [rule]})
    pod = pods(cluster)[0]
    end(cluster, pod, "Failed", 42)
    found = status(cluster)
    assert found.get("failed", 0) == failed
    if action == "FailJob":
        name = pod["metadata"]["name"]
        expected = f"Container c for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
        assert [condition["message"] for condition in found["conditions"]] == [expected] * 2
    else:
        cluster.server.advance(10)
        assert len(pods(cluster)) == 1


def test_success_policy_ends_the_job_early(cluster: JobCluster) -> None:
    policy = {"rules": [{"succeededIndexes": "1"}]}
    create(cluster, completions=3, parallelism=3, completionMode="Indexed", successPolicy=policy)
    end(cluster, next(pod for pod in pods(cluster) if pod["metadata"]["annotations"][INDEX] == "1"), "Succeeded")
    met = ("True", "SuccessPolicy")
    assert conditions(cluster) == [("SuccessCriteriaMet", *met), ("Complete", *met)]
    assert "failed" not in status(cluster)
    assert not pods(cluster)


def test_suspended_job_has_no_pods_and_starts_anew(cluster: JobCluster) -> None:
    create(cluster, parallelism=2, completions=2, activeDeadlineSeconds=60)
    patch(cluster, suspend=True)
    assert not pods(cluster)
    assert conditions(cluster) == [("Suspended", "True", "JobSuspended")]
    assert "startTime" not in status(cluster)
    cluster.server.advance(100)
    patch(cluster, suspend=False)
    assert conditions(cluster) == [("Suspended", "False", "JobResumed")]
    assert status(cluster)["startTime"] == "2026-01-01T00:01:40Z"
    assert len(pods(cluster)) == 2
    assert {"Suspended", "Resumed", "SuccessfulDelete"} <= set(reasons(cluster))


def test_job_fails_at_its_deadline(cluster: JobCluster) -> None:
    create(cluster, activeDeadlineSeconds=30)
    cluster.server.advance(30)
    assert [reason for _, _, reason in conditions(cluster)] == ["DeadlineExceeded"] * 2
    assert not pods(cluster)
    assert status(cluster)["failed"] == 1


def test_finished_job_expires(cluster: JobCluster) -> None:
    create(cluster, ttlSecondsAfterFinished=60)
    end(cluster, pods(cluster)[0], "Succeeded")
    cluster.server.advance(59)
    assert len(cluster.call("GET", JOBS)["items"]) == 1
    cluster.server.advance(1)
    cluster.server.block_until_idle()
    assert cluster.call("GET", JOBS)["items"] == []
    assert cluster.call("GET", f"{CORE}/pods")["items"] == []


def test_pods_of_a_deleted_job_lose_their_finalizer(cluster: JobCluster) -> None:
    create(cluster, parallelism=2, completions=2)
    cluster.call("DELETE", f"{JOBS}/work?propagationPolicy=Background")
    cluster.server.block_until_idle()
    assert cluster.call("GET", f"{CORE}/pods")["items"] == []


def test_pods_that_the_deletion_of_their_job_ends_do_not_count_as_failed(cluster: JobCluster) -> None:
    pod = {"restartPolicy": "Never", "nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    spec = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": {"spec": pod}}
    cluster.call("POST", JOBS, {"metadata": {"name": "work"}, "spec": spec})
    cluster.call("DELETE", f"{JOBS}/work?propagationPolicy=Foreground")
    cluster.server.block_until_idle()

    assert all("deletionTimestamp" in pod["metadata"] for pod in pods(cluster))
    assert len(pods(cluster)) == 2
    assert "failed" not in status(cluster)
    assert conditions(cluster) == []


def test_job_of_another_manager_is_left_alone(cluster: JobCluster) -> None:
    create(cluster, managedBy="example.com/other")
    assert pods(cluster) == []
    assert status(cluster) == {}
