"""``masthead history`` prints what a recording tells about an object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.unit.recording.files import Film

from masthead._cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recording of two config maps, and a gap."""
    with Film(tmp_path / "a.mhr") as film:
        film.kind()
        film.change("STATE", "web", 5, color="red")
        film.change("STATE", "other", 6, color="red")
        film.listed(7, count=2)
        film.change("MODIFIED", "web", 8, color="blue\x1b[31m")
        film.change("MODIFIED", "web", 19, listed=True, color="green")
        film.listed(20, since="8", is_gap=True, why="410 Gone")
        film.change("DELETED", "web", 21, color="green")
    return tmp_path / "a.mhr"


def run(capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the command; return code, output and errors."""
    code = main(["history", "--from", str(path), *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_each_change_is_printed_with_its_fields_and_gaps_in_between(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, path, "cm/web")
    assert code == 0
    assert out.splitlines() == [
        "2023-11-14 22:13:22.000Z  STATE     version 5",
        "2023-11-14 22:13:25.000Z  MODIFIED  version 8",
        '    data.color: "red" → "blue\\u001b[31m"',
        "2023-11-14 22:13:26.000Z  MODIFIED  version 19  (seen by a list: states before may be missing)",
        '    data.color: "blue\\u001b[31m" → "green"',
        "2023-11-14 22:13:27.000Z  GAP       changes since 2023-11-14 22:13:25.000Z may be missing: 410 Gone",
        "2023-11-14 22:13:28.000Z  DELETED   version 21",
    ]


def test_json_has_a_line_for_each_change(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, path, "cm/web", "-o", "json", "--since", "+3s", "--until", "+6s")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["type"], line["version"], line["listed"]) for line in lines] == [
        ("MODIFIED", "8", False),
        ("MODIFIED", "19", True),
    ]
    assert lines[1]["fields"] == [
        {"path": "data.color", "before": "blue\x1b[31m", "after": "green", "manager": ""},
    ]


def test_two_moments_are_compared(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, path, "--diff", "+4s", "+6s")
    assert out == 'changed ConfigMap shop/web\n  data.color: "red" → "green"\n'
    _, out, _ = run(capsys, path, "cm/other", "--diff", "+4s", "+9s")
    assert out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["cm/nobody"], 4, "the recording has no ConfigMap nobody"),
        (["cm/web", "-n", "prod"], 4, "the recording has no ConfigMap web in namespace prod"),
        (["pod/web"], 2, "no pod were recorded; recorded are configmaps"),
        (["web"], 2, "name an object, such as pod/web"),
        (["cm/web", "--since", "soon"], 2, "'soon' is no moment of a recording"),
    ],
)
def test_a_mistake_is_one_clear_line(
    path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    found, out, errors = run(capsys, path, *arguments)
    assert (found, out) == (code, "")
    assert message in errors


def test_a_file_that_was_cut_off_is_read_with_a_warning(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with path.open("ab") as file:
        file.write(b"]*M\x18")
    code, out, errors = run(capsys, path, "cm/other")
    assert code == 0
    assert "STATE" in out
    assert "warning: the end of the recording is missing" in errors


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = run(capsys, tmp_path / "nothing.mhr", "cm/web")
    assert code == 1
    assert "nothing.mhr does not exist" in errors
