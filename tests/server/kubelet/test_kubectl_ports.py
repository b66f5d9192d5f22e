"""kubectl exec, port-forward and proxies against the server, over WebSockets and over SPDY."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.server.calls import Caller
from tests.server.kubectl import KUBECTL, Kubectl
from tests.server.kubelet.wires import POD, start_pod

import masthead.server

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator
    from pathlib import Path

    from masthead.server import ExecProcess, Server

pytestmark = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl")

CARRIERS = pytest.mark.parametrize("websockets", ["true", "false"])


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    """A server with a pod that has commands and ports.

    Without a token: for want of TLS, kubectl would send it in the address, which no WebSocket may have.
    """
    with masthead.server.run(token=None) as server:
        caller = Caller(server.url)
        start_pod(server, caller)
        caller.close()

        @server.kubelet.exec("web", command="count")
        async def count(process: ExecProcess) -> int:
            await process.stderr.write("counting\n")
            await process.stdout.write(f"{len(await process.stdin.read())}\n")
            return 3

        @server.kubelet.exec("web", command="flood")
        async def flood(process: ExecProcess) -> None:
            for _ in range(100):
                await process.stdout.write(b"x" * 100_000)

        async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(path), path))

        server.kubelet.listen("web", 8080, respond)
        yield server


@pytest.fixture
def kubectl(running: Server, tmp_path: Path) -> Kubectl:
    return Kubectl(running, tmp_path)


@CARRIERS
def test_exec_has_all_streams_and_the_exit_code(kubectl: Kubectl, websockets: str) -> None:
    env = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": websockets}
    done = kubectl.run("exec -i web -- count", stdin="x" * 100_000, env=env)
    assert (done.returncode, done.stdout) == (3, "100000\n")
    assert done.stderr.splitlines() == ["counting", "command terminated with exit code 3"]


@CARRIERS
def test_exec_prints_a_lot(kubectl: Kubectl, websockets: str) -> None:
    env = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": websockets}
    assert kubectl("exec web -- flood", env=env) == "x" * 10_000_000


def test_the_upgrade_is_the_one_that_was_asked_for(running: Server, kubectl: Kubectl) -> None:
    for websockets, upgrade in (("true", "websocket"), ("false", "SPDY/3.1")):
        kubectl("exec web -- flood", env={"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": websockets})
        asked = [request for request in running.requests if request.info.subresource == "exec"]
        assert (asked[-1].headers["upgrade"], asked[-1].code) == (upgrade, 101)


@contextmanager
def forwarding(kubectl: Kubectl, websockets: str, ports: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """kubectl port-forward, and the local port that it has chosen."""
    line = [*kubectl.command, "port-forward", "pod/web", ports, "--address", "127.0.0.1"]
    env = {**os.environ, "KUBECTL_PORT_FORWARD_WEBSOCKETS": websockets}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith("Forwarding from 127.0.0.1:"), said + process.stdout.read()
            yield process, int(said.split(":")[1].split()[0])
        finally:
            process.terminate()


@CARRIERS
def test_port_forward_reaches_what_listens(kubectl: Kubectl, websockets: str) -> None:
    with forwarding(kubectl, websockets, ":8080") as (_, port):
        for number in range(3):
            url = f"http://127.0.0.1:{port}/{number}"
            with urllib.request.urlopen(url, timeout=30) as response:  # to a port of this machine
                assert response.read() == f"/{number}".encode()


@CARRIERS
def test_port_forward_says_that_nothing_listens(kubectl: Kubectl, websockets: str) -> None:
    with forwarding(kubectl, websockets, ":9") as (process, port):
        with pytest.raises(OSError, match=r"."):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30)
        assert process.stdout is not None
        said = "".join(process.stdout.readline() for _ in range(2))
    assert "an error occurred forwarding" in said
    assert "failed to connect to localhost:9 inside namespace" in said


def test_a_proxy_is_asked_with_raw(kubectl: Kubectl) -> None:
    assert kubectl(f"get --raw {POD}:8080/proxy/healthz?x=1") == "/healthz?x=1"
