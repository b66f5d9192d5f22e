"""port_forward, connect and open_socket, blocking and async, against the scripted kubelet of the embedded server."""

from __future__ import annotations

import asyncio
import errno
import logging
import queue
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected

import masthead.server
from masthead.api.core.v1 import Pod
from masthead.config import from_kubeconfig
from masthead.errors import ArgumentError, ClosedError, NotFoundError, PortForwardError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from masthead.server import Server

ECHO, ASK, GREET, FLOOD, STALL, NOBODY = 7, 8, 9, 10, 11, 12


def pod(name: str, **labels: str) -> Pod:
    port = {"containerPort": ECHO, "name": "echo"}
    return Pod.new(name, labels=labels, spec={"containers": [{"name": "app", "image": "app", "ports": [port]}]})


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run() as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        pods = client.core_v1.pods("default")
        pods.create(pod("web", app="web"))
        pods.create(pod("pending", app="pending"))
        running.kubelet.start("web")
        for port, handler in ((ECHO, echo), (ASK, ask), (GREET, greet), (FLOOD, flood), (STALL, stall)):
            running.kubelet.listen("*", port, handler)
        services = client.core_v1.services("default")
        ports = [
            {"name": "named", "port": 80, "targetPort": "echo"},
            {"name": "greet", "port": 90, "targetPort": GREET},
        ]
        services.create({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": ports}})
        services.create({"metadata": {"name": "bare"}, "spec": {"ports": [{"port": 80}]}})
        services.create(
            {"metadata": {"name": "idle"}, "spec": {"selector": {"app": "pending"}, "ports": [{"port": 80}]}}
        )
        yield running


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)
        await writer.drain()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer when all has been said."""
    writer.write(b"%d bytes" % len(await reader.read()))


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say all at once, and then listen."""
    writer.write(b"hello")
    writer.write_eof()
    heard.put(await reader.read())


async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for _ in range(1024):
        writer.write(bytes(2**15))
        await writer.drain()


async def stall(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()


@pytest.fixture
async def client(server: Server, facade: str) -> AsyncIterator[Any]:
    async with connected(from_kubeconfig(server.kubeconfig()), facade) as made:
        yield made


@pytest.fixture
def pods(client: Any) -> Any:
    return client.core_v1.pods("default")


async def talk(port: int, said: bytes, host: str = "127.0.0.1") -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    return await _said(reader, writer, said)


async def _said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, said: bytes) -> bytes:
    try:
        writer.write(said)
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


def is_refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


async def test_a_port_is_forwarded_from_any_free_one(pods: Any) -> None:
    forward = pods.port_forward("web", ECHO)
    async with forward as port:
        assert await talk(port, b"hello") == b"hello"
        assert await talk(port, b"again") == b"again"
        assert forward.ports == (masthead.streams.ForwardedPort(port, ECHO),)
        assert "127.0.0.1" in forward.addresses
        assert forward.pod == "default/web"
    assert is_refused(port)


async def test_several_ports_are_a_tuple_in_their_order(pods: Any) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    async with pods.port_forward("web", ECHO, f"{free}:{ASK}", ":echo") as (first, second, third):
        assert second == free
        assert await talk(first, b"one") == b"one"
        assert await talk(second, b"two") == b"3 bytes"
        assert await talk(third, b"three") == b"three"


async def test_all_addresses_that_are_named_are_listened_on(pods: Any) -> None:
    forward = pods.port_forward("web", ECHO, address=["127.0.0.1", "127.0.0.2"])
    async with forward as port:
        assert forward.addresses == ("127.0.0.1", "127.0.0.2")
        assert await talk(port, b"x", "127.0.0.2") == b"x"


async def test_a_unix_socket_is_for_its_owner_alone_and_goes_with_the_forward(pods: Any, tmp_path: Path) -> None:
    path = tmp_path / "web.sock"
    for _ in range(2):
        async with pods.port_forward("web", ECHO, unix_path=path) as given:
            assert given == str(path)
            assert path.stat().st_mode & 0o777 == 0o600
            assert await _said(*await asyncio.open_unix_connection(path), b"hello") == b"hello"
            with pytest.raises(
                PortForwardError,
                match=r"cannot listen on .*web.sock: Address already in use; choose another path",
            ):
                await pods.port_forward("web", ECHO, unix_path=path).open()
        assert not path.exists()
        # One that was left behind is in nobody's way.
        with socket.socket(socket.AF_UNIX) as abandoned:
            abandoned.bind(str(path))


async def test_each_direction_ends_by_itself(pods: Any) -> None:
    async with pods.port_forward("web", ASK, GREET) as (asking, greeting):
        assert await talk(asking, b"x" * 100_000) == b"100000 bytes"
        reader, writer = await asyncio.open_connection("127.0.0.1", greeting)
        assert await reader.read() == b"hello"
        writer.write(b"and you")
        writer.close()
        await writer.wait_closed()
        # Connections of other tests may have ended without a word.
        while await asyncio.to_thread(heard.get, timeout=30) != b"and you":
            pass


async def test_many_connections_at_once_and_much_through_each(pods: Any) -> None:
    async with pods.port_forward("web", ECHO) as port:
        said = [bytes([number]) * 100_000 for number in range(40)]
        assert await asyncio.gather(*[talk(port, each) for each in said]) == said


@pytest.mark.slow
async def test_a_connection_that_is_not_read_holds_up_no_other(pods: Any) -> None:
    async with pods.port_forward("web", FLOOD, ECHO) as (flooding, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", flooding, limit=2**10)
        _, stalled = await asyncio.open_connection("127.0.0.1", flooding, limit=2**10)
        for number in range(5):
            assert await talk(port, b"%d" % number) == b"%d" % number
        assert len(await reader.read()) == 2**25
        writer.close()
        stalled.close()


async def test_the_failure_of_a_connection_is_logged_and_closes_it_alone(
    pods: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "masthead.portforward")
    async with pods.port_forward("web", NOBODY, ECHO) as (refused, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"before")
        assert await reader.readexactly(6) == b"before"
        with pytest.raises((ConnectionError, AssertionError)):
            assert await talk(refused, b"x") is None
        writer.write(b"after")
        assert await reader.readexactly(5) == b"after"
        writer.close()
    [record] = caplog.records
    assert f"port-forward to pod default/web, port {NOBODY}: error forwarding port {NOBODY}" in record.getMessage()
    assert "connection refused" in record.getMessage()


async def test_more_connections_than_allowed_wait_until_one_is_closed(pods: Any) -> None:
    async with pods.port_forward("web", ECHO, max_connections=1) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"first")
        assert await reader.readexactly(5) == b"first"
        second = asyncio.get_running_loop().create_task(talk(port, b"second"))
        third = asyncio.get_running_loop().create_task(talk(port, b"third"))
        writer.write(b"still")
        assert await reader.readexactly(5) == b"still"
        assert not second.done()
        writer.close()
        assert (await second, await third) == (b"second", b"third")


async def test_a_connection_without_a_listener(pods: Any) -> None:
    async with pods.connect("web", ECHO) as connection:
        await connection.write(b"hello")
        assert await connection.read(5) == b"hello"
        assert connection.pod == "default/web"
        await connection.write_eof()
        assert await connection.read() == b""
    async with pods.connect("web", "echo") as connection:
        await connection.write(b"left in the middle")
    async with pods.connect("web", FLOOD) as connection:
        assert len(await connection.read()) == 2**25


async def test_a_connection_that_fails_raises_its_reason(pods: Any) -> None:
    async with pods.connect("web", NOBODY) as connection:
        with pytest.raises(PortForwardError, match=f"port {NOBODY}: .*connection refused") as raised:
            await connection.read()
        assert (raised.value.pod, raised.value.port) == ("default/web", NOBODY)
        with pytest.raises(PortForwardError, match="connection refused"):
            await connection.write(b"x")


async def test_a_connection_is_used_in_a_with_block_and_once(pods: Any) -> None:
    connection = pods.connect("web", ECHO)
    with pytest.raises(ClosedError, match="not open"):
        await connection.read()
    await connection.close()
    async with connection:
        with pytest.raises(ClosedError, match="can be opened once"):
            await connection.open()
    forward = pods.port_forward("web", ECHO)
    with pytest.raises(ClosedError, match="not open"):
        await forward.wait()
    await forward.close()
    async with forward:
        with pytest.raises(ClosedError, match="can be opened once"):
            await forward.open()


async def test_a_socket_for_any_library(pods: Any) -> None:
    leads_there = await pods.open_socket("web", ASK)

    def use() -> bytes:
        with leads_there:
            leads_there.settimeout(10)
            leads_there.sendall(b"x" * 1_000_000)
            leads_there.shutdown(socket.SHUT_WR)
            return bytes(leads_there.recv(100))

    assert await asyncio.to_thread(use) == b"1000000 bytes"


async def test_a_socket_that_is_closed_ends_its_connection(pods: Any, server: Server) -> None:
    listener = server.kubelet.listen("web", 4242, echo)
    (await pods.open_socket("web", 4242)).close()
    refused = await pods.open_socket("web", NOBODY)
    with refused:
        refused.settimeout(10)
        with pytest.raises((ConnectionError, AssertionError)):
            assert await asyncio.to_thread(refused.recv, 1) is None
    listener.close()


async def test_a_service_leads_to_the_port_behind_it(client: Any) -> None:
    services = client.core_v1.services("default")
    forward = services.port_forward("web", 80, ":named", ":greet")
    async with forward as (number, name, _):
        assert [port.remote for port in forward.ports] == [ECHO, ECHO, GREET]
        assert forward.pod == "default/web"
        assert await talk(number, b"x") == await talk(name, b"x") == b"x"
    async with client.dynamic("v1", "services", namespace="default").connect("web", 90) as connection:
        assert await connection.read() == b"hello"


async def test_a_workload_leads_to_one_of_its_pods(client: Any, server: Server) -> None:
    template = {
        "metadata": {"labels": {"app": "shop"}},
        "spec": {"containers": [{"name": "app", "image": "app"}]},
    }
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["shop"]}]}
    sets = client.apps_v1.replica_sets("default")
    await sets.create(
        {"metadata": {"name": "shop"}, "spec": {"replicas": 0, "selector": selector, "template": template}}
    )
    with pytest.raises(PortForwardError, match=r"replicasets.apps default/shop: it has no pods; wait until one runs"):
        await sets.port_forward("shop", ECHO).open()
    await client.core_v1.pods("default").create(pod("shop-1", app="shop"))
    server.kubelet.start("shop-1")
    forward = sets.port_forward("shop", ECHO)
    async with forward as port:
        assert forward.pod == "default/shop-1"
        assert await talk(port, b"x") == b"x"
    await sets.delete("shop")
    await client.core_v1.pods("default").delete("shop-1", grace_period_seconds=0)


