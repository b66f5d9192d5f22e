"""Pods through their phases: on request, and by themselves with ``kubelet=True``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubelet.remote import PODS, connected, pod

import masthead.server
from masthead.api.core.v1 import Pod
from masthead.errors import ArgumentError, NotFoundError
from masthead.server import ExecProcess, VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Plain, Remote


def condition(found: Plain, kind: str) -> tuple[str, str]:
    """The status and reason of a condition."""
    [each] = [each for each in found["status"]["conditions"] if each["type"] == kind]
    return each["status"], each.get("reason", "")


def container(found: Plain) -> Plain:
    status: Plain = found["status"]["containerStatuses"][0]
    return status


async def test_a_started_pod_has_a_node_an_address_and_runs(remote: Remote) -> None:
    await remote.create(pod("web", "a", "b", initContainers=[{"name": "setup", "image": "x"}]))

    found = await remote.get()

    status = found["status"]
    assert found["spec"]["nodeName"] == "masthead-node"
    assert (status["phase"], status["startTime"]) == ("Running", "2026-01-01T00:00:00Z")
    assert status["podIP"].startswith("10.244.")
    assert [each["ready"] for each in status["containerStatuses"]] == [True, True]
    assert len({each["containerID"] for each in status["containerStatuses"]}) == 2
    assert status["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
    assert {each["type"] for each in status["conditions"] if each["status"] == "True"} == {
        "PodScheduled",
        "Initialized",
        "PodReadyToStartContainers",
        "ContainersReady",
        "Ready",
    }
    assert {each["manager"] for each in found["metadata"]["managedFields"] if "subresource" in each} == {"kubelet"}
    async with remote.http.get("/api/v1/nodes/masthead-node") as response:
        node = await response.json()
    assert condition(node, "Ready") == ("True", "KubeletReady")


async def test_watches_see_a_pod_scheduled_and_then_started(remote: Remote) -> None:
    await remote.create(pod())

    history = remote.server.history(Pod.new("web", namespace="default"))

    assert [(each.object.spec.node_name or "", each.object.status.phase) for each in history] == [
        ("", "Pending"),
        ("masthead-node", "Pending"),
        ("masthead-node", "Running"),
    ]


async def test_a_pod_succeeds(remote: Remote) -> None:
    await remote.create(pod())
    remote.server.advance(60)
    remote.server.kubelet.succeed(Pod.new("web", namespace="default"))

    found = await remote.get()

    assert found["status"]["phase"] == "Succeeded"
    assert condition(found, "Ready") == ("False", "PodCompleted")
    ended = container(found)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert (ended["startedAt"], ended["finishedAt"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z")


async def test_a_pod_fails_and_starts_again_on_request(remote: Remote) -> None:
    await remote.create(pod())
    remote.server.kubelet.log("web").print("one")
    remote.server.kubelet.fail("web", exit_code=2)
    found = await remote.get()
    assert (found["status"]["phase"], container(found)["state"]["terminated"]["exitCode"]) == ("Failed", 2)

    remote.server.kubelet.start("web")

    assert (await remote.get())["status"]["phase"] == "Running"
    assert await remote.log() == (200, "")


async def test_a_restart_counts_and_remembers_the_last_state(remote: Remote) -> None:
    await remote.create(pod("web", "a", "b"))
    before = container(await remote.get())

    remote.server.kubelet.restart("web", container="a", exit_code=137)
    found = await remote.get()

    first, second = found["status"]["containerStatuses"]
    assert (first["restartCount"], second["restartCount"]) == (1, 0)
    assert first["lastState"]["terminated"]["exitCode"] == 137
    assert first["lastState"]["terminated"]["containerID"] == before["containerID"] != first["containerID"]
    remote.server.kubelet.restart("web")
    assert [each["restartCount"] for each in (await remote.get())["status"]["containerStatuses"]] == [2, 1]


async def test_a_restart_has_a_reason(remote: Remote) -> None:
    await remote.create(pod())

    remote.server.kubelet.restart("web", exit_code=137, reason="OOMKilled")
    ended = container(await remote.get())["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")

    remote.server.kubelet.restart("web")
    assert container(await remote.get())["lastState"]["terminated"]["reason"] == "Error"


async def test_a_crash_loop_waits_until_it_is_restarted(remote: Remote) -> None:
    await remote.create(pod())
    remote.server.kubelet.crash_loop("web")
    found = await remote.get()
    assert container(found)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert condition(found, "Ready") == ("False", "ContainersNotReady")

    remote.server.kubelet.restart("web")

    found = await remote.get()
    assert (container(found)["restartCount"], condition(found, "Ready")[0]) == (1, "True")


async def test_an_evicted_pod_has_failed(remote: Remote) -> None:
    await remote.create(pod())
    remote.server.kubelet.evict("web", message="too much")

    found = await remote.get()

    status = found["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", "too much")
    assert condition(found, "DisruptionTarget") == ("True", "TerminationByKubelet")


async def test_pods_that_do_not_exist_and_invalid_codes_are_errors(remote: Remote) -> None:
    kubelet = remote.server.kubelet
    for act in (
        kubelet.start,
        kubelet.succeed,
        kubelet.fail,
        kubelet.restart,
        kubelet.crash_loop,
        kubelet.evict,
    ):
        with pytest.raises(NotFoundError, match='pods "absent" not found'):
            act("absent")
    with pytest.raises(ArgumentError, match="succeed"):
        kubelet.fail("web", exit_code=0)


@pytest.fixture
async def automatic() -> AsyncIterator[Remote]:
    """A client of a server whose pods run by themselves."""
    async with (
        masthead.server.run(clock=VirtualClock, token=None, bootstrap=False, kubelet=True, workloads=True) as server,
        connected(server) as made,
    ):
        yield made


async def created(remote: Remote, **container: Any) -> Plain:
    policy = container.pop("policy", "Always")
    body = pod("web", restartPolicy=policy)
    body["spec"]["containers"][0].update(container)
    await remote.create(body, start=False)
    await remote.server.wait_for_idle()
    return await remote.get()


async def test_every_new_pod_is_started_and_a_deleted_one_ends_at_once(automatic: Remote) -> None:
    assert (await created(automatic))["status"]["phase"] == "Running"

    async with automatic.http.get(f"{PODS}/web/log?follow=1") as response:
        async with automatic.http.delete(f"{PODS}/web") as deleted:
            assert (await deleted.json())["metadata"]["deletionGracePeriodSeconds"] == 30
        assert await response.content.read() == b""
    await automatic.server.wait_for_idle()
    async with automatic.http.get(f"{PODS}/web") as response:
        assert response.status == 404


async def test_the_node_is_there_from_the_start_is_ready_and_takes_pods(automatic: Remote) -> None:
    async with automatic.http.get("/api/v1/nodes") as response:
        [node] = (await response.json())["items"]

    assert node["metadata"]["name"] == "masthead-node"
    assert condition(node, "Ready") == ("True", "KubeletReady")
    assert "taints" not in node["spec"]
    async with automatic.http.get("/api/v1/events") as response:
        events = (await response.json())["items"]
    assert [(event["metadata"]["namespace"], event["reason"], event["message"]) for event in events] == [
        ("default", "NodeReady", "Node masthead-node status is now: NodeReady"),
        (
            "default",
            "RegisteredNode",
            "Node masthead-node event: Registered Node masthead-node in Controller",
        ),
    ]


async def test_pods_with_gates_or_another_scheduler_stay_pending(automatic: Remote) -> None:
    await automatic.create(pod("gated", schedulingGates=[{"name": "x"}]), start=False)
    await automatic.create(pod("other", schedulerName="mine"), start=False)
    await automatic.server.wait_for_idle()

    for name in ("gated", "other"):
        assert (await automatic.get(name))["status"]["phase"] == "Pending"


async def test_deployments_become_available(automatic: Remote) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    async with automatic.http.post(path, json={"metadata": {"name": "web"}, "spec": spec}) as response:
        assert response.status == 201
    await automatic.server.wait_for_idle()

    async with automatic.http.get(f"{path}/web") as response:
        assert (await response.json())["status"]["availableReplicas"] == 3


async def test_a_command_runs_to_its_end(automatic: Remote) -> None:
    await created(automatic, command=["sh", "-c", "echo out; sleep 10; exit 0"], policy="OnFailure")

    async with automatic.http.get(f"{PODS}/web/log?follow=1&timestamps=1") as response:
        assert await response.content.readline() == b"2026-01-01T00:00:00.000000000Z out\n"
        automatic.server.advance(10)
        assert await response.content.read() == b""
    assert (await automatic.get())["status"]["phase"] == "Succeeded"


async def test_a_container_that_ends_again_and_again_is_restarted_after_longer_and_longer_delays(
    automatic: Remote,
) -> None:
    runs = 0

    @automatic.server.kubelet.main("web")
    async def main(_process: ExecProcess) -> int:
        nonlocal runs
        runs += 1
        return 1

    async def settle(expected: int) -> Plain:
        while True:
            status = container(await automatic.get())
            if runs >= expected and "waiting" in status["state"]:
                return status

    await created(automatic)
    status = await settle(2)
    assert (status["state"]["waiting"]["reason"], status["restartCount"]) == ("CrashLoopBackOff", 1)
    automatic.server.advance(10)
    assert (await settle(3))["restartCount"] == 2
    automatic.server.advance(19)
    assert (await settle(3))["restartCount"] == 2
    automatic.server.advance(1)
    assert (await settle(4))["restartCount"] == 3


def generations(found: Plain) -> set[int]:
    """The generations that the status and the conditions of a pod observed; they agree in a quiet pod."""
    return {each["observedGeneration"] for each in (found["status"], *found["status"]["conditions"])}


async def test_ephemeral_containers_start_when_they_are_added(automatic: Remote) -> None:
    await created(automatic)
    added = {"name": "debugger", "image": "busybox", "stdin": True, "targetContainerName": "app"}
    async with automatic.http.patch(
        f"{PODS}/web/ephemeralcontainers",
        json={"spec": {"ephemeralContainers": [added]}},
        headers={"Content-Type": "application/strategic-merge-patch+json"},
    ) as response:
        assert response.status == 200, await response.text()
    await automatic.server.wait_for_idle()
    found = await automatic.get()
    [status] = found["status"]["ephemeralContainerStatuses"]
    assert "running" in status["state"]
    assert generations(found) == {2}

    async with automatic.open("attach", stdin=True, container="debugger") as session:
        await session.send(b"echo debugging\nexit 3\n")
        assert (await session.result()).stdout == "debugging\n"

    found = await automatic.get()
    [status] = found["status"]["ephemeralContainerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 3
    assert (found["status"]["phase"], condition(found, "Ready")[0]) == ("Running", "True")


async def test_pods_of_a_file_still_run_after_a_restart_of_the_server(tmp_path: Any) -> None:
    for phase in ("Pending", "Running"):
        async with (
            masthead.server.run(
                data=tmp_path / "db", token=None, bootstrap=False, kubelet=phase == "Running"
            ) as server,
            connected(server) as remote,
        ):
            if phase == "Pending":
                await remote.create(pod(), start=False)
            await server.wait_for_idle()
            assert (await remote.get())["status"]["phase"] == phase
            async with remote.http.get("/api/v1/nodes") as response:
                assert len((await response.json())["items"]) == (phase == "Running")


async def test_a_deleted_pod_is_unready_and_its_containers_have_ended_before_it_is_gone() -> None:
    async with masthead.server.run(kubelet=True) as server, connected(server) as remote:
        await remote.create(pod(), start=False)
        await server.wait_for_idle()
        created_pod = Pod.from_dict(await remote.get())

        async with remote.http.delete(f"{PODS}/web") as response:
            assert response.status == 200
        await server.wait_for_idle()

        changes = server.history(created_pod)
        seen = [
            (
                change.type,
                condition(change.object.to_dict(), "Ready")[0],
                list(container(change.object.to_dict())["state"]),
            )
            for change in changes[-4:]
        ]
        assert seen[0] == ("MODIFIED", "True", ["running"])
        assert ("MODIFIED", "False", ["terminated"]) in seen
        assert seen[-1] == ("DELETED", "False", ["terminated"])
        last = changes[-1].object.to_dict()
        assert last["status"]["phase"] == "Succeeded"
        assert condition(last, "ContainersReady")[0] == "False"


async def test_a_pod_that_has_failed_stays_failed_when_it_is_deleted() -> None:
    async with masthead.server.run(kubelet=True) as server, connected(server) as remote:
        await remote.create(pod(), start=False)
        await server.wait_for_idle()
        found = Pod.from_dict(await remote.get())
        server.kubelet.fail("web", exit_code=3)
        async with remote.http.delete(f"{PODS}/web") as response:
            assert response.status == 200
        await server.wait_for_idle()

        last = server.history(found)[-1].object.to_dict()
        assert (last["status"]["phase"], container(last)["state"]["terminated"]["exitCode"]) == ("Failed", 3)


async def test_a_pod_with_too_many_containers_stays_pending_and_says_why() -> None:
    async with masthead.server.run(kubelet=True) as server, connected(server) as remote:
        await remote.create(pod("most", *(f"c{number}" for number in range(250))), start=False)
        await remote.create(pod("more", *(f"c{number}" for number in range(251))), start=False)
        await server.wait_for_idle()
        most, more = await remote.get("most"), await remote.get("more")

        assert most["status"]["phase"] == "Running"
        assert more["status"]["phase"] == "Pending"
        assert condition(more, "PodScheduled") == ("False", "Unschedulable")
        (why,) = [each["message"] for each in more["status"]["conditions"] if each["type"] == "PodScheduled"]
        assert why == "0/1 nodes are available: 1 Too many containers, at most 250 of a pod run here."
        assert "containerStatuses" not in more["status"]
        async with remote.http.delete(f"{PODS}/more") as response:
            assert response.status == 200
