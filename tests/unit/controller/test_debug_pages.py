"""The debug pages: the state of a manager, and the stacks of tasks and threads."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.controller.probing import fetch

from masthead._controller.debug_pages import format_sections
from masthead._controller.log_values import plain_value
from masthead._controller.probe_server import ProbeServer
from masthead._controller.stacks import MAX_TASKS, format_task_stacks, task_stacks
from masthead._version import __version__
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SECTIONS = {
    "leader": {"is_leader": True, "holder": "web-0"},
    "queues": [
        {"controller": "website", "depth": 3, "unfinished": 0.123456789},
        {"controller": "certificate", "depth": 12_000},
    ],
    "in_flight": [],
    "token": "hunter2-hunter2",
}


def debugging(sections: Callable[[], Mapping[str, object]], bind: str = "127.0.0.1:0") -> ProbeServer:
    return ProbeServer({}, {}, debug=sections, probe_bind="0", debug_bind=bind)


@in_virtual_time
async def test_people_read_sections_and_tables() -> None:
    async with debugging(lambda: SECTIONS) as server:
        found = await fetch(server.debug_port, "/debug")
    assert found.text.split("\n\n")[:-1] == [
        f"version\n  {__version__}",
        "leader\n  is_leader: true\n  holder: web-0",
        "queues\n  controller   depth  unfinished\n  website      3      0.123457\n  certificate  12000",
        "in_flight\n  none",
        "token\n  <hidden>",
    ]


@in_virtual_time
async def test_machines_read_json() -> None:
    async with debugging(lambda: SECTIONS) as server:
        by_query = await fetch(server.debug_port, "/debug/?format=json")
        by_header = await fetch(server.debug_port, "/debug", accept="application/json")
    assert by_query.body == by_header.body
    assert by_query.headers["content-type"] == "application/json"
    found = json.loads(by_query.body)
    assert found["queues"] == SECTIONS["queues"]
    assert found["token"] == "<hidden>"


@in_virtual_time
async def test_one_section_can_be_asked_for() -> None:
    async with debugging(lambda: SECTIONS) as server:
        found = await fetch(server.debug_port, "/debug/leader")
        assert found.text == "leader\n  is_leader: true\n  holder: web-0\n"
        missing = await fetch(server.debug_port, "/debug/nothing")
        assert missing.status == 404
        assert "there are tasks, threads, version, leader" in missing.text


@in_virtual_time
async def test_sections_that_cannot_be_made_are_a_500() -> None:
    async with debugging(lambda: dict[str, dict[str, object]]()["missing"]) as server:
        assert (await fetch(server.debug_port, "/debug")).status == 500
        assert (await fetch(server.debug_port, "/debug/tasks")).status == 200


@in_virtual_time
async def test_a_web_page_cannot_read_what_is_for_this_machine() -> None:
    async with debugging(lambda: SECTIONS) as server:
        for host in ("127.0.0.1:1", "localhost", "[::1]:80", "LocalHost.:6060", "127.8.9.1"):
            assert (await fetch(server.debug_port, "/debug", host=host)).status == 200
        for host in (
            "evil.example.com",
            "localhost.evil.example",
            "127.evil.example",
            "127.0.0.1.evil.example:6060",
            "[::1].evil.example",
            "localhost@evil.example",
            "evil.example@localhost",
            "localhost, evil.example",
            "[localhost",
            "",
        ):
            for path in ("/debug", "/debug/tasks"):
                assert (await fetch(server.debug_port, path, host=host)).status == 403


async def waiting_for_paint(dry: asyncio.Event) -> None:
    await dry.wait()


async def watching(dry: asyncio.Event) -> None:
    await waiting_for_paint(dry)


@in_virtual_time
async def test_task_stacks_include_awaited_coroutines() -> None:
    dry = asyncio.Event()
    async with debugging(dict) as server, asyncio.TaskGroup() as group:
        for number in range(7):
            group.create_task(watching(dry), name=f"watcher {number}")
        await asyncio.sleep(0)
        text = (await fetch(server.debug_port, "/debug/tasks")).text
        dry.set()
    part = next(part for part in text.split("\n\n") if "watching" in part)
    assert part.startswith("7 waiting here: ")
    assert ", …" in part
    assert part.index("in watching") < part.index("in waiting_for_paint") < part.index("in Event.wait")
    assert "await waiting_for_paint(dry)" in part


async def test_threads_are_shown_with_their_stacks() -> None:
    dry = threading.Event()

    def wait_for_the_paint() -> None:
        dry.wait(30)

    thread = threading.Thread(target=wait_for_the_paint, name="painter", daemon=True)
    thread.start()
    async with debugging(dict) as server:
        text = (await fetch(server.debug_port, "/debug/threads")).text
    dry.set()
    thread.join()
    part = next(part for part in text.split("\n\n") if part.startswith("painter (daemon)"))
    assert "wait_for_the_paint" in part
    assert "MainThread" in text


@in_virtual_time
async def test_stacks_of_many_tasks_are_bounded() -> None:
    dry = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_TASKS + 500):
            group.create_task(watching(dry))
        await asyncio.sleep(0)
        found = task_stacks()
        dry.set()
    assert len(found) == MAX_TASKS
    text = format_task_stacks(found)
    assert text.startswith(f"{MAX_TASKS} tasks or more")
    assert len(text) < 10_000


def test_new_and_finished_tasks_have_stacks() -> None:
    async def run() -> None:
        async def quick() -> None: ...

        task = asyncio.get_running_loop().create_task(quick(), name="quick")
        assert "quick" in format_task_stacks(task_stacks([task]))
        await task
        assert "quick" in format_task_stacks(task_stacks([task]))

    asyncio.run(run())


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(min_size=1), DATA, max_size=4))
def test_any_data_can_be_shown(sections: dict[str, object]) -> None:
    plain = plain_value(sections)
    json.dumps(plain, allow_nan=False)
    assert isinstance(plain, dict)
    text = format_sections(plain)
    assert isinstance(text, str)


@pytest.mark.parametrize("rows", [[{"a": 1}, {"b": 2}], [{}], [{"a": 1}, 7], [{"a": {"b": [1]}}]])
def test_rows_of_different_shapes_are_a_table(rows: list[object]) -> None:
    assert format_sections({"rows": rows})
