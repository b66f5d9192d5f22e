"""Signals that commands of exec send to the processes of a container."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.running import advance, main, run_pod, running_pods, settled, shell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Plain, Remote

    from masthead.server import ExecProcess


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


async def start(remote: Remote, script: str) -> Plain:
    """Start a pod with a script that never restarts."""
    return await run_pod(remote, spec={"restartPolicy": "Never"}, command=shell(script))


async def exit_code(remote: Remote) -> int:
    """The exit code of the container, once it has one."""
    found = await settled(remote, lambda found: "terminated" in main(found)["state"])
    return int(main(found)["state"]["terminated"]["exitCode"])


async def is_running(remote: Remote) -> bool:
    return "running" in main(await settled(remote))["state"]


@pytest.mark.parametrize("command", ["kill 1", "kill -HUP 1", "kill -KILL 1", "/bin/kill -s INT 1"])
async def test_a_main_process_ignores_signals_without_a_trap(remote: Remote, command: str) -> None:
    await start(remote, "while true; do sleep 1000; done")

    assert (await remote.exec(*command.split())).code == 0
    assert await is_running(remote)


async def test_a_main_process_runs_its_trap_and_continues(remote: Remote) -> None:
    await start(remote, "trap 'echo reload $(date +%S)' HUP; while true; do sleep 1000; done")

    assert (await remote.shell("kill -1 1")).code == 0
    await advance(remote, 5)
    assert (await remote.exec("kill", "-s", "HUP", "1")).code == 0
    assert await is_running(remote)

    assert await remote.log() == (200, "reload 00\nreload 05\n")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("trap 'exit 7' TERM; sleep 1000", 7),
        ("trap 'exit 8' TERM; sleep 1000 & wait", 8),
        ("trap 'exit 9' TERM; (sleep 1000); echo never", 9),
        ("trap 'exit 6' TERM; sleep 1000 | cat; echo never", 6),
        ("trap 'echo bye' EXIT; trap 'exit 5' TERM; while :; do sleep 1; done", 5),
        ("exec sh -c 'trap \"exit 4\" TERM; sleep 1000'", 4),
        ("wait_for_it() { while :; do sleep 1; done; }; trap 'exit 3' TERM; wait_for_it", 3),
    ],
)
async def test_the_trap_of_a_main_process_may_end_it(remote: Remote, script: str, code: int) -> None:
    await start(remote, script)

    assert (await remote.exec("kill", "1")).code == 0

    assert await exit_code(remote) == code


async def test_exec_forgets_traps(remote: Remote) -> None:
    await start(remote, "trap 'exit 7' TERM; exec sleep 1000")

    assert (await remote.exec("kill", "1")).code == 0
    assert await is_running(remote)


async def test_other_processes_end_by_signals(remote: Remote) -> None:
    await start(remote, "sleep 1000 & echo $! > /tmp/pid; wait $!; echo $?; sleep 1000")

    assert (await remote.shell("kill -0 $(cat /tmp/pid) && kill $(cat /tmp/pid)")).code == 0
    await settled(remote)
    assert await remote.log() == (200, "143\n")
    assert (await remote.shell("kill $(cat /tmp/pid)")).code == 1


async def test_a_command_of_exec_ends_by_a_signal_of_another(remote: Remote) -> None:
    await start(remote, "sleep 1000")

    async with remote.open("exec", command=["sh", "-c", "echo $$; cat"], stdin=True) as session:
        number = (await session.read()).decode().strip()
        assert int(number) > 1
        assert (await remote.exec("kill", "-INT", number)).code == 0
        assert (await session.result()).code == 130


async def test_a_container_that_just_runs_ignores_signals(remote: Remote) -> None:
    await run_pod(remote)

    assert (await remote.exec("kill", "1")).code == 0
    assert (await remote.exec("kill", "2000")).stderr == "kill: can't kill pid 2000: No such process\n"
    assert await is_running(remote)


async def test_a_coroutine_is_cancelled_by_a_termination(remote: Remote) -> None:
    @remote.server.kubelet.main("web")
    async def handle(_process: ExecProcess) -> int:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return 5
        return 0

    await start(remote, "")

    assert (await remote.shell("kill -HUP 1; kill -KILL 1")).code == 0
    assert await is_running(remote)
    await remote.exec("kill", "1")
    assert await exit_code(remote) == 5


async def test_builtins_are_no_programs(remote: Remote) -> None:
    await start(remote, "sleep 1000")

    for name in ("exit", "cd", "export", "set", "trap", "eval"):
        assert f'exec: "{name}": executable file not found in $PATH' in (await remote.exec(name)).status["message"]
