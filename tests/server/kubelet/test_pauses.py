"""An idle server: every process in a container has reached its next pause or its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubelet.remote import connected
from tests.server.kubelet.running import advance, is_ready, main, run_pod, running_pods, shell, state_of

import masthead.server
from masthead.server import ExecProcess, VirtualClock
from masthead.testing.virtual_time import LoopClock, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Remote

ENDLESS = "while :; do :; done"


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("seq 1 5000 | wc -l", "5000"),
        ("i=0; while [ $i -lt 200 ]; do i=$((i+1)); done; echo $i", "200"),
        ("for i in 1 2 3 4 5 6 7 8 9; do echo $i | cat; done | tail -n 1", "9"),
        ("x=$(for i in 1 2 3; do echo $(echo $i | cat); done); echo $x", "1 2 3"),
        ("for i in 1 2 3; do (echo $i > /tmp/$i) & done; wait; cat /tmp/1 /tmp/2 /tmp/3 | tr -d '\\n'; echo", "123"),
        ("f() { [ $1 = 0 ] || f $(($1 - 1)); }; f 60; echo deep", "deep"),
        ("trap 'echo bye' EXIT; sleep 0", "bye"),
    ],
)
async def test_a_script_that_only_computes_has_ended(remote: Remote, script: str, output: str) -> None:
    await remote.server.wait_for_idle()
    found = await run_pod(remote, spec={"restartPolicy": "Never"}, command=shell(script))

    if "sleep" in script:
        found = await advance(remote, 0)

    assert found["status"]["phase"] == "Succeeded"
    assert await remote.log() == (200, f"{output}\n")


async def test_a_script_has_reached_its_next_pause_after_each_step(remote: Remote) -> None:
    script = "for i in 1 2 3; do seq 1 2000 | wc -l; echo $i | cat; sleep 1; done"
    await run_pod(remote, spec={"restartPolicy": "Never"}, command=shell(script))

    lengths = [len((await remote.log())[1].splitlines())]
    for _ in range(3):
        await advance(remote, 1)
        lengths.append(len((await remote.log())[1].splitlines()))

    assert lengths == [2, 4, 6, 6]
    assert (await remote.get())["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize(
    "script",
    [
        "sleep 5 | cat",
        "sleep 5 & wait",
        "tail -f /dev/null",
        "(sleep 5; echo a) | while read line; do echo $line; done",
        "yes | sleep 5",
    ],
)
async def test_pauses_are_not_waited_for(remote: Remote, script: str) -> None:
    assert state_of(await run_pod(remote, command=shell(script))) == "running"


async def test_input_of_a_client_is_a_pause(remote: Remote) -> None:
    await run_pod(remote)
    async with remote.open("exec", command=shell("read a; echo $a | cat > /tmp/a"), stdin=True) as session:
        await remote.server.wait_for_idle()
        await session.send(b"hi\n")
        await session.result()

    assert remote.server.kubelet.files("web")["/tmp/a"] == b"hi\n"


async def test_an_exec_that_nobody_reads_has_had_its_effect(remote: Remote) -> None:
    await run_pod(remote)
    script = "for i in 1 2 3 4 5 6 7 8 9; do echo $i | cat; done; seq 1 3000 | wc -l > /tmp/done"
    async with remote.open("exec", command=shell(script)):
        await remote.server.wait_for_idle()

        assert remote.server.kubelet.files("web")["/tmp/done"] == b"3000\n"


async def test_a_probe_of_several_processes_has_decided(remote: Remote) -> None:
    probe = {"exec": {"command": shell("seq 1 3000 | grep 3000 | cat")}, "periodSeconds": 1, "initialDelaySeconds": 1}
    assert not is_ready(await run_pod(remote, readinessProbe=probe))
    assert is_ready(await advance(remote, 1))


async def test_a_hook_of_several_processes_has_ended(remote: Remote) -> None:
    hook = {"exec": {"command": shell("seq 1 3000 | tail -n 1 > /tmp/hook")}}
    found = await run_pod(remote, lifecycle={"postStart": hook})

    assert main(found)["ready"]
    assert remote.server.kubelet.files("web")["/tmp/hook"] == b"3000\n"


async def test_a_coroutine_that_computes_has_reached_its_next_pause(remote: Remote) -> None:
    @remote.server.kubelet.main("web")
    async def compute(process: ExecProcess) -> None:
        for number in range(50):
            await process.stdout.write(f"{number}\n")
        await process.stdin.read()

    await run_pod(remote, stdin=True)

    assert len((await remote.log())[1].splitlines()) == 50


async def test_a_script_without_a_pause_is_named_and_holds_nobody_else_up(remote: Remote) -> None:
    with pytest.raises(TimeoutError, match="the main process of default/web, container app computes without a pause"):
        await _run_without_end(remote)

    assert state_of(await remote.get()) == "running"
    remote.server.kubelet.succeed("web")
    await remote.server.wait_for_idle()


async def _run_without_end(remote: Remote) -> None:
    await remote.create({"metadata": {"name": "web"}, "spec": _spec(ENDLESS)}, start=False)
    await remote.server.wait_for_idle(timeout=0.3)


def _spec(script: str) -> dict[str, Any]:
    return {"containers": [{"name": "app", "image": "busybox", "command": shell(script)}]}


@in_virtual_time
async def test_a_script_without_a_pause_does_not_hold_back_the_timeout_in_virtual_time() -> None:
    async with (
        masthead.server.run(clock=LoopClock(), token=None, bootstrap=False, kubelet=True) as server,
        connected(server) as remote,
    ):
        with pytest.raises(TimeoutError, match="computes without a pause"):
            await _run_without_end(remote)


@pytest.mark.slow
def test_results_are_the_same_for_blocking_code() -> None:
    results: set[str] = set()
    spec = {**_spec("i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo $i"), "restartPolicy": "Never"}
    for _ in range(5):
        with (
            masthead.server.run(clock=VirtualClock, bootstrap=False, kubelet=True) as server,
            masthead.Client(kubeconfig=server.kubeconfig()) as client,
        ):
            pods = client.core_v1.pods("default")
            pods.create({"metadata": {"name": "web"}, "spec": spec})
            server.block_until_idle()
            results.add(pods.get("web").status.phase or "")
    assert results == {"Succeeded"}
