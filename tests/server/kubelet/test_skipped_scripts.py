"""Scripts that the built-in shell cannot run: nothing of them runs, and log and Events say so."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.remote import pod
from tests.server.kubelet.running import events, is_ready, run_pod, running_pods, shell, state_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Plain, Remote

    from masthead.server import ExecProcess

AWK = 'the built-in shell has no "awk"'


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


async def reports(remote: Remote) -> list[str]:
    return [message for reason, message, _ in await events(remote) if reason == "ScriptNotRun"]


@pytest.mark.parametrize(
    ("container", "problem"),
    [
        ({"command": shell("echo a; ls / | awk '{print}'")}, AWK),
        ({"command": ["sh", "-c"], "args": ["curl x && awk y; curl z"]}, 'the built-in shell has no "curl", "awk"'),
        ({"command": shell("$PROGRAM --help")}, "the name of one of its programs is in a variable"),
        ({"command": shell("if true")}, "the built-in shell does not understand it: "),
        ({"command": ["sh", "/scripts/run.sh"]}, "the built-in shell runs only scripts of sh -c"),
    ],
)
async def test_a_script_that_is_not_run_is_reported(
    remote: Remote, caplog: pytest.LogCaptureFixture, container: Plain, problem: str
) -> None:
    found = await run_pod(remote, **container)

    assert state_of(found) == "running"
    assert (await remote.log())[1] == ""
    [report] = await reports(remote)
    assert report.startswith(f"the script is not run, because {problem}")
    [record] = [record for record in caplog.records if record.name == "masthead.server.kubelet"]
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"pod default/web, container app: {report}"


async def test_scripts_of_init_containers_probes_and_hooks_are_reported(
    remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    action = {"exec": {"command": shell("awk 1")}}
    setup = {"name": "setup", "image": "busybox", "command": shell("awk 2")}
    found = await run_pod(
        remote,
        spec={"initContainers": [setup]},
        readinessProbe=action,
        lifecycle={"postStart": action, "preStop": action},
    )

    assert is_ready(found)
    assert await reports(remote) == [
        f"the script is not run, because {AWK}",
        f"the readinessProbe, which succeeds, is not run, because {AWK}",
        f"the postStart hook, which succeeds, is not run, because {AWK}",
        f"the preStop hook, which succeeds, is not run, because {AWK}",
    ]
    assert "container setup" in caplog.text


@pytest.mark.parametrize(
    "container",
    [
        {},
        {"command": ["/manager", "--leader-elect"]},
        {"command": ["sh"]},
        {"command": shell("sleep 5; echo done")},
        {"livenessProbe": {"exec": {"command": ["/bin/check"]}}},
    ],
)
async def test_programs_of_images_and_scripts_that_run_are_not_reported(
    remote: Remote, caplog: pytest.LogCaptureFixture, container: Plain
) -> None:
    await run_pod(remote, **container)

    assert await reports(remote) == []
    assert caplog.records == []


async def test_commands_with_a_handler_are_not_reported(remote: Remote) -> None:
    @remote.server.kubelet.main("*")
    @remote.server.kubelet.exec("*")
    async def run(process: ExecProcess) -> None:
        await process.stdin.read()

    await run_pod(remote, command=shell("awk 1"), stdin=True, livenessProbe={"exec": {"command": shell("awk 2")}})

    assert await reports(remote) == []


async def test_equal_pods_are_logged_once(remote: Remote, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        body = pod(f"web-{number}")
        body["spec"]["containers"][0]["command"] = shell("awk 1")
        await remote.create(body, start=False)
    await remote.server.wait_for_idle()

    assert len(await reports(remote)) == 3
    assert len(caplog.records) == 1
