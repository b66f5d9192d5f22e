"""Followed logs, with every connection cut, silenced, refused or closed, in virtual time."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from tests.integration.log_cluster import LogCluster, log_cluster, pod, rest, take

import masthead.aio
from masthead.config import Config
from masthead.errors import BadRequestError, ClosedError, ForbiddenError, InternalServerError, NotFoundError
from masthead.testing.virtual_time import in_virtual_time, now

LINES = [f"line {number} {'x' * (number % 7)}" for number in range(20)]


async def followed_while_written(cluster: LogCluster, **options: object) -> list[str]:
    """Follow a log that grows every few seconds, and ends."""
    await cluster.start("web", restart_policy="Never")
    stream = cluster.pods.logs("web", follow=True, **options)

    async def write() -> None:
        for line in LINES:
            cluster.write("web", line)
            await asyncio.sleep(0.7)
        cluster.server.kubelet.succeed("web")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write())
        found = tasks.create_task(rest(stream))
    return found.result()


@pytest.mark.parametrize("after", [0, 1, 40, 41, 100, 333])
@in_virtual_time
async def test_a_log_goes_on_over_lost_connections(after: int) -> None:
    async with log_cluster() as cluster:
        dropped = cluster.server.faults.drop_stream(after=after, times=8, subresource="log")

        assert await followed_while_written(cluster) == LINES
        assert dropped.hits


@in_virtual_time
async def test_a_silent_connection_is_given_up_and_the_log_goes_on() -> None:
    async with log_cluster() as cluster:
        cluster.server.faults.silence_stream(after=100, times=2, subresource="log")

        assert await followed_while_written(cluster) == LINES
        assert now() > 600


@in_virtual_time
async def test_a_quiet_log_is_requested_again_from_where_it_was() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web")
        cluster.write("web", "one")
        stream = cluster.pods.logs("web", follow=True, read_timeout=60)
        assert await take(stream, 1) == ["one"]
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(take(stream, 1))
            await asyncio.sleep(3000)
            cluster.write("web", "two")

        assert waiting.result() == ["two"]
        await stream.close()
        requests = [request for request in cluster.server.requests if request.path.endswith("/log")]
        assert len(requests) > 40


@in_virtual_time
async def test_a_node_that_fails_for_a_while_costs_no_line() -> None:
    async with log_cluster() as cluster:
        faults = cluster.server.faults
        faults.drop_stream(after=90, subresource="log")
        await cluster.start("web", restart_policy="Never")
        cluster.write("web", "one", "two", "three")
        stream = cluster.pods.logs("web", follow=True)
        assert await take(stream, 2) == ["one", "two"]
        for code in (500, 502, 503, 429):
            faults.fail(code, subresource="log")
        cluster.write("web", "four")
        cluster.server.kubelet.succeed("web")

        assert await rest(stream) == ["three", "four"]


@in_virtual_time
async def test_a_log_that_cannot_be_opened_at_all_is_an_error() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web")
        cluster.server.faults.fail(500, subresource="log")
        with pytest.raises(InternalServerError):
            await take(cluster.pods.logs("web", follow=True), 1)
        with pytest.raises(NotFoundError, match=r"get pods/log default/absent"):
            await take(cluster.pods.logs("absent", follow=True), 1)
        with pytest.raises(BadRequestError, match="container none is not valid for pod web"):
            await take(cluster.pods.logs("web", container="none", follow=True), 1)


@in_virtual_time
async def test_a_pod_that_is_gone_when_its_log_is_requested_again_is_an_error() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web")
        cluster.server.faults.drop_stream(after=40, subresource="log")
        cluster.write("web", "one", "two")
        stream = cluster.pods.logs("web", follow=True)
        assert await take(stream, 1) == ["one"]
        await cluster.pods.delete("web", grace_period_seconds=0)

        with pytest.raises(NotFoundError, match=r"get pods/log default/web"):
            await take(stream, 1)


@in_virtual_time
async def test_a_stream_that_ends_while_the_container_runs_is_not_the_end() -> None:
    # An API server that loses the node ends the stream as if the container had ended, perhaps in the middle of a line.
    stamp = "2023-11-14T22:13:20.000000001Z"
    running = json.dumps(
        {
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "app"}]},
            "status": {"containerStatuses": [{"name": "app", "state": {"running": {}}}]},
        }
    )
    bodies = [f"{stamp} one\n{stamp} tw", running, f"{stamp} one\n{stamp} two\n{stamp} three", ""]
    targets: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        targets.append((await reader.readuntil(b"\r\n\r\n")).decode().split(" ")[1])
        body = bodies[len(targets) - 1]
        kind = "application/json" if body == running else "text/plain"
        status = "200 OK" if body else "404 Not Found"
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n{body}".encode())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with masthead.aio.Client(Config(server=url), attempts=1) as client:
            found = await rest(client.core_v1.pods("default").logs("web", follow=True))

    assert found == ["one", "two", "three"]
    path = "/api/v1/namespaces/default/pods/web"
    assert targets == [
        f"{path}/log?follow=true&timestamps=true",
        path,
        f"{path}/log?follow=true&timestamps=true&sinceTime=2023-11-14T22%3A13%3A19Z",
        path,
    ]


@in_virtual_time
async def test_a_container_that_has_not_started_is_waited_for() -> None:
    async with log_cluster() as cluster:
        await cluster.pods.create(pod("web", restart_policy="Never"))
        async with asyncio.TaskGroup() as tasks:
            found = tasks.create_task(rest(cluster.pods.logs("web", follow=True)))
            await asyncio.sleep(100)
            cluster.server.kubelet.start("web")
            cluster.write("web", "one")
            cluster.server.kubelet.succeed("web")

        assert found.result() == ["one"]


@in_virtual_time
async def test_a_followed_log_ends_with_its_container() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web")
        cluster.write("web", "one")
        stream = cluster.pods.logs("web", follow=True)
        assert await take(stream, 1) == ["one"]
        await asyncio.sleep(5)
        cluster.server.kubelet.restart("web")
        cluster.write("web", "two")

        assert await rest(stream) == []


@in_virtual_time
async def test_with_restarts_a_log_goes_on_with_the_next_instance() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web")
        cluster.write("web", "one")
        stream = cluster.pods.logs("web", follow=True, restarts=True)
        assert await take(stream, 1) == ["one"]
        for number in range(3):
            await asyncio.sleep(5)
            cluster.server.kubelet.restart("web")
            cluster.write("web", f"instance {number}")
            assert await take(stream, 1) == [f"instance {number}"]
        cluster.server.kubelet.succeed("web")

        assert await rest(stream) == []


@in_virtual_time
async def test_without_permission_to_read_pods_a_log_ends_with_its_stream() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web")
        cluster.write("web", "one")
        cluster.server.faults.fail(403, verb="get", resource="pods", subresource="", times=None)
        stream = cluster.pods.logs("web", follow=True)
        assert await take(stream, 1) == ["one"]
        cluster.server.kubelet.restart("web")

        assert await rest(stream) == []


@in_virtual_time
async def test_timestamps_are_shown_only_on_request() -> None:
    async with log_cluster() as cluster:
        lines = await followed_while_written(cluster, timestamps=True)

        assert [line.split(" ", 1)[1] for line in lines] == LINES
        assert all(datetime.fromisoformat(line.split()[0]).tzinfo is UTC for line in lines)


@pytest.mark.parametrize("limit", [1, 7, 8, 30, 1000])
@in_virtual_time
async def test_a_limit_of_bytes_counts_over_all_connections(limit: int) -> None:
    async with log_cluster() as cluster:
        cluster.server.faults.drop_stream(after=100, times=3, subresource="log")
        await cluster.start("web", restart_policy="Never")
        cluster.write("web", *LINES)
        cluster.server.kubelet.succeed("web")
        text = "".join(f"{line}\n" for line in LINES)

        found = await cluster.pods.logs("web", follow=True, limit_bytes=limit).read()
        assert found.removesuffix("\n") == text[:limit].removesuffix("\n")


@in_virtual_time
async def test_only_new_lines_are_wanted_also_after_a_loss() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web")
        cluster.write("web", "old", "older")
        await asyncio.sleep(60)
        cluster.server.faults.silence_stream(subresource="log")
        stream = cluster.pods.logs("web", follow=True, tail_lines=0, read_timeout=30)
        async with asyncio.TaskGroup() as tasks:
            found = tasks.create_task(take(stream, 1))
            await asyncio.sleep(10)
            cluster.write("web", "new")  # on a connection that is dead already

        assert found.result() == ["new"]
        await stream.close()


@in_virtual_time
async def test_a_reader_with_a_timeout_of_its_own_may_come_back() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web")
        cluster.write("web", "one")
        stream = cluster.pods.logs("web", follow=True)
        assert await take(stream, 1) == ["one"]
        for number in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(10):
                    await anext(stream)
            cluster.write("web", number)
            assert await take(stream, 1) == [str(number)]
        await stream.close()


@in_virtual_time
async def test_closing_ends_a_wait_for_the_next_connection() -> None:
    async with log_cluster() as cluster:
        await cluster.pods.create(pod("web"))  # never starts
        stream = cluster.pods.logs("web", follow=True)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(rest(stream))
            await asyncio.sleep(1)
            await stream.close()

        assert waiting.result() == []
        with pytest.raises(ClosedError):
            await stream.read()


@in_virtual_time
async def test_of_several_containers_the_default_one_is_read() -> None:
    async with log_cluster() as cluster:
        annotations = {"kubectl.kubernetes.io/default-container": "main"}
        await cluster.start("web", "side", "main", annotations=annotations)
        await cluster.start("plain", "first", "second")
        for name, container in (("web", "side"), ("web", "main"), ("plain", "first"), ("plain", "second")):
            cluster.write(name, f"from {container}", container=container)

        assert await cluster.pods.logs("web").read() == "from main\n"
        assert await cluster.pods.logs("plain").read() == "from first\n"
        assert await take(cluster.pods.logs("web", follow=True), 1) == ["from main"]
        cluster.server.faults.fail(403, verb="get", resource="pods", subresource="")
        with pytest.raises(ForbiddenError):
            await cluster.pods.logs("web").read()


@in_virtual_time
async def test_untyped_pods_have_logs_too() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web", restart_policy="Never")
        cluster.write("web", "one")
        cluster.server.kubelet.succeed("web")
        pods = cluster.client.dynamic("pods", namespace="default")

        assert await pods.logs("web").read() == "one\n"
        assert await rest(pods.logs("web", follow=True)) == ["one"]
        assert [line.text for line in await rest(pods.merged_logs())] == ["one"]
