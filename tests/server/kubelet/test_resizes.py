"""Resizes of pods in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.remote import PODS, pod
from tests.server.kubelet.running import condition, events, main, patch, run_pod, running_pods, settled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Plain, Remote


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


def resources(cpu: str) -> Plain:
    return {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}


async def resize(remote: Remote, cpu: str) -> Plain:
    body = {"spec": {"containers": [{"name": "app", "resources": resources(cpu)}]}}
    return await patch(remote, body, "resize")


def kinds(found: Plain) -> set[str]:
    return {each["type"] for each in found["status"]["conditions"]}


async def test_a_container_gets_new_resources_without_a_restart(remote: Remote) -> None:
    found = await run_pod(remote, resources=resources("1"))
    assert (main(found)["resources"], main(found)["allocatedResources"]) == (resources("1"), {"cpu": "1"})

    found = await resize(remote, "2")

    assert (main(found)["resources"], main(found)["allocatedResources"]) == (resources("2"), {"cpu": "2"})
    assert (main(found)["restartCount"], found["status"]["observedGeneration"]) == (0, 2)
    assert {each["observedGeneration"] for each in found["status"]["conditions"]} == {2}
    assert "PodResizeInProgress" not in kinds(found)
    summary = '{"containers":[{"name":"app","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}],"generation":2}'
    reported = await events(remote)
    assert ("ResizeStarted", f"Pod resize started: {summary}", 1) in reported
    assert ("ResizeCompleted", f"Pod resize completed: {summary}", 1) in reported


async def test_a_policy_restarts_the_container_for_new_resources(remote: Remote) -> None:
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    await run_pod(remote, resources=resources("1"), resizePolicy=policy)

    found = await resize(remote, "2")

    assert (main(found)["resources"], main(found)["restartCount"]) == (resources("2"), 1)
    assert ("Killing", "Container app resize requires restart", 1) in await events(remote)


async def test_a_resize_waits_until_its_node_has_room(remote: Remote) -> None:
    other = pod("other")
    other["spec"]["containers"][0]["resources"] = resources("5")
    await remote.create(other, start=False)
    await run_pod(remote, resources=resources("1"))

    found = await resize(remote, "4")
    pending = condition(found, "PodResizePending")
    message = "Node didn't have enough resource: cpu, requested: 4000, used: 5000, capacity: 8000"
    assert (pending["status"], pending["reason"], pending["message"]) == ("True", "Deferred", message)
    assert main(found)["allocatedResources"] == {"cpu": "1"}
    remote.server.kubelet.restart("web")
    assert main(await settled(remote))["resources"] == resources("1")

    async with remote.http.delete(f"{PODS}/other?gracePeriodSeconds=0") as response:
        assert response.status == 200
    found = await settled(remote)

    assert main(found)["resources"] == resources("4")
    assert "PodResizePending" not in kinds(found)


async def test_a_wish_that_is_withdrawn_is_forgotten(remote: Remote) -> None:
    other = pod("other")
    other["spec"]["containers"][0]["resources"] = resources("5")
    await remote.create(other, start=False)
    await run_pod(remote, resources=resources("1"))
    assert "PodResizePending" in kinds(await resize(remote, "4"))

    assert "PodResizePending" not in kinds(await resize(remote, "1"))
