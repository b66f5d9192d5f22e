"""Logs of the embedded server, through both façades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.log_cluster import pod

import masthead
import masthead.server
from masthead.config import from_kubeconfig
from masthead.errors import BadRequestError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from masthead.server import Server

LINES = [f"line {number}" for number in range(1000)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(bootstrap=False) as made:
        with masthead.Client(from_kubeconfig(made.kubeconfig())) as client:
            for name in ("web-1", "web-2"):
                client.core_v1.pods("default").create(pod(name, restart_policy="Never"))
                made.kubelet.start(name)
                made.kubelet.log(name).write("".join(f"{line}\n" for line in LINES))
            made.kubelet.succeed("web-1")
        yield made


@pytest.fixture
async def pods(server: Server, facade: str) -> AsyncIterator[Any]:
    server.faults.clear()
    async with connected(from_kubeconfig(server.kubeconfig()), facade) as client:
        yield client.core_v1.pods("default")


@pytest.mark.slow
async def test_a_log_is_followed_over_a_lost_connection(pods: Any, server: Server) -> None:
    dropped = server.faults.drop_stream(after=12_345, subresource="log")

    assert [line async for line in pods.logs("web-1", follow=True)] == LINES
    assert dropped.hits == 1


async def test_part_of_a_log_is_read(pods: Any) -> None:
    assert await pods.logs("web-1", tail_lines=2).read() == "line 998\nline 999\n"
    assert await pods.logs("web-1", limit_bytes=10).read() == "line 0\nlin"
    assert [line async for line in pods.logs("web-1", follow=True, limit_bytes=10)] == ["line 0", "lin"]
    assert [line async for line in pods.logs("web-1", follow=True, tail_lines=1)] == ["line 999"]
    with pytest.raises(BadRequestError, match="previous terminated container"):
        await pods.logs("web-1", previous=True).read()
    with pytest.raises(NotFoundError):
        await pods.logs("absent", follow=True).read()


async def test_logs_are_merged(pods: Any) -> None:
    lines = [line async for line in pods.merged_logs(label_selector={"app": "web"})]

    for name in ("web-1", "web-2"):
        assert [line.text for line in lines if line.pod == name][: len(LINES)] == LINES


async def test_merged_logs_are_followed_until_they_are_closed(pods: Any, server: Server) -> None:
    async with pods.merged_logs(follow=True, tail_lines=1, field_selector="metadata.name=web-2") as lines:
        assert str(await anext(lines)) == "[pod/web-2/app] line 999"
        for number in range(3):
            server.kubelet.log("web-2").write(f"more {number}\n")
            assert (await anext(lines)).text == f"more {number}"
        # So that every façade finds the same log.
        server.kubelet.log("web-2").write("line 999\n")
        assert (await anext(lines)).text == "line 999"
