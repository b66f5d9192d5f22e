"""``make demo`` shows what it promises, and would say so if it did not."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.api.core.v1 import Pod
from masthead_server.demo.comparison import differences
from masthead_server.demo.event_log import EventLog
from masthead_server.demo.show import is_drawable
from masthead_server.demo.view import _as_kubectl

ROOT = Path(__file__).parents[2]


def pods(**versions: str) -> dict[str, Pod]:
    return {
        name: Pod.from_dict({"metadata": {"name": name, "resourceVersion": version}})
        for name, version in versions.items()
    }


def test_a_short_demo_ends_in_sync_after_some_faults() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "masthead", "demo", "--seconds", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    found = re.fullmatch(r"in sync: (\d+) objects, (\d+) events, (\d+) faults survived", last)
    assert found, last
    objects, events, faults = map(int, found.groups())
    assert objects > 0
    assert events >= objects
    assert faults >= 2
    assert "no effect" not in done.stdout
    survived = [line.removeprefix("survived: ") for line in done.stdout.splitlines() if "survived: " in line]
    for each in survived:
        logged = rf"^ *\d+\.\d s  x {re.escape(each)}$"
        assert each == "a restart of the server" or re.search(logged, done.stdout, re.MULTILINE), each


FRAME = re.compile(r"(?:\x1b\[1A|\x1b\[2K|\r)+")


def test_a_picture_is_no_higher_than_the_terminal() -> None:
    rows, columns = 24, 80
    terminal = pytest.importorskip("tests.cli.terminal")
    environ = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "LINES"}}
    with terminal.Terminal(["demo", "--seconds", "1"], environ, rows=rows, columns=columns) as screen:
        assert screen.finish() == 0, terminal.plain(screen.output)[-2000:]
        assert screen.is_as_before
    frames = [each for each in map(terminal.plain, FRAME.split(screen.output)) if "get pods" in each]
    *_, last = frames
    picture = last.partition("survived:")[0].rstrip().split("\n")

    assert len(picture) < rows
    assert max(map(len, picture)) <= columns
    assert picture[-1].startswith("╰")
    assert picture[-2].startswith("│ ... and ")


class Output(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_that_cannot_be_drawn_on_gets_lines() -> None:
    size = os.terminal_size((80, 24))

    assert is_drawable(Output(), "xterm", size)
    assert not is_drawable(io.StringIO(), "xterm", size)
    assert not is_drawable(Output(), "dumb", size)
    assert not is_drawable(Output(), "xterm", os.terminal_size((40, 24)))
    assert not is_drawable(Output(), "xterm", os.terminal_size((80, 8)))


@given(count=st.integers(0, 30), height=st.integers(4, 20))
def test_a_table_has_no_more_lines_than_there_is_room_for(count: int, height: int) -> None:
    lines = [str(each) for each in _as_kubectl(pods(**{f"p{at}": "1" for at in range(count)}), height)]

    assert len(lines) <= height
    named = [line for line in lines if line.startswith("p")]
    if len(named) < count:
        assert lines[-1] == f"... and {count - len(named)} more"


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


def test_concurrent_log_lines_do_not_interleave(capfd: pytest.CaptureFixture[str]) -> None:
    log, barrier = EventLog(), threading.Barrier(4)

    def write(name: str) -> None:
        barrier.wait(30)
        for _ in range(200):
            log(name * 40)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 800
    assert all(re.fullmatch(r" *\d+\.\d s  (a{40}|b{40}|c{40}|d{40})", line) for line in lines)


def test_a_fault_is_logged_before_its_consequences(capfd: pytest.CaptureFixture[str]) -> None:
    log = EventLog()
    new = ["the power fails"]
    log.faults = lambda: [new.pop()] if new else []
    log("it is dark")
    log("it is still dark")

    lines = [line.partition(" s  ")[2] for line in capfd.readouterr().out.splitlines()]
    assert lines == ["x the power fails", "it is dark", "it is still dark"]


def test_equal_copies_do_not_differ() -> None:
    assert not list(differences("the copy", pods(a="1"), pods(a="1")))


def test_whatever_differs_is_named() -> None:
    copy, server = pods(a="1", b="2", c="3"), pods(b="4", c="3", d="5")

    assert list(differences("the copy", copy, server)) == [
        "the copy still has a",
        "the copy has b at version 2, and the server at 4",
        "the copy lacks d",
    ]
