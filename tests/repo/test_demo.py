"""``make demo`` shows what it promises, and would say so if it did not."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._cli.catalog import CATALOG
from masthead.api.core.v1 import Pod
from masthead_server.demo.comparison import Agreement, compare_versions, differences
from masthead_server.demo.ending import Ending, next_commands, render_ending, verdict
from masthead_server.demo.interrupts import Interrupts
from masthead_server.demo.lag import LagMeter
from masthead_server.demo.network import Network
from masthead_server.demo.scene import AppRow, Counters, FaultState, NodeRow, Scene, app_row
from masthead_server.demo.show import is_drawable
from masthead_server.demo.story import (
    APPS,
    DEFAULT_SECONDS,
    EXPLANATIONS,
    NODES,
    Action,
    Chapter,
    Injection,
    Task,
    cues,
    plan,
)
from masthead_server.demo.tally import FaultCount, FaultTally, WatchState

ROOT = Path(__file__).parents[2]
SECONDS = st.floats(0.1, 200)
SEEDS = st.integers(-5, 50)


def pods(**versions: str) -> dict[str, Pod]:
    return {
        name: Pod.from_dict({"metadata": {"name": name, "resourceVersion": version}})
        for name, version in versions.items()
    }


@given(seed=SEEDS)
def test_every_demo_of_the_default_length_has_each_task_and_each_fault(seed: int) -> None:
    chapters = plan(DEFAULT_SECONDS, seed)

    assert [chapter.task for chapter in chapters] == list(Task)
    assert {chapter.fault for chapter in chapters} == set(Injection)
    assert chapters == plan(DEFAULT_SECONDS, seed)
    apps = [chapter.subject for chapter in chapters if chapter.task is not Task.DRAIN]
    assert sorted(apps) == sorted(APPS)


def test_the_first_demo_tells_the_story_of_the_documents() -> None:
    assert [(chapter.task, chapter.fault) for chapter in plan(DEFAULT_SECONDS, 1)] == [
        (Task.ROLLOUT, Injection.CUT),
        (Task.DRAIN, Injection.SILENCE),
        (Task.CRASH, Injection.GONE),
        (Task.BUDGET, Injection.RESTART),
    ]


@pytest.mark.parametrize(("seconds", "count"), [(0.5, 1), (5, 2), (8, 3), (10, 4), (24, 4), (60, 10)])
def test_a_short_demo_has_the_first_chapters_and_a_long_one_goes_on(seconds: float, count: int) -> None:
    chapters = plan(seconds, 1)

    assert [chapter.number for chapter in chapters] == list(range(1, count + 1))


def test_the_next_rollout_of_an_app_has_a_new_version() -> None:
    rollouts = [(each.subject, each.version) for each in plan(200, 3) if each.task is Task.ROLLOUT]

    assert len(set(rollouts)) == len(rollouts)
    assert all(version >= 2 for _, version in rollouts)


@given(seconds=SECONDS, seed=SEEDS)
def test_every_chapter_begins_its_task_and_injects_its_fault_in_time(seconds: float, seed: int) -> None:
    chapters = plan(seconds, seed)
    length = seconds / len(chapters)

    for chapter in chapters:
        found = cues(chapter, length)
        assert [cue.after for cue in found] == sorted(cue.after for cue in found)
        assert all(0 <= cue.after < length for cue in found)
        actions = [cue.action for cue in found]
        assert actions.count(Action.BEGIN) == 1
        assert Action.INJECT in actions


def test_a_fault_is_survived_when_its_watches_are_open_again_and_the_caches_are_equal() -> None:
    tally, before = FaultTally(), {"pods": WatchState(1, is_open=True), "nodes": WatchState(0, is_open=True)}
    tally.inject(Injection.CUT, 10.0, before)
    reopened = {"pods": WatchState(2, is_open=True), "nodes": WatchState(1, is_open=True)}

    assert tally.observe(10.1, before, is_equal=True) == []  # nobody has noticed
    assert tally.observe(10.2, {**reopened, "nodes": WatchState(1, is_open=False)}, is_equal=True) == []
    assert tally.observe(10.3, reopened, is_equal=False) == []
    assert tally.pending == [Injection.CUT]
    assert tally.rows()[0] == FaultCount(Injection.CUT, 1, 0, 0.0)
    assert tally.observe(10.5, reopened, is_equal=True) == [(Injection.CUT, 0.5)]
    assert tally.rows()[0] == FaultCount(Injection.CUT, 1, 1, 0.5)
    assert not tally.pending


def test_the_lag_of_a_write_ends_with_a_notification_of_its_version_or_a_later_one() -> None:
    lag = LagMeter()
    assert lag.current(1.0) is None

    lag.sent(7, 1.0)
    assert lag.current(3.0) == 2.0
    lag.saw(6, 3.5)
    assert lag.current(4.0) == 3.0
    lag.saw(9, 5.0)
    assert lag.current(6.0) == 4.0
    lag.sent(8, 4.5)  # the watch was faster than the response
    assert lag.current(6.0) == 0.5
    assert lag.worst == 4.0


def test_versions_that_only_one_side_has_are_differences() -> None:
    assert compare_versions({"a": "1", "b": "2"}, {"a": "1", "b": "2"}).is_equal
    assert compare_versions({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == Agreement(2, 2, 3)


def test_equal_copies_do_not_differ() -> None:
    assert not list(differences("the copy", pods(a="1"), pods(a="1")))


def test_whatever_differs_is_named() -> None:
    copy, server = pods(a="1", b="2", c="3"), pods(b="4", c="3", d="5")

    assert list(differences("the copy", copy, server)) == [
        "the copy still has a",
        "the copy has b at version 2, and the server at 4",
        "the copy lacks d",
    ]


def test_the_pods_of_an_app_are_counted_by_version() -> None:
    def pod(name: str, image: str, **metadata: object) -> Pod:
        labels = {"app": "web"}
        plain = {"metadata": {"name": name, "labels": labels, **metadata}, "spec": {"containers": [{"image": image}]}}
        return Pod.from_dict({**plain, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})

    deleted = pod("d", "example/web:v9", deletionTimestamp="2026-01-01T00:00:00Z")
    found = app_row(
        "web", [pod("a", "example/web:v9"), pod("b", "example/web:v10"), pod("c", "example/web:v9"), deleted]
    )

    assert found == AppRow("web", [("v10", 1), ("v9", 2)], 3)


def scene(chapters: tuple[Chapter, ...], current: Chapter | None) -> Scene:
    """A moment with the longest of everything."""
    return Scene(
        seconds=123.4,
        chapters=chapters,
        current=current,
        finished=len(chapters) if current is None else current.number - 1,
        progress="cordoned; 12 pods evicted, 12 evictions refused by a budget, 12 left",
        fault_state=FaultState.PENDING,
        faults=[FaultCount(kind, 12, 11, 12.5) for kind in Injection],
        apps=[AppRow(app, [("v12", 4), ("v11", 1)], 4) for app in APPS],
        nodes=[NodeRow(node, at == 1, 12) for at, node in enumerate(NODES)],
        counters=Counters(123_456, 1_234, 1_234, 12_345, 0.999, 12.3, 1_234, 1_234),
        agreement=Agreement(22, 23, 12),
        pods=pods(**{f"web-{at}": str(at) for at in range(12)}),
    )


def render(moment: Scene, columns: int, lines: int) -> list[str]:
    view = pytest.importorskip("masthead_server.demo.view")
    console = pytest.importorskip("rich.console").Console(
        width=columns, height=lines, file=io.StringIO(), force_terminal=True, color_system=None, legacy_windows=False
    )
    console.print(view.draw(moment, columns, lines), end="")
    return re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue()).rstrip("\n").split("\n")


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_chapter_fits_80_columns_and_24_lines_with_nothing_cut(seed: int) -> None:
    chapters = plan(60, seed)

    for current in [*chapters, None]:
        picture = render(scene(chapters, current), 80, 24)
        assert len(picture) == 23  # the cursor has the last line
        assert {len(line) for line in picture} == {80}
        text = "\n".join(picture)
        assert "…" not in text
        if current is not None:
            assert current.title in text
            assert f"Fault: {EXPLANATIONS[current.fault]}: recovering" in text


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (81, 30), (100, 30), (120, 40), (200, 60)])
def test_a_larger_terminal_shows_the_same_and_the_pods(columns: int, lines: int) -> None:
    chapters = plan(DEFAULT_SECONDS, 1)

    picture = render(scene(chapters, chapters[1]), columns, lines)

    assert len(picture) < lines
    assert {len(line) for line in picture} == {min(columns, 120)}
    assert ("kubectl get pods" in "\n".join(picture)) == (lines > 28)


def test_the_picture_marks_what_is_over() -> None:
    chapters = plan(DEFAULT_SECONDS, 1)
    second, end = scene(chapters, chapters[1]), scene(chapters, None)

    text = "\n".join(render(second, 80, 24))
    assert f"✓ {chapters[0].title}" in text
    assert f"▶ {chapters[1].title}" in text
    assert text.count("✓") == 1
    assert "\n".join(render(end, 80, 24)).count("✓") == 4
    start = "\n".join(render(replace(end, finished=0), 80, 24))
    assert "The start: " in start
    assert "✓" not in start


def test_the_picture_says_whether_cache_and_cluster_agree() -> None:
    chapters = plan(DEFAULT_SECONDS, 1)
    moment = scene(chapters, chapters[0])

    assert "catching up: 12 objects" in "\n".join(render(moment, 80, 24))
    assert "cache = cluster" in "\n".join(render(replace(moment, agreement=Agreement(22, 22, 0)), 80, 24))


def ending(*, survived: int = 2, problems: tuple[str, ...] = ()) -> Ending:
    faults = [FaultCount(kind, 2, survived, 1.6) for kind in Injection]
    return Ending(plan(DEFAULT_SECONDS, 1), faults, Counters(events=1234), 22, problems)


@pytest.mark.parametrize("program", ["masthead", ".venv-demo/bin/masthead", f"/{'x' * 80}/python -m masthead"])
@pytest.mark.parametrize("has_cli", [True, False])
def test_the_final_screen_has_16_lines_and_names_what_was_survived(program: str, has_cli: bool) -> None:
    lines = render_ending(ending(), next_commands(program, has_cli=has_cli))

    assert len(lines) == 16
    assert all(len(line) <= 80 for line in lines if program not in line)
    assert re.fullmatch("Rolling out web to v2 +while connections were cut", lines[0])
    assert "survived  410 Gone           2 of 2, within 1.6 s" in lines
    assert "differences between caches and cluster: none, field by field" in lines
    assert "in sync: 22 objects, 1,234 events, 8 faults survived" in lines


def test_a_difference_is_the_verdict() -> None:
    lines = verdict(ending(survived=1, problems=("the cache lacks a pod",)))

    assert lines == ["differs: the cache lacks a pod", "NOT in sync: 22 objects, 1,234 events, 4 faults survived"]
    assert "LOST      server restart     1 of 2, within 1.6 s" in render_ending(
        ending(survived=1, problems=("x",)), [("a", "b")]
    )


@pytest.mark.parametrize("has_cli", [True, False])
def test_the_commands_to_try_next_exist(has_cli: bool) -> None:
    commands = [shlex.split(command) for command, _ in next_commands("masthead", has_cli=has_cli)]

    assert len(commands) == 3
    for words in commands:
        assert CATALOG.keys() & set(words)
        # Without the extra, only plain programs can be called.
        assert has_cli or CATALOG[words[1]].is_program(words[2:])


class Output(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_that_cannot_be_drawn_on_gets_lines() -> None:
    size = os.terminal_size((80, 24))

    assert is_drawable(Output(), "xterm", size)
    assert not is_drawable(io.StringIO(), "xterm", size)
    assert not is_drawable(Output(), "dumb", size)
    assert not is_drawable(Output(), "xterm", os.terminal_size((79, 24)))
    assert not is_drawable(Output(), "xterm", os.terminal_size((80, 23)))


def test_the_second_interrupt_ends_the_demo() -> None:
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert interrupts.is_interrupted
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def is_gone(connection: socket.socket) -> bool:
    try:
        return connection.recv(5) == b""
    except ConnectionError:
        return True


def test_the_network_cuts_and_silences_what_it_relays() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        network = stack.enter_context(Network(listener.getsockname()[1]))

        def connect(path: str) -> tuple[socket.socket, socket.socket]:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", network.port)))
            server = stack.enter_context(listener.accept()[0])
            client.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            assert server.recv(1000).startswith(b"GET /")
            server.sendall(b"hello")
            assert client.recv(5) == b"hello"
            return client, server

        watch, watched = connect("/api/v1/pods?watch=true")
        other, listed = connect("/api/v1/pods?limit=1")
        assert network.silence_watches("pods") == 1
        watched.sendall(b"again")
        listed.sendall(b"again")
        assert other.recv(5) == b"again"
        # The silent connection is relayed in the same loop, and has had its turn.
        watch.setblocking(False)
        with pytest.raises(BlockingIOError):
            watch.recv(5)
        watch.setblocking(True)
        assert network.cut() == 2
        assert all(map(is_gone, (watch, watched, other, listed)))

        network.close()
        refused = stack.enter_context(socket.create_connection(("127.0.0.1", network.port)))
        assert is_gone(refused)
        network.reopen()
        connect("/api/v1/pods")


def test_a_short_demo_ends_in_sync_and_quietly() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "masthead", "demo", "--seconds", "1", "--quiet"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    found = re.fullmatch(r"in sync: (\d+) objects, (\d+) events, 1 fault survived\n", done.stdout)
    assert found, done.stdout
    objects, events = map(int, found.groups())
    assert events >= objects > 0


FRAME = re.compile(r"(?:\x1b\[1A|\x1b\[2K|\r)+")


def test_a_demo_is_drawn_in_a_terminal_until_it_is_interrupted() -> None:
    terminal = pytest.importorskip("tests.cli.terminal")
    environ = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES"}}
    with terminal.Terminal(["demo", "--seconds", "60"], {**environ, "NO_COLOR": "1"}, rows=24, columns=80) as screen:
        screen.expect("Chapter 1 of 10")
        screen.press(terminal.INTERRUPT)
        assert screen.finish() == 0, terminal.plain(screen.output)[-2000:]
        assert screen.is_as_before
    frames = [each for each in map(terminal.plain, FRAME.split(screen.output)) if "the story" in each]
    *_, last = frames
    picture = last.rstrip().split("\n")

    assert len(picture) == 23
    assert {len(line) for line in picture} == {80}
    assert "in sync: " in terminal.plain(screen.output)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", screen.output)  # no colours


def test_a_reader_that_goes_away_ends_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "masthead", "demo", "--seconds", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()

        assert process.wait(60) == 141
        assert process.stderr.read() == ""