async def test_what_makes_all_connections_fail_is_raised_at_once(client: Any, pods: Any) -> None:
    services = client.core_v1.services("default")
    with pytest.raises(NotFoundError, match="missing"):
        await pods.port_forward("missing", 80).open()
    with pytest.raises(NotFoundError, match="missing"):
        await pods.connect("missing", 80).open()
    with pytest.raises(NotFoundError, match="missing"):
        await pods.open_socket("missing", 80)
    with pytest.raises(PortForwardError, match="pods default/pending: the pod is not running but Pending"):
        await pods.port_forward("pending", 80).open()
    with pytest.raises(PortForwardError, match=r"no port named 'http' \(named ports: echo\)"):
        await pods.port_forward("web", ":http").open()
    with pytest.raises(
        PortForwardError, match=r"services default/web: the service has no port 7 \(ports: 80 \(named\)"
    ):
        await services.port_forward("web", ECHO).open()
    with pytest.raises(PortForwardError, match="services default/bare: it has no selector"):
        await services.port_forward("bare", 80).open()
    with pytest.raises(PortForwardError, match=r"services default/idle: its pod does not run \(Pending\)"):
        await services.port_forward("idle", 80).open()


async def test_a_local_port_in_use_is_named(pods: Any) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        used = other.getsockname()[1]
        for options in ({"local_port": used}, {"local_port": used, "address": "127.0.0.1"}):
            with pytest.raises(
                PortForwardError, match=f"cannot listen on 127.0.0.1 port {used}: Address already in use"
            ):
                await pods.port_forward("web", ECHO, **options).open()
        with pytest.raises(PortForwardError, match="choose another local port, or 0 for any free one"):
            await pods.port_forward("web", ":7", f"{used}:7").open()


