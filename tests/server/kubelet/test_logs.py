"""Logs: what containers print, whole, in part and followed, and requests that are refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubelet.remote import PODS, pod

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    import aiohttp
    from tests.server.kubelet.remote import Remote

INVALID = 'PodLogOptions "web" is invalid'
STAMP = "2026-01-01T00:00:{:02d}.000000000Z"


async def test_a_log_has_what_was_written_before_and_after_the_pod_existed(remote: Remote) -> None:
    log = remote.server.kubelet.log("web")
    log.print("early", "bird", sep="-")
    await remote.create(pod())
    log.write(b"half a ")
    log.write("line\n", stderr=True)

    assert await remote.log() == (200, "early-bird\nhalf a line\n")
    async with remote.http.get(f"{PODS}/web/log") as response:
        assert response.content_type == "text/plain"


async def test_each_line_has_the_time_of_the_servers_clock(remote: Remote) -> None:
    await remote.create(pod())
    log = remote.server.kubelet.log("web", container="app")
    log.write("one\ntwo, ")
    remote.server.advance(5)
    log.write("at last\nthree\n")

    _, body = await remote.log(timestamps="true")

    assert body.splitlines() == [
        f"{STAMP.format(0)} one",
        f"{STAMP.format(0)} two, at last",
        f"{STAMP.format(5)} three",
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"tailLines": 2}, "3\n4\n"),
        ({"tailLines": 0}, ""),
        ({"tailLines": 99}, "0\n1\n2\n3\n4\n"),
        ({"limitBytes": 3}, "0\n1"),
        ({"sinceSeconds": 25}, "3\n4\n"),
        ({"sinceTime": "2026-01-01T00:00:20Z"}, "2\n3\n4\n"),
        ({"sinceTime": "2026-01-01T01:00:20.9+01:00"}, "2\n3\n4\n"),
        ({"stream": "Stderr"}, "1\n3\n"),
        ({"stream": "Stdout", "limitBytes": 2}, "0\n"),
    ],
)
async def test_a_part_of_a_log(remote: Remote, query: dict[str, Any], expected: str) -> None:
    await remote.create(pod())
    for number in range(5):
        remote.server.kubelet.log("web").print(number, stderr=bool(number % 2))
        remote.server.advance(10)

    assert await remote.log(**query) == (200, expected)


async def _line(response: aiohttp.ClientResponse) -> bytes:
    return await response.content.readline()


async def test_following_goes_on_until_the_container_ends(remote: Remote) -> None:
    await remote.create(pod())
    log = remote.server.kubelet.log("web")
    log.print("before")

    async with remote.http.get(f"{PODS}/web/log?follow=true&tailLines=1") as response:
        assert await _line(response) == b"before\n"
        log.write("part")
        assert await response.content.readexactly(4) == b"part"
        log.print(" of it")
        assert await _line(response) == b" of it\n"
        remote.server.kubelet.succeed("web")
        assert await response.content.read() == b""
    log.print("never")
    assert (await remote.log())[1] == "before\npart of it\n"


async def test_a_restart_ends_followers_and_keeps_the_old_log_as_the_previous_one(remote: Remote) -> None:
    await remote.create(pod())
    log = remote.server.kubelet.log("web")
    log.print("first run")
    assert await remote.failure("web/log?previous=true") == (
        400,
        'previous terminated container "app" in pod "web" not found',
    )

    async with remote.http.get(f"{PODS}/web/log?follow=1") as response:
        await _line(response)
        remote.server.kubelet.restart("web")
        assert await response.content.read() == b""
    log.print("second run")

    assert await remote.log() == (200, "second run\n")
    assert await remote.log(previous="true") == (200, "first run\n")


async def test_following_ends_when_the_pod_is_deleted(remote: Remote) -> None:
    await remote.create(pod())

    async with remote.http.get(f"{PODS}/web/log?follow=1") as response:
        async with remote.http.delete(f"{PODS}/web?gracePeriodSeconds=0") as deleted:
            assert deleted.status == 200
        assert await response.content.read() == b""


async def test_a_new_pod_of_the_same_name_has_a_new_log(remote: Remote) -> None:
    await remote.create(pod())
    remote.server.kubelet.log("web").print("old")
    async with remote.http.delete(f"{PODS}/web?gracePeriodSeconds=0"):
        pass
    await remote.create(pod())

    assert await remote.log() == (200, "")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("absent/log", (404, 'pods "absent" not found')),
        ("web/log?container=no", (400, "container no is not valid for pod web")),
        ("two/log", (400, "a container name must be specified for pod two, choose one of: [a b]")),
        ("waiting/log", (400, 'container "app" in pod "waiting" is waiting to start: ContainerCreating')),
        ("bound/log", (400, 'container "app" in pod "bound" is not available')),
        (
            "web/log?tailLines=-1",
            (
                422,
                f"{INVALID}: tailLines: Invalid value: -1: must be greater than or equal to 0",
            ),
        ),
        (
            "web/log?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
            (
                422,
                f"{INVALID}: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
            ),
        ),
        ("web/log?tailLines=x", (400, 'strconv.ParseInt: parsing "x": invalid syntax')),
        (
            "web/log?sinceTime=now",
            (400, 'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"'),
        ),
    ],
)
async def test_requests_are_refused_in_the_words_of_api_server_and_kubelet(
    remote: Remote, path: str, problem: tuple[int, str]
) -> None:
    await remote.create(pod())
    await remote.create(pod("two", "a", "b"))
    await remote.create(pod("bound", nodeName="elsewhere"), start=False)
    await remote.create(pod("waiting", nodeName="elsewhere"), start=False)
    waiting = {"name": "app", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    status = {"containerStatuses": [{**waiting, "state": {"waiting": {"reason": "ContainerCreating"}}}]}
    async with remote.http.patch(
        f"{PODS}/waiting/status",
        json={"status": status},
        headers={"Content-Type": "application/merge-patch+json"},
    ) as response:
        assert response.status == 200, await response.text()

    assert await remote.failure(path) == problem


async def test_a_pod_without_a_node_has_no_content(remote: Remote) -> None:
    await remote.create(pod(), start=False)

    assert await remote.log() == (204, "")


async def test_a_log_is_bounded_and_keeps_the_newest_lines(remote: Remote) -> None:
    remote.server.kubelet.log_limit = 400_000
    await remote.create(pod())
    log = remote.server.kubelet.log("web")
    for number in range(20):
        log.write(f"{number} {'x' * 90}\n" * 500)

    lines = (await remote.log())[1].splitlines()

    assert lines[-1].startswith("19 ")
    assert 1000 < len(lines) < 4000
    assert (await remote.log(tailLines=1500))[1].splitlines() == lines[-1500:]


@pytest.mark.slow
async def test_a_million_lines_go_through_in_pieces(remote: Remote) -> None:
    await remote.create(pod())
    log = remote.server.kubelet.log("web")
    for _ in range(10):
        log.write(b"a line of some length\n" * 100_000)

    size = 0
    async with remote.http.get(f"{PODS}/web/log") as response:
        async for piece in response.content.iter_any():
            size += len(piece)

    assert size == 1_000_000 * len("a line of some length\n")


async def test_many_followers_get_every_line(remote: Remote) -> None:
    await remote.create(pod())
    log = remote.server.kubelet.log("web")

    async def follow(began: asyncio.Semaphore) -> bytes:
        async with remote.http.get(f"{PODS}/web/log?follow=1") as response:
            began.release()
            return await response.content.read()

    began = asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        following = [group.create_task(follow(began)) for _ in range(20)]
        for number in range(300):
            log.print(number)
            await asyncio.sleep(0)
        for _ in following:
            await began.acquire()
        remote.server.kubelet.succeed("web")

    expected = "".join(f"{number}\n" for number in range(300)).encode()
    assert [each.result() for each in following] == [expected] * 20


@pytest.mark.parametrize("name", ["", "a/b/c", "/web"])
async def test_a_malformed_name_is_refused(remote: Remote, name: str) -> None:
    with pytest.raises(ArgumentError, match="namespace/name"):
        remote.server.kubelet.log(name)
