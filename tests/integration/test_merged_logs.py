"""The logs of many pods and containers at once."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.integration.log_cluster import log_cluster, pod, rest, take

from masthead.aio.streams import LogLine
from masthead.errors import DecodeError, ForbiddenError, LogStreamError
from masthead.testing.virtual_time import in_virtual_time

NAMES = ("web-1", "web-2", "web-3")


def texts(lines: list[LogLine]) -> list[str]:
    return sorted(str(line) for line in lines)


@in_virtual_time
async def test_all_containers_of_all_pods_are_merged() -> None:
    async with log_cluster() as cluster:
        for name in NAMES:
            await cluster.start(name, "app", "side")
            for container in ("app", "side"):
                cluster.write(name, *range(50), container=container)
        await cluster.start("other", labels={"app": "other"})
        cluster.write("other", "unwanted")

        lines = await rest(cluster.pods.merged_logs(label_selector="app=web"))

        assert Counter((line.pod, line.container) for line in lines) == {
            (name, container): 50 for name in NAMES for container in ("app", "side")
        }
        for name in NAMES:
            own = [line.text for line in lines if (line.pod, line.container) == (name, "app")]
            assert own == [str(number) for number in range(50)]
        assert all(line.timestamp is not None and line.namespace == "default" for line in lines)


@in_virtual_time
async def test_containers_are_chosen_by_name_or_pattern() -> None:
    async with log_cluster() as cluster:
        made = pod("web", "app", "side-1", "side-2")
        made["spec"]["initContainers"] = [{"name": "init", "image": "image"}]
        await cluster.pods.create(made)
        cluster.server.kubelet.start("web")
        for container in ("app", "side-1", "side-2", "init"):
            cluster.write("web", "here", container=container)

        async def chosen(**options: Any) -> list[str]:
            return sorted(line.container for line in await rest(cluster.pods.merged_logs(**options)))

        assert await chosen() == ["app", "side-1", "side-2"]
        assert await chosen(containers="side-1") == ["side-1"]
        assert await chosen(containers=["app", "side-2", "absent"]) == ["app", "side-2"]
        assert await chosen(containers=re.compile(r"side-\d")) == ["side-1", "side-2"]
        assert await chosen(containers=re.compile("side")) == []
        assert await chosen(init_containers=True, containers=re.compile("(?i)INIT|app")) == ["app", "init"]


@in_virtual_time
async def test_pods_that_come_and_go_join_and_leave() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web-1")
        cluster.write("web-1", "old", "one")
        async with cluster.pods.merged_logs(label_selector="app=web", follow=True, tail_lines=1) as lines:
            assert texts(await take(lines, 1)) == ["[pod/web-1/app] one"]
            await cluster.start("web-2")
            # What starts later is wanted from its first line on.
            cluster.write("web-2", "a", "b", "c")
            assert texts(await take(lines, 3)) == [f"[pod/web-2/app] {text}" for text in "abc"]
            cluster.write("web-1", "last")
            await cluster.pods.delete("web-1", grace_period_seconds=0)
            assert texts(await take(lines, 1)) == ["[pod/web-1/app] last"]
            await cluster.start("web-1")  # another one of the same name
            cluster.write("web-1", "again")
            assert texts(await take(lines, 1)) == ["[pod/web-1/app] again"]
            cluster.server.kubelet.restart("web-2")
            cluster.write("web-2", "restarted")
            assert texts(await take(lines, 1)) == ["[pod/web-2/app] restarted"]


@in_virtual_time
@pytest.mark.parametrize("options", [{}, {"watch_list": False}], ids=["watch-list", "list"])
async def test_pods_are_found_on_a_server_that_was_set_up_anew(options: dict[str, Any]) -> None:
    errors: list[LogStreamError] = []
    async with log_cluster(**options) as cluster:
        for number in range(20):  # a history that is longer than the next one
            await cluster.client.core_v1.config_maps("default").create({"metadata": {"name": f"old-{number}"}})
        await cluster.start("web-1")
        cluster.write("web-1", "old")
        port = urlsplit(cluster.server.url).port
        logs = cluster.pods.merged_logs(label_selector="app=web", follow=True, on_error=errors.append)
        assert texts(await take(logs, 1)) == ["[pod/web-1/app] old"]
        await cluster.server.stop()
        async with log_cluster(port=port, **options) as anew, logs:
            await anew.start("web-2")
            anew.write("web-2", "new")
            assert texts(await take(logs, 1)) == ["[pod/web-2/app] new"]
            await anew.start("web-1")
            anew.write("web-1", "again")
            assert texts(await take(logs, 1)) == ["[pod/web-1/app] again"]
    assert errors == []


@in_virtual_time
async def test_a_watch_of_pods_that_has_expired_begins_anew() -> None:
    async with log_cluster() as cluster:
        await cluster.start("web-1")
        cluster.write("web-1", "one")
        fault = cluster.server.faults.expire_watch(resource="pods", after=2)  # the pod, and a bookmark
        async with cluster.pods.merged_logs(label_selector="app=web", follow=True) as lines:
            assert texts(await take(lines, 1)) == ["[pod/web-1/app] one"]
            await cluster.start("web-2")
            cluster.write("web-2", "two")
            assert texts(await take(lines, 1)) == ["[pod/web-2/app] two"]
            cluster.write("web-1", "three")
            assert texts(await take(lines, 1)) == ["[pod/web-1/app] three"]
            assert fault.hits == 1


@in_virtual_time
async def test_every_connection_may_be_lost() -> None:
    async with log_cluster() as cluster:
        cluster.server.faults.drop_stream(after=150, times=20, subresource="log")
        for name in NAMES:
            await cluster.start(name)

        async def write() -> None:
            for number in range(30):
                for name in NAMES:
                    cluster.write(name, number)
                await asyncio.sleep(0.3)

        async with cluster.pods.merged_logs(follow=True) as lines, asyncio.TaskGroup() as tasks:
            tasks.create_task(write())
            found = await take(lines, 90)

        for name in NAMES:
            assert [line.text for line in found if line.pod == name] == [str(each) for each in range(30)]


@in_virtual_time
async def test_the_failure_of_one_log_is_its_own(caplog: pytest.LogCaptureFixture) -> None:
    async with log_cluster() as cluster:
        for name in NAMES:
            await cluster.start(name)
            cluster.write(name, "line")
        errors: list[LogStreamError] = []

        cluster.server.faults.fail(403, name="web-2", subresource="log")
        lines = await rest(cluster.pods.merged_logs(on_error=errors.append))
        assert texts(lines) == ["[pod/web-1/app] line", "[pod/web-3/app] line"]
        assert [(each.namespace, each.pod, each.container) for each in errors] == [("default", "web-2", "app")]
        assert isinstance(errors[0].__cause__, ForbiddenError)

        cluster.server.faults.fail(403, name="web-2", subresource="log")
        with caplog.at_level(logging.WARNING, "masthead"):
            assert len(await rest(cluster.pods.merged_logs())) == 2
        assert "the log of container 'app' of pod default/web-2 ends early" in caplog.text

        cluster.server.faults.fail(403, name="web-2", subresource="log")

        def fail(error: LogStreamError) -> None:
            raise ValueError(error.pod)

        with pytest.raises(ValueError, match="web-2"):
            await rest(cluster.pods.merged_logs(on_error=fail))


@in_virtual_time
async def test_pods_that_cannot_be_listed_are_an_error() -> None:
    async with log_cluster() as cluster:
        for options in ({}, {"follow": True}):
            cluster.server.faults.fail(403, resource="pods", times=2)
            with pytest.raises(ForbiddenError):
                await rest(cluster.pods.merged_logs(**options))
            cluster.server.faults.clear()


@in_virtual_time
async def test_no_more_logs_than_allowed_are_read_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async with log_cluster() as cluster:
        for name in NAMES:
            await cluster.start(name)
            cluster.write(name, "line")

        assert len(await rest(cluster.pods.merged_logs(max_streams=1))) == 3
        async with cluster.pods.merged_logs(max_streams=2, follow=True) as lines:
            first = {line.pod for line in await take(lines, 2)}
            (waiting,) = set(NAMES) - first
            await cluster.pods.delete(first.pop(), grace_period_seconds=0)
            assert [line.pod for line in await take(lines, 1)] == [waiting]
        assert "raise max_streams" in caplog.text


@in_virtual_time
async def test_a_log_that_floods_does_not_hold_up_the_others() -> None:
    async with log_cluster() as cluster:
        for name in NAMES:
            await cluster.start(name)
        for _ in range(40):
            cluster.write("web-1", *("x" * 1000 for _ in range(100)))
        cluster.write("web-2", "quiet")
        async with cluster.pods.merged_logs(follow=True) as lines:
            await asyncio.sleep(1)
            taken = await take(lines, 1500)
            assert any(line.pod == "web-2" for line in taken)


@pytest.mark.slow
@in_virtual_time
async def test_a_reader_that_leaves_leaves_nothing_behind() -> None:
    async with log_cluster() as cluster:
        for name in NAMES:
            await cluster.start(name)
            cluster.write(name, "line")
        before = len(asyncio.all_tasks())

        async with cluster.pods.merged_logs(follow=True) as lines:
            await take(lines, 1)
            assert len(asyncio.all_tasks()) > before
        assert await rest(lines) == []

        dropped = cluster.pods.merged_logs(follow=True)
        await take(dropped, 1)
        del dropped
        gc.collect()
        await asyncio.sleep(1)
        ours = [task for task in asyncio.all_tasks() if "log_group" in str(task.get_coro())]
        assert ours == []


def test_a_line_is_printed_as_kubectl_does_and_parsed_on_request() -> None:
    line = LogLine("shop", "web", "app", '{"level": "info", "n": [1]}', "2023-11-14T22:13:20.123456789Z")

    assert str(line) == '[pod/web/app] {"level": "info", "n": [1]}'
    assert line.json() == {"level": "info", "n": [1]}
    assert line.timestamp is not None
    assert line.timestamp.isoformat() == "2023-11-14T22:13:20.123457+00:00"
    for text in ("plain", "", "{" * 100_000, '"\udc80"'):
        broken = LogLine("shop", "web", "app", text)
        with pytest.raises(DecodeError, match=r'"shop/web": a log line of container .app. is not JSON'):
            broken.json()
        assert broken.timestamp is None
