"""Init containers, sidecars, the environment, and the end of pods, in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubelet.remote import PODS, pod
from tests.server.kubelet.running import run_pod, running_pods, settled, shell

from masthead.api.core.v1 import Pod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.server.kubelet.remote import Plain, Remote

    from masthead.server import ExecProcess


@pytest.fixture
async def automatic() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


async def created(remote: Remote, *inits: Plain, policy: str = "Always", **container: Any) -> Plain:
    spec = {"restartPolicy": policy, "initContainers": [{"image": "x", **init} for init in inits]}
    return await run_pod(remote, spec=spec, **container)


def phase_is(phase: str) -> Callable[[Plain], bool]:
    return lambda found: found["status"]["phase"] == phase


async def delete(remote: Remote) -> Plain:
    """Delete the pod; returns its last version."""
    before = Pod.from_dict(await remote.get())
    async with remote.http.delete(f"{PODS}/web") as response:
        assert response.status == 200
    await remote.server.wait_for_idle()
    return remote.server.history(before)[-1].object.to_dict()


async def exit_code_after_deletion(remote: Remote) -> int:
    """Delete the pod, wait until it is removed, and return the exit code of its container."""
    before = Pod.from_dict(await remote.get())
    await delete(remote)
    async with asyncio.timeout(30):
        while remote.server.history(before)[-1].type != "DELETED":
            await remote.server.wait_for_idle()
    last = remote.server.history(before)[-1].object.to_dict()
    return int(last["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"])


async def test_init_containers_run_one_after_the_other_before_the_others(automatic: Remote) -> None:
    found = await created(
        automatic,
        {"name": "one", "command": shell("sleep 5")},
        {"name": "two", "command": shell("sleep 5")},
    )
    status = found["status"]
    [one, two] = status["initContainerStatuses"]
    assert (status["phase"], list(one["state"]), two["state"]) == (
        "Pending",
        ["running"],
        {"waiting": {"reason": "PodInitializing"}},
    )
    [initialized] = [each for each in status["conditions"] if each["type"] == "Initialized"]
    assert (initialized["status"], initialized["reason"], initialized["message"]) == (
        "False",
        "ContainersNotInitialized",
        "containers with incomplete status: [one two]",
    )

    automatic.server.advance(5)
    found = await settled(automatic, lambda found: "running" in found["status"]["initContainerStatuses"][1]["state"])
    assert found["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    automatic.server.advance(5)
    found = await settled(automatic, phase_is("Running"))
    assert [each["state"]["terminated"]["exitCode"] for each in found["status"]["initContainerStatuses"]] == [0, 0]


async def test_a_pod_whose_init_container_fails_has_failed_if_it_never_restarts(automatic: Remote) -> None:
    await created(automatic, {"name": "setup", "command": shell("exit 3")}, policy="Never")

    found = await settled(automatic, phase_is("Failed"))

    assert found["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    assert "waiting" in found["status"]["containerStatuses"][0]["state"]


async def test_a_sidecar_starts_before_and_ends_after_the_others(automatic: Remote) -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always", "command": shell("sleep 1000")}
    found = await created(automatic, sidecar, policy="Never", command=shell("sleep 10"))
    assert "running" in found["status"]["initContainerStatuses"][0]["state"]

    automatic.server.advance(10)
    found = await settled(automatic, lambda found: "terminated" in found["status"]["initContainerStatuses"][0]["state"])

    assert found["status"]["phase"] == "Succeeded"
    assert found["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_container_waits_for_its_config_map(automatic: Remote) -> None:
    env = [
        {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "paint", "key": "color"}}},
        {"name": "TEXT", "value": "$(COLOR) $$(COLOR) $(NONE)"},
    ]
    found = await created(automatic, policy="Never", env=env, command=shell("echo $TEXT"), args=["$(COLOR)"])
    waiting = found["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {"reason": "CreateContainerConfigError", "message": 'configmap "paint" not found'}

    content = {"metadata": {"name": "paint"}, "data": {"color": "red"}}
    async with automatic.http.post("/api/v1/namespaces/default/configmaps", json=content) as response:
        assert response.status == 201
    await settled(automatic, phase_is("Succeeded"))

    assert await automatic.log() == (200, "red $(COLOR) $(NONE)\n")


async def test_a_script_that_ignores_the_signal_is_killed_at_the_end_of_its_grace_period(automatic: Remote) -> None:
    await created(automatic, command=shell("trap '' TERM; sleep 1000"))
    await delete(automatic)
    automatic.server.advance(29)
    found = await automatic.get()
    assert "running" in found["status"]["containerStatuses"][0]["state"]

    before = Pod.from_dict(found)
    automatic.server.advance(1)
    await automatic.server.wait_for_idle()

    last = automatic.server.history(before)[-1]
    ended = last.object.to_dict()["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (last.type, ended["exitCode"], ended["reason"]) == ("DELETED", 137, "Error")


async def test_a_script_without_a_trap_ends_at_once(automatic: Remote) -> None:
    await created(automatic, command=shell("echo late > /dev/termination-log; sleep 1000"))

    last = await delete(automatic)

    ended = last["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["message"], last["status"]["phase"]) == (143, "late\n", "Failed")


async def test_a_container_that_follows_nothing_runs_until_it_is_ended(automatic: Remote) -> None:
    await created(automatic, command=["tail", "-f", "/dev/null"])
    automatic.server.advance(1000)
    assert (await settled(automatic))["status"]["containerStatuses"][0]["state"].keys() == {"running"}

    ended = await delete(automatic)
    assert ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_trap_decides_about_the_exit_code(automatic: Remote) -> None:
    await created(automatic, command=shell("trap 'exit 7' TERM; sleep 1000"))

    assert await exit_code_after_deletion(automatic) == 7


async def test_a_handler_is_cancelled_when_its_pod_is_deleted(automatic: Remote) -> None:
    @automatic.server.kubelet.main("web")
    async def main(_process: ExecProcess) -> int:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return 5
        return 0

    await created(automatic)

    assert await exit_code_after_deletion(automatic) == 5


async def test_a_signal_ends_the_wait_for_a_command_in_the_background(automatic: Remote) -> None:
    await created(automatic, command=shell("trap 'exit 9' TERM; sleep 1000 & wait"))

    assert await exit_code_after_deletion(automatic) == 9


@pytest.mark.parametrize(
    ("other", "is_rejected"),
    [
        ({"hostPort": 8080}, True),
        ({"hostPort": 8080, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 8081}, False),
        ({"hostPort": 8080, "protocol": "UDP"}, False),
        ({}, False),
    ],
)
async def test_a_node_rejects_a_pod_whose_ports_another_one_has(
    automatic: Remote, other: Plain, *, is_rejected: bool
) -> None:
    first, second = pod("first"), pod("web")
    first["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    second["spec"]["containers"][0]["ports"] = [{"containerPort": 80, **other}]
    await automatic.create(first, start=False)
    await automatic.server.wait_for_idle()
    second["spec"]["nodeName"] = (await automatic.get("first"))["spec"]["nodeName"]
    await automatic.create(second, start=False)

    status = (await settled(automatic))["status"]
    if not is_rejected:
        assert status["phase"] == "Running"
        return
    assert (status["phase"], status["reason"]) == ("Failed", "NodePorts")
    problem = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    assert status["message"] == f"Pod was rejected: {problem}"
    assert "containerStatuses" not in status
    async with automatic.http.get("/api/v1/namespaces/default/events?fieldSelector=reason=NodePorts") as response:
        (event,) = (await response.json())["items"]
    assert (event["type"], event["message"], event["involvedObject"]["name"]) == ("Warning", problem, "web")


async def test_the_ports_of_a_deleted_pod_are_free(automatic: Remote) -> None:
    first, second = pod("web"), pod("second")
    for body in (first, second):
        body["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    await automatic.create(first, start=False)
    second["spec"]["nodeName"] = (await settled(automatic))["spec"]["nodeName"]
    await delete(automatic)
    await automatic.create(second, start=False)
    await automatic.server.wait_for_idle()
    assert (await automatic.get("second"))["status"]["phase"] == "Running"