def test_bad_arguments_are_refused_before_anything_is_sent(pods: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: pods.port_forward("web", 0),
        lambda: pods.port_forward("web", "1:2:3"),
        lambda: pods.port_forward("web", 80, local_port=70_000),
        lambda: pods.port_forward("web", 80, 90, local_port=80),
        lambda: pods.port_forward("web", 80, 90, unix_path="/tmp/x"),
        lambda: pods.port_forward("web", 80, address="example.com"),
        lambda: pods.port_forward("web", 80, max_connections=0),
        lambda: pods.connect("web", "80:90"),
        lambda: pods.connect("web", True),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"port|address|max_connections"):
            call()


async def test_only_what_leads_to_pods_can_be_forwarded(client: Any) -> None:
    config_maps = client.dynamic("v1", "configmaps", namespace="default")
    with pytest.raises(ArgumentError, match="only pods, services and workloads lead to pods"):
        await config_maps.port_forward("web", 80).open()
    with pytest.raises(ArgumentError, match="name the namespace"):
        await client.core_v1.pods().port_forward("web", 80).open()


async def test_a_forward_ends_with_its_pod_and_says_so(pods: Any, server: Server) -> None:
    await pods.create(pod("brief"))
    server.kubelet.start("brief")
    forward = pods.port_forward("brief", ECHO)
    async with forward as port:
        assert await talk(port, b"x") == b"x"
        await pods.delete("brief", grace_period_seconds=0)
        with pytest.raises(
            PortForwardError, match="pod default/brief is gone or has stopped running; open it again"
        ) as raised:
            await forward.wait()
        assert raised.value.pod == "default/brief"
        assert is_refused(port)


