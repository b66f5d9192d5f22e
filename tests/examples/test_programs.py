"""What holds for all programs of examples/."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
OPERATOR = FOLDER / "website" / "website.py"
PROGRAMS = sorted([*FOLDER.glob("*.py"), OPERATOR, FOLDER / "widgets" / "widgets.py"])
LOADED = {"celery_tasks", "django_app", "flask_app", "gunicorn_conf", OPERATOR.stem}
"""Modules that the programs of a framework load: only those have options."""
SCRIPTS = [each for each in PROGRAMS if each.stem not in LOADED]
LINES = 80
ARGUMENTS = {"copy_namespace": ["a", "b"], "job_runner": [str(FOLDER)], "wait_for_rollout": ["web"]}


def run(program: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """Run a program as ``python program`` does, and return what it exits with."""
    monkeypatch.setattr(sys, "argv", [str(program), *arguments])
    monkeypatch.syspath_prepend(str(program.parent))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(program), run_name="__main__")
    return ended.value.code


@pytest.mark.parametrize("program", SCRIPTS, ids=lambda path: path.stem)
def test_help_says_what_it_does(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(program, ["--help"], monkeypatch) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith(f"usage: {program.name}")
    first = program.read_text("utf-8").splitlines()[0]
    assert " ".join(first.strip('"').split()[:5]) in printed


@pytest.mark.parametrize(
    "program", [script for script in SCRIPTS if script.stem != "rotate_secrets"], ids=lambda path: path.stem
)
def test_without_a_cluster_it_ends_with_one_message(
    program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    message = run(program, ARGUMENTS.get(program.stem, []), monkeypatch)
    assert "absent" in str(message)


@pytest.mark.parametrize("program", [each for each in PROGRAMS if each != OPERATOR], ids=lambda path: path.stem)
def test_it_can_be_read_on_one_screen(program: Path) -> None:
    assert len(program.read_text("utf-8").splitlines()) <= LINES


@pytest.mark.parametrize("program", [*PROGRAMS, FOLDER / "notebook.ipynb"], ids=lambda path: path.stem)
def test_it_is_listed(program: Path) -> None:
    assert f"({program.relative_to(FOLDER)})" in (FOLDER / "README.md").read_text("utf-8")
