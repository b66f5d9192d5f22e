"""Crashes, out of memory, deadlines and absent images, in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.running import (
    advance,
    condition,
    events,
    main,
    patch,
    run_pod,
    running_pods,
    settled,
    shell,
    state_of,
)

from masthead.api.core.v1 import Pod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Remote

    from masthead.server import ExecProcess


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


async def test_a_container_that_crashes_is_seen_terminated_before_its_restart(remote: Remote) -> None:
    await run_pod(remote)

    remote.server.kubelet.crash("web", exit_code=3, message="no disk")
    found = await settled(remote)

    states = [
        list(main(change.object.to_dict())["state"]) for change in remote.server.history(Pod.from_dict(found))[3:]
    ]
    assert states == [["terminated"], ["running"]]
    ended = main(found)["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (3, "Error", "no disk")
    assert (main(found)["restartCount"], found["status"]["phase"]) == (1, "Running")


async def test_delays_of_restarts_double_and_begin_anew_after_ten_minutes(remote: Remote) -> None:
    await run_pod(remote)
    kubelet = remote.server.kubelet

    async def crash() -> str:
        kubelet.crash("web")
        return state_of(await settled(remote))

    assert await crash() == "running"
    assert await crash() == "CrashLoopBackOff"
    waiting = main(await remote.get())["state"]["waiting"]
    assert waiting["message"].startswith("back-off 10s restarting failed container=app pod=web_default(")
    assert state_of(await advance(remote, 10)) == "running"
    assert await crash() == "CrashLoopBackOff"
    assert state_of(await advance(remote, 19)) == "CrashLoopBackOff"
    assert state_of(await advance(remote, 1)) == "running"
    await advance(remote, 601)
    assert await crash() == "running"


async def test_a_container_out_of_memory_is_killed(remote: Remote) -> None:
    await run_pod(remote, spec={"restartPolicy": "Never"})

    remote.server.kubelet.oom("web")
    found = await settled(remote)

    ended = main(found)["state"]["terminated"]
    assert (found["status"]["phase"], ended["exitCode"], ended["reason"]) == ("Failed", 137, "OOMKilled")


async def test_a_handler_runs_out_of_memory(remote: Remote) -> None:
    @remote.server.kubelet.main("web")
    async def main_process(_process: ExecProcess) -> None:
        raise MemoryError

    await run_pod(remote, spec={"restartPolicy": "Never"})
    found = await settled(remote, lambda found: found["status"]["phase"] == "Failed")

    assert main(found)["state"]["terminated"]["reason"] == "OOMKilled"


@pytest.mark.parametrize(("script", "message"), [("echo broken", "broken\n"), ("echo a; printf b", "a\nb")])
async def test_a_message_comes_from_the_log_of_a_container_that_fails(
    remote: Remote, script: str, message: str
) -> None:
    spec = {"restartPolicy": "Never"}
    await run_pod(
        remote, spec=spec, command=shell(f"{script}; exit 2"), terminationMessagePolicy="FallbackToLogsOnError"
    )
    found = await settled(remote, lambda found: found["status"]["phase"] == "Failed")

    assert main(found)["state"]["terminated"]["message"] == message


async def test_a_pod_fails_at_its_deadline(remote: Remote) -> None:
    await run_pod(remote, spec={"activeDeadlineSeconds": 60}, command=shell("sleep 1000"))
    assert (await advance(remote, 59))["status"]["phase"] == "Running"

    await advance(remote, 1)
    found = await settled(remote, lambda found: found["status"]["phase"] == "Failed")

    message = "Pod was active on the node longer than the specified deadline"
    assert (found["status"]["reason"], found["status"]["message"]) == ("DeadlineExceeded", message)
    assert main(found)["state"]["terminated"]["exitCode"] == 143
    assert ("DeadlineExceeded", message, 1) in await events(remote)


async def test_a_container_whose_image_is_absent_waits_for_it(remote: Remote) -> None:
    remote.server.kubelet.fail_pull("busy*", error="no such tag")
    found = await run_pod(remote)
    assert (found["status"]["phase"], state_of(found)) == ("Pending", "ErrImagePull")
    assert main(found)["state"]["waiting"]["message"] == "no such tag"

    found = await advance(remote, 1)
    assert main(found)["state"]["waiting"] == {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "busybox": ErrImagePull: no such tag',
    }
    assert state_of(await advance(remote, 9)) == "ErrImagePull"
    assert state_of(await advance(remote, 19)) == "ImagePullBackOff"
    assert state_of(await advance(remote, 1)) == "ErrImagePull"
    assert [entry for entry in await events(remote) if entry[0] != "Scheduled"] == [
        ("Pulling", 'Pulling image "busybox"', 3),
        ("Failed", 'Failed to pull image "busybox": no such tag', 3),
        ("Failed", "Error: ErrImagePull", 3),
        ("BackOff", 'Back-off pulling image "busybox"', 2),
        ("Failed", "Error: ImagePullBackOff", 2),
    ]

    remote.server.kubelet.allow_pull("busy*")
    found = await settled(remote)
    assert (found["status"]["phase"], main(found)["restartCount"]) == ("Running", 0)


async def test_an_image_that_is_never_pulled_has_to_be_there(remote: Remote) -> None:
    remote.server.kubelet.fail_pull("busybox")
    found = await run_pod(remote, imagePullPolicy="Never")

    message = 'Container image "busybox" is not present with pull policy of Never'
    assert main(found)["state"]["waiting"] == {"reason": "ErrImageNeverPull", "message": message}
    assert ("ErrImageNeverPull", message, 1) in await events(remote)


async def test_an_image_with_an_invalid_name_is_waited_for_until_it_has_another(remote: Remote) -> None:
    found = await run_pod(remote, image="Shop:1 2")

    problem = 'couldn\'t parse image name "Shop:1 2": invalid reference format: repository name (library/Shop) must be'
    message = f'Failed to apply default image tag "Shop:1 2": {problem} lowercase'
    assert main(found)["state"]["waiting"] == {"reason": "InvalidImageName", "message": message}
    assert (await events(remote))[1:] == [("InspectFailed", message, 1), ("Failed", "Error: InvalidImageName", 1)]

    found = await patch(remote, {"spec": {"containers": [{"name": "app", "image": "shop:1"}]}})
    assert (main(found)["image"], state_of(found)) == ("shop:1", "running")


async def test_a_new_image_of_a_waiting_container_is_pulled_immediately(remote: Remote) -> None:
    remote.server.kubelet.fail_pull("busybox")
    assert state_of(await run_pod(remote)) == "ErrImagePull"

    found = await patch(remote, {"spec": {"containers": [{"name": "app", "image": "busybox:2"}]}})

    assert (main(found)["image"], main(found)["restartCount"], state_of(found)) == ("busybox:2", 0, "running")


async def test_a_new_image_restarts_the_container(remote: Remote) -> None:
    found = await run_pod(remote, spec={"restartPolicy": "Never"})
    assert found["status"]["observedGeneration"] == 1

    found = await patch(remote, {"spec": {"containers": [{"name": "app", "image": "busybox:2"}]}})

    assert (main(found)["image"], main(found)["restartCount"], state_of(found)) == ("busybox:2", 1, "running")
    assert (found["status"]["observedGeneration"], condition(found, "Ready")["observedGeneration"]) == (2, 2)
    assert ("Killing", "Container app definition changed, will be restarted", 1) in await events(remote)


async def test_a_new_image_that_is_absent_keeps_the_history_of_the_container(remote: Remote) -> None:
    await run_pod(remote)
    remote.server.kubelet.fail_pull("busybox:2")

    found = await patch(remote, {"spec": {"containers": [{"name": "app", "image": "busybox:2"}]}})
    assert (state_of(found), "terminated" in main(found)["lastState"]) == ("ErrImagePull", True)
    assert found["status"]["phase"] == "Running"

    remote.server.kubelet.allow_pull("busybox:2")
    found = await settled(remote)
    assert (state_of(found), main(found)["restartCount"]) == ("running", 1)


async def test_a_rule_restarts_a_container_for_its_exit_code(remote: Remote) -> None:
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
    await run_pod(remote, spec={"restartPolicy": "Never"}, restartPolicy="Never", restartPolicyRules=rules)

    remote.server.kubelet.crash("web", exit_code=42)
    assert state_of(await settled(remote)) == "running"
    remote.server.kubelet.crash("web", exit_code=1)
    assert (await settled(remote))["status"]["phase"] == "Failed"


async def test_a_rule_restarts_all_containers_of_a_pod(remote: Remote) -> None:
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
    spec = {"restartPolicy": "Never", "initContainers": [{"name": "setup", "image": "x"}]}
    await run_pod(remote, spec=spec, restartPolicy="Never", restartPolicyRules=rules)

    remote.server.kubelet.crash("web", exit_code=42)
    found = await settled(remote)

    setup = found["status"]["initContainerStatuses"][0]
    assert (state_of(found), main(found)["restartCount"], setup["restartCount"]) == ("running", 1, 1)
    assert found["status"]["phase"] == "Running"


async def test_an_evicted_pod_is_a_target_of_disruption(remote: Remote) -> None:
    await run_pod(remote)

    remote.server.kubelet.evict("web", message="The node was low on resource: memory.")
    found = await settled(remote)

    assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "Evicted")
    assert found["status"]["conditions"][0]["type"] == "DisruptionTarget"
    assert found["status"]["conditions"][0]["reason"] == "TerminationByKubelet"
    assert condition(found, "Ready")["reason"] == "PodFailed"