async def test_a_forward_follows_a_pod_that_is_created_again(pods: Any, server: Server) -> None:
    await pods.create(pod("again"))
    server.kubelet.start("again")
    async with pods.port_forward("again", ECHO, reconnect=True) as port:
        assert await talk(port, b"x") == b"x"
        async with Announced():
            await pods.delete("again", grace_period_seconds=0)
            await pods.create(pod("again"))
            server.kubelet.start("again")
        assert await talk(port, b"y") == b"y"
    await pods.delete("again", grace_period_seconds=0)


async def test_a_forward_of_a_service_follows_to_another_pod(client: Any, pods: Any, server: Server) -> None:
    await pods.create(pod("moving-1", app="moving"))
    await pods.create(pod("moving-2", app="moving"))
    server.kubelet.start("moving-1")
    services = client.core_v1.services("default")
    await services.create(
        {"metadata": {"name": "moving"}, "spec": {"selector": {"app": "moving"}, "ports": [{"port": ECHO}]}}
    )
    forward = services.port_forward("moving", ECHO, reconnect=True)
    async with forward as port:
        assert forward.pod == "default/moving-1"
        async with Announced():
            server.kubelet.start("moving-2")
            await pods.delete("moving-1", grace_period_seconds=0)
        assert await talk(port, b"y") == b"y"
        assert forward.pod == "default/moving-2"
    await services.delete("moving")
    await pods.delete("moving-2", grace_period_seconds=0)


class Announced(logging.Handler):
    """Notices that connections go to another pod; waits for it on leaving."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.happened = threading.Event()
        self.logger = logging.getLogger("masthead.portforward")

    def emit(self, record: logging.LogRecord) -> None:
        if "connections go to pod" in record.getMessage():
            self.happened.set()

    async def __aenter__(self) -> None:
        self.logger.addHandler(self)
        self.logger.setLevel(logging.INFO)

    async def __aexit__(self, *exc: object) -> None:
        try:
            assert await asyncio.to_thread(self.happened.wait, 20)
        finally:
            self.logger.setLevel(logging.NOTSET)
            self.logger.removeHandler(self)


async def test_waiting_ends_with_a_close(pods: Any) -> None:
    forward = pods.port_forward("web", ECHO)
    async with forward, asyncio.TaskGroup() as group:
        waiting = group.create_task(forward.wait())
        await asyncio.sleep(0)
        await forward.close()
        await waiting
    await forward.close()
