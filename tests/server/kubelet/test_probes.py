"""Startup, readiness and liveness probes, in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubelet.remote import connected, pod
from tests.server.kubelet.running import (
    advance,
    condition,
    events,
    is_ready,
    main,
    run_pod,
    running_pods,
    settled,
    shell,
)

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.server.kubelet.remote import Plain, Remote

    from masthead.server import ContainerProbe, Timer

HTTP: Any = {"httpGet": {"path": "/healthz", "port": 8080}}


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


def file_probe(path: str = "/tmp/ok", **timing: int) -> Plain:
    return {"exec": {"command": ["cat", path]}, **timing}


async def test_a_probe_that_nothing_can_make_fail_succeeds_at_once(remote: Remote) -> None:
    found = await run_pod(remote, readinessProbe=HTTP, livenessProbe=HTTP, startupProbe=HTTP)

    assert (main(found)["started"], is_ready(found)) == (True, True)


async def test_a_readiness_probe_waits_for_its_initial_delay_and_its_successes(remote: Remote) -> None:
    probe = {**HTTP, "initialDelaySeconds": 20, "periodSeconds": 5, "successThreshold": 3}
    found = await run_pod(remote, readinessProbe=probe)
    assert condition(found, "ContainersReady")["message"] == "containers with unready status: [app]"

    assert not is_ready(await advance(remote, 29))
    assert is_ready(await advance(remote, 1))


async def test_probes_that_nothing_changes_have_no_timers() -> None:
    class CountingClock(VirtualClock):
        calls = 0

        def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
            self.calls += 1
            return super().call_later(seconds, call)

    clock = CountingClock()
    async with running_pods(clock) as remote:
        for number in range(20):
            body = pod(f"web-{number}")
            test = {"exec": {"command": ["test", "-d", "/etc"]}}
            body["spec"]["containers"][0] |= {"readinessProbe": test, "livenessProbe": HTTP, "startupProbe": HTTP}
            await remote.create(body, start=False)
        await remote.server.wait_for_idle()
        before = clock.calls
        remote.server.advance(600)
        await remote.server.wait_for_idle()

        assert clock.calls - before < 20
        assert is_ready(await remote.get("web-19"))


async def test_a_command_decides_about_readiness_when_files_change(remote: Remote) -> None:
    found = await run_pod(remote, readinessProbe=file_probe(periodSeconds=5, failureThreshold=2))
    assert not is_ready(found)

    remote.server.kubelet.files("web")["/tmp/ok"] = b"yes"
    assert is_ready(await advance(remote, 5))

    del remote.server.kubelet.files("web")["/tmp/ok"]
    assert is_ready(await advance(remote, 5))
    assert not is_ready(await advance(remote, 5))
    reasons = [(reason, message) for reason, message, _ in await events(remote) if reason == "Unhealthy"]
    assert reasons == [("Unhealthy", "Readiness probe failed: cat: /tmp/ok: No such file or directory\n")]


async def test_a_failed_liveness_probe_restarts_the_container(remote: Remote) -> None:
    script = shell("touch /tmp/ok; sleep 30; rm -f /tmp/ok; sleep 600")
    found = await run_pod(remote, command=script, livenessProbe=file_probe(periodSeconds=5, failureThreshold=1))
    assert main(found)["restartCount"] == 0

    remote.server.advance(30)
    await settled(remote)
    remote.server.advance(5)
    found = await settled(remote, lambda found: main(found)["restartCount"] == 1)

    ended = main(found)["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (143, "Error")
    messages = [message for reason, message, _ in await events(remote) if reason == "Killing"]
    assert messages == ["Container app failed liveness probe, will be restarted"]


async def test_a_failed_startup_probe_lets_a_container_that_never_restarts_fail(remote: Remote) -> None:
    probe = file_probe(periodSeconds=1, failureThreshold=3)
    found = await run_pod(remote, spec={"restartPolicy": "Never"}, startupProbe=probe, readinessProbe=HTTP)
    assert (main(found)["started"], is_ready(found)) == (False, False)

    assert (await advance(remote, 2))["status"]["phase"] == "Running"
    found = await advance(remote, 1)

    assert found["status"]["phase"] == "Failed"
    messages = [message for reason, message, _ in await events(remote) if reason == "Killing"]
    assert messages == ["Container app failed startup probe"]


async def test_other_probes_begin_when_the_startup_probe_has_succeeded(remote: Remote) -> None:
    await run_pod(remote, startupProbe=file_probe(periodSeconds=2, failureThreshold=30), readinessProbe=HTTP)
    assert not is_ready(await advance(remote, 20))

    remote.server.kubelet.files("web")["/tmp/ok"] = b""
    found = await advance(remote, 2)

    assert (main(found)["started"], is_ready(found)) == (True, True)


async def test_a_handler_decides_about_probes_and_is_asked_in_every_period(remote: Remote) -> None:
    answers = [True, False, False, False]
    asked: list[tuple[str, str]] = []

    @remote.server.kubelet.probe("web", kind="readiness")
    async def probe(probe: ContainerProbe) -> bool:
        asked.append((probe.container, probe.kind))
        return answers.pop(0)

    assert is_ready(await run_pod(remote, readinessProbe={**HTTP, "periodSeconds": 3}, livenessProbe=HTTP))
    assert is_ready(await advance(remote, 6))
    assert not is_ready(await advance(remote, 3))
    assert asked == [("app", "readiness")] * 4


async def test_the_error_of_a_handler_is_the_output_of_the_probe(remote: Remote) -> None:
    @remote.server.kubelet.probe("web")
    async def probe(_probe: ContainerProbe) -> bool:
        raise ConnectionError("no database")

    found = await run_pod(remote, readinessProbe=HTTP)

    assert not is_ready(found)
    assert ("Unhealthy", "Readiness probe failed: no database", 1) in await events(remote)


@pytest.mark.parametrize("answer", [None, 1, "no", []])
async def test_a_handler_that_returns_no_bool_fails_the_probe_and_is_reported(
    remote: Remote, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @remote.server.kubelet.probe("web", kind="readiness")
    async def probe(_probe: ContainerProbe) -> bool:
        return answer  # type: ignore[no-any-return] # the mistake

    found = await run_pod(remote, readinessProbe=HTTP)

    problem = f"the handler of this probe returned {answer!r}, not True or False"
    assert not is_ready(found)
    assert ("Unhealthy", f"Readiness probe failed: {problem}", 1) in await events(remote)
    assert f"readiness probe of default/web app: {problem}" in caplog.text


async def test_a_plain_function_may_decide_about_probes(remote: Remote) -> None:
    @remote.server.kubelet.probe("web")
    def probe(_probe: ContainerProbe) -> bool:
        return False

    await run_pod(remote, readinessProbe=HTTP)

    found = await settled(remote, lambda found: not main(found)["ready"])
    assert not is_ready(found)


async def test_a_handler_that_is_registered_later_is_asked(remote: Remote) -> None:
    assert is_ready(await run_pod(remote, readinessProbe={**HTTP, "failureThreshold": 1}))

    @remote.server.kubelet.probe("*")
    async def probe(_probe: ContainerProbe) -> bool:
        return False

    assert not is_ready(await settled(remote))


async def test_a_listener_answers_probes_of_its_port(remote: Remote) -> None:
    status = b"500 Broken"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        assert request.startswith(b"GET /healthz HTTP/1.1\r\n")
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")

    listener = remote.server.kubelet.listen("web", 8080, answer)
    await run_pod(remote, readinessProbe={**HTTP, "periodSeconds": 1, "failureThreshold": 1})

    def ready(found: Plain) -> bool:
        return bool(main(found)["ready"])

    while not [reason for reason, _, _ in await events(remote) if reason == "Unhealthy"]:
        await remote.server.wait_for_idle()
    assert not is_ready(await settled(remote))
    assert ("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 500", 1) in await events(remote)

    status = b"204 No Content"
    remote.server.advance(1)
    assert is_ready(await settled(remote, ready))

    listener.close()
    remote.server.advance(1)
    await settled(remote, lambda found: not ready(found))
    message = (await events(remote))[-1][1]
    assert message.endswith(":8080: connect: connection refused")


async def test_readiness_can_be_set(remote: Remote) -> None:
    assert is_ready(await run_pod(remote))

    remote.server.kubelet.set_ready("web", False)
    assert not is_ready(await settled(remote))
    remote.server.kubelet.restart("web")
    assert not is_ready(await settled(remote))

    remote.server.kubelet.set_ready("web", True)
    assert is_ready(await settled(remote))
    remote.server.kubelet.set_started("web", False)
    assert not main(await settled(remote))["started"]


async def test_liveness_fails_on_request(remote: Remote) -> None:
    await run_pod(remote)

    remote.server.kubelet.fail_liveness("web", output="hangs")
    found = await settled(remote)

    assert (main(found)["restartCount"], main(found)["lastState"]["terminated"]["exitCode"]) == (1, 137)
    assert ("Unhealthy", "Liveness probe failed: hangs", 1) in await events(remote)


async def test_a_readiness_gate_decides_about_the_pod_alone(remote: Remote) -> None:
    gate = "a.test/gate"
    found = await run_pod(remote, spec={"readinessGates": [{"conditionType": gate}]})
    assert (condition(found, "Ready")["status"], condition(found, "ContainersReady")["status"]) == ("False", "True")

    body = {"status": {"conditions": [{"type": gate, "status": "True"}]}}
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    path = "/api/v1/namespaces/default/pods/web/status"
    async with remote.http.patch(path, json=body, headers=headers) as response:
        assert response.status == 200
    assert condition(await settled(remote), "Ready")["status"] == "True"


async def test_a_sidecar_lets_others_start_when_it_has_started(remote: Remote) -> None:
    sidecar = {"name": "proxy", "image": "x", "restartPolicy": "Always", "startupProbe": file_probe(periodSeconds=1)}
    found = await run_pod(remote, spec={"initContainers": [sidecar]})
    assert (found["status"]["phase"], list(main(found)["state"])) == ("Pending", ["waiting"])

    remote.server.kubelet.files("web", container="proxy")["/tmp/ok"] = b""
    found = await advance(remote, 1)

    assert found["status"]["phase"] == "Running"


async def test_volumes_that_are_written_again_do_not_run_probes() -> None:
    async with (
        # With the volume of a service account, whose token is another one with each write of the pod.
        masthead.server.run(clock=VirtualClock, token=None, kubelet=True) as server,
        connected(server) as remote,
    ):
        await run_pod(remote, livenessProbe=file_probe("/tmp/none", periodSeconds=1, failureThreshold=1))
        folder = "/var/run/secrets/kubernetes.io/serviceaccount"
        assert (await remote.exec("ls", folder)).stdout == "ca.crt\nnamespace\ntoken\n"

        for _ in range(19):
            await advance(remote, 1)
        found = await advance(remote, 1)

        assert main(found)["restartCount"] == 2


async def test_a_handler_in_a_thread_does_not_time_out_while_virtual_time_jumps(remote: Remote) -> None:
    @remote.server.kubelet.probe("web", kind="readiness")
    def succeed(_probe: ContainerProbe) -> bool:
        return True

    await run_pod(remote, readinessProbe={**HTTP, "initialDelaySeconds": 5, "periodSeconds": 5})
    remote.server.advance(60)
    await settled(remote, is_ready)
    assert "Unhealthy" not in [reason for reason, _, _ in await events(remote)]


async def test_a_handler_that_does_not_return_times_out(remote: Remote) -> None:
    @remote.server.kubelet.probe("web", kind="readiness")
    async def hang(_probe: ContainerProbe) -> bool:
        return await asyncio.Event().wait()

    await run_pod(remote, readinessProbe={**HTTP, "failureThreshold": 1, "timeoutSeconds": 3})
    remote.server.advance(60)
    expected = ("Unhealthy", "Readiness probe failed: command timed out after 3s", 1)
    async with asyncio.timeout(30):
        while expected not in await events(remote):
            await remote.server.wait_for_idle()


def slow_probe(script: str = "sleep 4", **timing: int) -> Plain:
    return {"exec": {"command": shell(script)}, "timeoutSeconds": 1, "periodSeconds": 2, **timing}


@pytest.mark.parametrize("script", ["sleep 4", "sleep 4 | cat", "cat | sleep 4", "sleep 4 & wait", "tail -f /dev/null"])
async def test_a_command_times_out_at_the_exact_moment(remote: Remote, script: str) -> None:
    await run_pod(remote, readinessProbe=slow_probe(script, failureThreshold=1))
    await advance(remote, 0.5)
    assert "Unhealthy" not in [reason for reason, _, _ in await events(remote)]

    await advance(remote, 0.5)
    message = f'Readiness probe failed: command timed out: "sh -c {script}" timed out after 1s'
    assert (await events(remote))[-1] == ("Unhealthy", message, 1)

    for _ in range(9):
        assert not is_ready(await advance(remote, 1))
    assert (await events(remote))[-1] == ("Unhealthy", message, 5)


@pytest.mark.parametrize(("seconds", "timeouts"), [(4, 0), (95, 10)])
async def test_a_large_step_of_the_clock_has_all_timeouts(remote: Remote, seconds: int, timeouts: int) -> None:
    await run_pod(remote, readinessProbe=slow_probe(f"sleep {seconds}", timeoutSeconds=90, periodSeconds=100))

    await advance(remote, 1000)

    message = f'Readiness probe failed: command timed out: "sh -c sleep {seconds}" timed out after 1m30s'
    assert sum(count for _, found, count in await events(remote) if found == message) == timeouts


async def test_a_liveness_probe_that_hangs_restarts_its_container(remote: Remote) -> None:
    await run_pod(remote, livenessProbe=slow_probe(failureThreshold=2))

    # Runs begin after 2 and 4 seconds, and time out a second later.
    assert main(await advance(remote, 4))["restartCount"] == 0
    assert main(await advance(remote, 1))["restartCount"] == 1


@pytest.mark.parametrize("script", ["echo a | cat", "seq 1 2000 | wc -l", "sleep 0.5; echo b"])
async def test_a_command_that_computes_does_not_time_out_in_a_large_step(remote: Remote, script: str) -> None:
    await run_pod(remote, readinessProbe=slow_probe(script, initialDelaySeconds=1, failureThreshold=1))

    await advance(remote, 60)

    assert is_ready(await advance(remote, 1))
    assert "Unhealthy" not in [reason for reason, _, _ in await events(remote)]


@pytest.mark.slow
async def test_a_command_without_a_pause_times_out_after_a_second(remote: Remote) -> None:
    await run_pod(remote, readinessProbe=slow_probe("while :; do :; done", initialDelaySeconds=1, failureThreshold=1))
    remote.server.advance(4)
    found = await settled(remote)

    assert not is_ready(found)
    assert (await events(remote))[-1][0] == "Unhealthy"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "message"),
    [
        (HTTP, 'Get "http://{}/healthz": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'),
        ({"httpGet": {"port": 8080}}, 'Get "http://{}/": context deadline exceeded'),
    ],
)
async def test_a_listener_that_does_not_respond_times_out(remote: Remote, action: Plain, message: str) -> None:
    async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    remote.server.kubelet.listen("web", 8080, hang)
    found = await run_pod(remote, readinessProbe={**action, "failureThreshold": 1})
    await advance(remote, 2)

    output = message.format(f"{found['status']['podIP']}:8080")
    assert (await events(remote))[-1][1].startswith(f"Readiness probe failed: {output}")


async def test_a_plain_function_has_decided_when_the_server_is_idle(remote: Remote) -> None:
    @remote.server.kubelet.probe("web")
    def probe(_probe: ContainerProbe) -> bool:
        return False

    await run_pod(remote, readinessProbe={**HTTP, "failureThreshold": 1})

    assert (await events(remote))[-1][:2] == ("Unhealthy", "Readiness probe failed: ")
