"""postStart and preStop hooks, in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.remote import PODS
from tests.server.kubelet.running import advance, events, is_ready, main, run_pod, running_pods, settled, shell

from masthead.api.core.v1 import Pod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Plain, Remote


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


def execute(script: str) -> Plain:
    return {"exec": {"command": shell(script)}}


async def delete(remote: Remote) -> Pod:
    found = Pod.from_dict(await remote.get())
    async with remote.http.delete(f"{PODS}/web") as response:
        assert response.status == 200
    await remote.server.wait_for_idle()
    return found


async def ends(remote: Remote, found: Pod) -> tuple[str, int]:
    """The type of the last change of a pod, and the exit code of its container there."""
    await remote.server.wait_for_idle()
    last = remote.server.history(found)[-1]
    state = main(last.object.to_dict())["state"]
    return last.type, state.get("terminated", {}).get("exitCode", -1)


async def test_a_container_is_ready_when_its_hook_has_run(remote: Remote) -> None:
    assert not is_ready(await run_pod(remote, lifecycle={"postStart": {"sleep": {"seconds": 5}}}))

    assert is_ready(await advance(remote, 5))


async def test_a_hook_changes_the_files_of_its_container(remote: Remote) -> None:
    await run_pod(remote, lifecycle={"postStart": execute("echo hi > /tmp/greeting")})

    assert remote.server.kubelet.files("web")["/tmp/greeting"] == b"hi\n"


async def test_a_container_whose_hook_fails_is_killed_and_restarted(remote: Remote) -> None:
    await run_pod(remote, command=shell("sleep 1000"), lifecycle={"postStart": execute("exit 1")})

    found = await settled(remote, lambda found: "waiting" in main(found)["state"])

    assert main(found)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    reported = [(reason, message) for reason, message, _ in await events(remote)]
    assert ("FailedPostStartHook", "PostStartHook failed") in reported
    assert ("Killing", "FailedPostStartHook") in reported


async def test_a_program_of_an_image_counts_as_success(remote: Remote) -> None:
    hook = {"exec": {"command": ["/usr/bin/consul", "leave"]}}
    assert is_ready(await run_pod(remote, lifecycle={"postStart": hook, "preStop": {"httpGet": {"port": 80}}}))

    assert await ends(remote, await delete(remote)) == ("DELETED", 0)


async def test_a_container_gets_its_signal_after_its_hook(remote: Remote) -> None:
    hook = execute("sleep 10; echo stopped > /dev/termination-log")
    await run_pod(remote, command=shell("sleep 1000"), lifecycle={"preStop": hook})

    found = await delete(remote)
    remote.server.advance(9)
    assert await ends(remote, found) == ("MODIFIED", -1)
    remote.server.advance(1)
    while (await ends(remote, found))[0] != "DELETED":
        pass

    assert await ends(remote, found) == ("DELETED", 143)
    ended = main(remote.server.history(found)[-1].object.to_dict())["state"]["terminated"]
    assert ended["message"] == "stopped\n"


async def test_a_hook_that_takes_too_long_leaves_two_seconds(remote: Remote) -> None:
    script = shell("trap '' TERM; sleep 1000")
    await run_pod(remote, command=script, lifecycle={"preStop": {"sleep": {"seconds": 30}}})
    async with remote.http.delete(f"{PODS}/web?gracePeriodSeconds=5") as response:
        found = Pod.from_dict(await response.json())

    remote.server.advance(6)
    assert await ends(remote, found) == ("MODIFIED", -1)
    remote.server.advance(1)

    assert await ends(remote, found) == ("DELETED", 137)


async def test_a_hook_that_fails_is_reported_and_delays_nothing(remote: Remote) -> None:
    await run_pod(remote, lifecycle={"preStop": execute("exit 3")})

    assert await ends(remote, await delete(remote)) == ("DELETED", 0)
    assert ("FailedPreStopHook", "PreStopHook failed", 1) in await events(remote)
