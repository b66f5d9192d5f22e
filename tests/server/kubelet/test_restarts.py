"""Pods whose server restarts: from a data file, from a snapshot, and from a dump."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubelet.remote import connected, pod
from tests.server.kubelet.running import advance, events, is_ready, main, run_pod, settled, shell, state_of

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.server.kubelet.remote import Plain, Remote

    from masthead.server import ContainerProbe


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Remote]:
    async with (
        masthead.server.run(token=None, bootstrap=False, kubelet=True, **settings) as server,
        connected(server) as made,
    ):
        yield made


class Machine:
    """Runs one server after the other on the same data, with one clock."""

    def __init__(self, file: Path) -> None:
        self._settings: dict[str, Any] = {"data": file, "clock": VirtualClock()}

    @asynccontextmanager
    async def start(self, **settings: Any) -> AsyncIterator[Remote]:
        async with serving(**self._settings, **settings) as remote:
            yield remote

    async def restart(self) -> Plain:
        """Start a server for a moment; returns the pod."""
        async with self.start() as remote:
            return await settled(remote)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "data")


async def version_after_restart(machine: Machine) -> tuple[str, str]:
    async with machine.start() as remote:
        before: str = (await settled(remote))["metadata"]["resourceVersion"]
    after = await machine.restart()
    return before, after["metadata"]["resourceVersion"]


async def test_a_script_starts_over_and_ends(machine: Machine) -> None:
    async with machine.start() as remote:
        await run_pod(remote, spec={"restartPolicy": "Never"}, command=shell("sleep 6; exit 3"))
        assert state_of(await advance(remote, 5)) == "running"

    async with machine.start() as remote:
        found = await settled(remote)
        assert (state_of(found), main(found)["restartCount"]) == ("running", 0)
        assert state_of(await advance(remote, 5)) == "running"
        remote.server.advance(1)
        found = await settled(remote, lambda found: found["status"]["phase"] == "Failed")
    assert main(found)["state"]["terminated"]["exitCode"] == 3


async def test_a_pod_that_just_runs_is_not_written(machine: Machine) -> None:
    async with machine.start() as remote:
        await run_pod(remote)
    before, after = await version_after_restart(machine)
    assert before == after


async def test_init_containers_continue_where_they_were(machine: Machine) -> None:
    inits = [{"name": name, "image": "x", "command": shell("sleep 5")} for name in ("one", "two")]
    async with machine.start() as remote:
        await run_pod(remote, spec={"initContainers": inits})
        remote.server.advance(5)
        await settled(remote, lambda found: "running" in found["status"]["initContainerStatuses"][1]["state"])

    async with machine.start() as remote:
        [one, two] = (await settled(remote))["status"]["initContainerStatuses"]
        assert (list(one["state"]), list(two["state"])) == (["terminated"], ["running"])
        remote.server.advance(5)
        await settled(remote, is_ready)


async def test_an_init_container_completes_if_its_handler_is_gone(machine: Machine) -> None:
    async with machine.start() as remote:

        @remote.server.kubelet.main("web", container="one")
        async def wait(_process: object) -> None:
            await asyncio.Event().wait()

        found = await run_pod(remote, spec={"initContainers": [{"name": "one", "image": "x"}]})
        assert found["status"]["phase"] == "Pending"

    assert is_ready(await machine.restart())


async def test_a_ready_container_stays_ready_until_its_probe_fails(machine: Machine) -> None:
    probe = {"httpGet": {"port": 80}, "periodSeconds": 5, "failureThreshold": 1, "initialDelaySeconds": 5}
    async with machine.start() as remote:
        await run_pod(remote, readinessProbe=probe)
        assert is_ready(await advance(remote, 5))

    async with machine.start() as remote:

        @remote.server.kubelet.probe("web")
        def fail(_probe: ContainerProbe) -> bool:
            return False

        assert is_ready(await settled(remote))
        remote.server.advance(10)
        await settled(remote, lambda found: not is_ready(found))


async def test_a_container_that_was_not_ready_becomes_ready(machine: Machine) -> None:
    command = ["test", "-e", "/ready"]
    async with machine.start() as remote:
        found = await run_pod(remote, readinessProbe={"exec": {"command": command}, "periodSeconds": 1})
        assert not is_ready(found)

    async with machine.start() as remote:
        assert not is_ready(await settled(remote))
        remote.server.kubelet.files("web")["/ready"] = b""
        remote.server.advance(1)
        await settled(remote, is_ready)


async def test_a_liveness_probe_restarts_its_container(machine: Machine) -> None:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 5, "failureThreshold": 2}
    async with machine.start() as remote:
        await run_pod(remote, livenessProbe=probe, command=shell("sleep 1000"))

    async with machine.start() as remote:
        await advance(remote, 5)
        remote.server.advance(5)
        await settled(remote, lambda found: main(found)["restartCount"] == 1)


async def test_a_container_in_back_off_restarts_at_once(machine: Machine) -> None:
    async with machine.start() as remote:
        await run_pod(remote, command=shell("exit 1"))
        await settled(remote, lambda found: state_of(found) == "CrashLoopBackOff")
        count = main(await settled(remote))["restartCount"]

    async with machine.start() as remote:
        await settled(remote, lambda found: main(found)["restartCount"] > count)


async def test_a_missing_config_map_still_delays_the_start(machine: Machine) -> None:
    env_from = [{"configMapRef": {"name": "settings"}}]
    async with machine.start() as remote:
        found = await run_pod(remote, envFrom=env_from)
        assert state_of(found) == "CreateContainerConfigError"

    async with machine.start() as remote:
        assert state_of(await settled(remote)) == "CreateContainerConfigError"
        body = {"metadata": {"name": "settings"}}
        async with remote.http.post("/api/v1/namespaces/default/configmaps", json=body) as response:
            assert response.status == 201
        await settled(remote, is_ready)


async def test_no_hook_and_no_event_tells_of_a_second_start(machine: Machine) -> None:
    hook = {"postStart": {"exec": {"command": shell("echo once >> /hook")}}}
    async with machine.start() as remote:
        await run_pod(remote, lifecycle=hook)
        before = await events(remote)

    async with machine.start() as remote:
        assert is_ready(await settled(remote))
        assert await events(remote) == before


async def test_a_pod_of_a_failed_node_resumes_with_it(machine: Machine) -> None:
    async with machine.start() as remote:
        await run_pod(remote, spec={"restartPolicy": "Never"}, command=shell("sleep 6"))

    async with machine.start() as remote:
        remote.server.kubelet.nodes.fail("masthead-node")
        await advance(remote, 20)
        remote.server.kubelet.nodes.recover("masthead-node")
        await settled(remote)
        remote.server.advance(6)
        await settled(remote, lambda found: found["status"]["phase"] == "Succeeded")


async def test_a_deleted_pod_ends_after_a_restart(machine: Machine) -> None:
    async with machine.start() as remote:
        await run_pod(remote, command=shell("trap '' TERM; sleep 1000"))
        async with remote.http.delete("/api/v1/namespaces/default/pods/web") as response:
            assert response.status == 200

    async with machine.start() as remote:
        remote.server.advance(31)
        await remote.server.wait_for_idle()
        async with remote.http.get("/api/v1/namespaces/default/pods/web") as response:
            assert response.status == 404


async def test_pods_of_a_snapshot_run() -> None:
    clock = VirtualClock()
    async with serving(clock=clock) as remote:
        await run_pod(remote, spec={"restartPolicy": "Never"}, command=shell("sleep 6"))
        snapshot = remote.server.snapshot()

    async with serving(clock=clock, snapshot=snapshot) as remote:
        await settled(remote)
        remote.server.advance(6)
        await settled(remote, lambda found: found["status"]["phase"] == "Succeeded")


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_pod_that_is_restored_runs_again(*, is_deleted: bool) -> None:
    async with serving(clock=VirtualClock) as remote:
        await run_pod(remote, spec={"restartPolicy": "Never"}, command=shell("sleep 6"))
        snapshot = remote.server.snapshot()
        remote.server.advance(6)
        await settled(remote, lambda found: found["status"]["phase"] == "Succeeded")
        if is_deleted:
            async with remote.http.delete("/api/v1/namespaces/default/pods/web") as response:
                assert response.status == 200
            await remote.server.wait_for_idle()

        remote.server.restore(snapshot)
        assert (await settled(remote))["status"]["phase"] == "Running"
        remote.server.advance(6)
        await settled(remote, lambda found: found["status"]["phase"] == "Succeeded")


async def test_restoring_does_not_start_a_running_container_twice() -> None:
    async with serving(clock=VirtualClock) as remote:
        await run_pod(remote, command=shell("echo started; sleep 1000"))
        snapshot = remote.server.snapshot()
        async with remote.http.patch(
            "/api/v1/namespaces/default/pods/web",
            json={"metadata": {"labels": {"a": "b"}}},
            headers={"Content-Type": "application/merge-patch+json"},
        ) as response:
            assert response.status == 200
        remote.server.restore(snapshot)
        await settled(remote)
        async with remote.http.get("/api/v1/namespaces/default/pods/web/log") as response:
            assert await response.text() == "started\n"


async def test_pods_of_a_dump_do_not_run_even_after_a_restart(machine: Machine, tmp_path: Path) -> None:
    async with serving(clock=VirtualClock) as remote:
        found = await run_pod(remote, spec={"restartPolicy": "Never"}, command=shell("exit 0"))
        nodes = await (await remote.http.get("/api/v1/nodes")).json()
    running = {"name": "main", "state": {"running": {}}, "ready": True, "restartCount": 0}
    found["status"] |= {"phase": "Running", "containerStatuses": [{**main(found), **running}]}
    dump = tmp_path / "dump.json"
    dump.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [
                    {**found, "apiVersion": "v1", "kind": "Pod"},
                    *({**node, "apiVersion": "v1", "kind": "Node"} for node in nodes["items"]),
                ],
            }
        )
    )

    async with machine.start(load=dump) as remote:
        assert state_of(await advance(remote, 10)) == "running"
    async with machine.start() as remote:
        assert state_of(await advance(remote, 10)) == "running"
        await remote.create(pod("late", restartPolicy="Never"), start=False)
