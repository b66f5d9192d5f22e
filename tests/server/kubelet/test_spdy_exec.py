"""exec over SPDY, as kubectl before 1.30 speaks it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.wires import POD, SpdyWire, Upgraded, lines_of, spdy_headers, start_pod

if TYPE_CHECKING:
    from tests.server.calls import Caller

    from masthead.server import ExecProcess, Server

ALL = "stdin=1&stdout=1&stderr=1"
V4 = "v4.channel.k8s.io"


@pytest.fixture(autouse=True)
def _pod(server: Server, caller: Caller) -> None:
    start_pod(server, caller)

    @server.kubelet.exec("web", command="count")
    async def count(process: ExecProcess) -> int:
        await process.stderr.write("counting\n")
        size = len(await process.stdin.read())
        await process.stdout.write(f"{size}\n")
        return size

    @server.kubelet.exec("web", command="sizes")
    async def sizes(process: ExecProcess) -> None:
        async for size in process.resizes():
            await process.stdout.write(f"{size.width}x{size.height}\n")
            if size.width == 0:
                return


class ExecWire(SpdyWire):
    """A client of exec."""

    def __init__(self, connection: Upgraded, *kinds: str) -> None:
        super().__init__(connection)
        self.streams = {kind: self.open({"streamType": kind}) for kind in kinds}

    def text(self, kind: str) -> str:
        """What was received of a stream."""
        return self.received[self.streams[kind]].decode()


def connect(server: Server, caller: Caller, query: str, version: str = V4) -> Upgraded:
    return Upgraded(caller, server.token, f"{POD}/exec?{query}", spdy_headers(version), "POST")


def test_a_command_gets_its_streams_and_its_status_is_sent(server: Server, caller: Caller) -> None:
    with connect(server, caller, f"command=count&{ALL}") as connection:
        client = ExecWire(connection, "error", "stdin", "stdout", "stderr")
        client.send(client.streams["stdin"], b"x" * 9)
        client.send(client.streams["stdin"], b"x", fin=True)
        client.read_to_end(*client.streams.values())
    assert (client.text("stdout"), client.text("stderr")) == ("10\n", "counting\n")
    status = json.loads(client.text("error"))
    assert status["reason"] == "NonZeroExitCode"
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "10"}]


def test_a_regular_end_is_a_success(server: Server, caller: Caller) -> None:
    with connect(server, caller, "command=count&stdout=1") as connection:
        client = ExecWire(connection, "error", "stdout")
        client.read_to_end(*client.streams.values())
    assert client.text("stdout") == "0\n"
    assert json.loads(client.text("error")) == {"metadata": {}, "status": "Success"}


@pytest.mark.parametrize("version", ["v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"])
def test_older_versions_have_a_line_of_text_for_a_status(server: Server, caller: Caller, version: str) -> None:
    with connect(server, caller, "command=count&stdin=1&stdout=1", version) as connection:
        assert f"X-Stream-Protocol-Version: {version}" in lines_of(connection.head)
        client = ExecWire(connection, "error", "stdin", "stdout")
        client.send(client.streams["stdin"], b"abc", fin=True)
        client.read_to_end(*client.streams.values())
    assert client.text("error").endswith("command terminated with exit code 3")


def test_the_best_version_that_the_client_offers_is_spoken(server: Server, caller: Caller) -> None:
    offered = f"v9.channel.k8s.io, {V4}, v3.channel.k8s.io"
    with connect(server, caller, "command=count&stdout=1", offered) as connection:
        assert f"X-Stream-Protocol-Version: {V4}" in lines_of(connection.head)


def test_the_terminal_has_sizes_and_one_output(server: Server, caller: Caller) -> None:
    with connect(server, caller, "command=sizes&stdin=1&stdout=1&tty=1") as connection:
        client = ExecWire(connection, "error", "stdin", "stdout", "resize")
        resize = client.streams["resize"]
        client.send(resize, b'{"Width":80,"Hei')
        client.send(resize, b'ght":24}\n')
        client.read_until(client.streams["stdout"], len("80x24\n"))
        client.send(resize, b'{"Width":0,"Height":0}')
        client.read_to_end(*client.streams.values())
    assert client.text("stdout") == "80x24\n0x0\n"


def test_streams_that_were_not_asked_for_are_reset(server: Server, caller: Caller) -> None:
    with connect(server, caller, "command=count&stdout=1") as connection:
        client = ExecWire(connection, "stderr", "other", "error", "stdout", "stdout")
        client.read_to_end(client.streams["error"])
        assert {client.streams["stderr"], client.streams["other"]} <= client.reset


def test_a_client_that_opens_no_streams_is_not_waited_for_for_ever(server: Server, caller: Caller) -> None:
    with connect(server, caller, "command=count&stdout=1") as connection:
        client = ExecWire(connection, "error")
        client.step()  # the stream is accepted
        server.advance(31)
        client.read_to_end(-1)
        assert client.is_over


def test_a_version_that_nobody_knows_is_forbidden(caller: Caller) -> None:
    refused = caller.call("POST", f"{POD}/exec?command=count&stdout=1", headers=spdy_headers("v9"))
    assert refused.code == 403
    assert b"server accepts [v4.channel.k8s.io v3.channel.k8s.io" in refused.body


def test_a_container_that_does_not_run_is_refused_before_the_upgrade(server: Server, caller: Caller) -> None:
    server.kubelet.succeed("web")
    refused = caller.call("POST", f"{POD}/exec?command=count&stdout=1", headers=spdy_headers(V4))
    assert (refused.code, refused.body) == (500, b'container not found ("main")\n')
