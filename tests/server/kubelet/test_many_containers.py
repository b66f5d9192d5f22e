"""Pods of many containers: their cost, and the work that an idle server has done."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.remote import pod
from tests.server.kubelet.running import running_pods, settled, shell

from masthead_server.resources.resource import ServedResource

if TYPE_CHECKING:
    from types import FrameType

    from tests.server.kubelet.remote import Plain, Remote


async def _run(remote: Remote, containers: int, script: str) -> Plain:
    body = pod("web", *(f"c{number}" for number in range(containers)), restartPolicy="Never")
    for container in body["spec"]["containers"]:
        container["command"] = shell(script)
    await remote.create(body, start=False)
    return await settled(remote)


async def _count_loads(containers: int) -> int:
    """How many stored objects are decoded while a pod starts, whose processes use files."""
    loads = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal loads
        loads += event == "call" and frame.f_code is ServedResource.load.__code__

    async with running_pods() as remote:
        sys.setprofile(profile)
        try:
            await _run(remote, containers, "ls /tmp; sleep 1000")
        finally:
            sys.setprofile(None)
    return loads


@pytest.mark.slow
async def test_a_pod_is_not_decoded_for_each_of_its_containers() -> None:
    few = await _count_loads(2)
    assert few > 0
    assert await _count_loads(60) == few


@pytest.mark.slow
async def test_an_idle_server_has_run_all_processes_that_were_due() -> None:
    async with running_pods() as remote:
        found = await _run(remote, 80, "sleep 1; exit 0")
        assert found["status"]["phase"] == "Running"
        remote.server.advance(1)
        found = await settled(remote)
        assert found["status"]["phase"] == "Succeeded"
