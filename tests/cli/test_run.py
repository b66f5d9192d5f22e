"""``masthead run`` at a terminal and at pipes: what its log looks like."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

termios = pytest.importorskip("termios")

from tests.cli.terminal import Terminal, plain  # noqa: E402 - needs terminals
from tests.cli.test_processes import CTRL_C, following  # noqa: E402 - needs terminals

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import masthead
from masthead.api.core.v1 import ConfigMap

app = masthead.Manager("settings")

@app.controller(ConfigMap)
async def reconcile(ctx, settings):
    if settings.metadata.name == "settings":
        ctx.log.info("checked", extra={"color": settings.data["color"]})
"""
LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{3} INFO    configmaps shop/settings \S+  checked  color=red")


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "colors.py").write_text(PROGRAM, "utf-8")
    return ["run", str(tmp_path / "colors.py"), "--metrics-bind", "0", "--probe-bind", "0"]


@pytest.mark.parametrize(("more", "has_color"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_at_a_terminal_lines_are_for_people(
    more: dict[str, str], has_color: bool, arguments: list[str], environ: dict[str, str]
) -> None:
    with Terminal(arguments, {**environ, **more}) as screen:
        screen.expect("color=red")
        screen.press(CTRL_C)
        assert screen.finish() == 0
    assert LINE.search(plain(screen.output))
    assert "started with 1 worker, " in plain(screen.output)
    assert ("\x1b[" in screen.output) == has_color


def test_at_a_terminal_lines_can_be_json(arguments: list[str], environ: dict[str, str]) -> None:
    with Terminal([*arguments, "--log-format", "json"], environ, columns=500) as screen:
        screen.expect('"color":"red"')
        screen.press(CTRL_C)
        assert screen.finish() == 0


def test_at_a_pipe_lines_are_json_unless_text_is_chosen(arguments: list[str], environ: dict[str, str]) -> None:
    with following(environ, *arguments, code=0) as process:
        assert process.stderr is not None
        said = [json.loads(process.stderr.readline()) for _ in range(2)]
        assert {each["level"] for each in said} == {"info"}
    with following(environ, *arguments, "--log-format", "text", code=0) as process:
        assert process.stderr is not None
        assert " INFO    masthead" in process.stderr.readline()
