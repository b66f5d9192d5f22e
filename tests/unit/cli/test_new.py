"""``masthead new`` writes an operator that passes its tests and all checks at once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from masthead._cli.main import main
from masthead._scaffold.project import Project

PROGRAMS = Path(sys.executable).parent
SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "bakery"
    assert main(["new", "bakery-operator", "--dir", str(folder)]) == 0
    return folder


def run(project: Path, *command: str) -> str:
    """Run a program in the project, as its Makefile does; return its output."""
    environment = {**os.environ, "PYTHONPATH": "", "MYPYPATH": str(SOURCE)}
    done = subprocess.run(
        [PROGRAMS / command[0], *command[1:]],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_tests_pass(project: Path) -> None:
    assert "6 passed" in run(project, "python", "-m", "pytest", "-q", "-p", "no:asyncio")


def test_it_is_formatted_and_linted(project: Path) -> None:
    run(project, "ruff", "format", "--check", "--no-cache", ".")
    run(project, "ruff", "check", "--no-cache", ".")


def test_functions_without_docstrings_pass_its_lint(tmp_path: Path) -> None:
    assert main(["new", "bakery-operator", "--dir", str(tmp_path / "bakery")]) == 0
    added = tmp_path / "bakery" / "src" / "bakery_operator" / "added.py"
    added.write_text("def double(number: int) -> int:\n    return 2 * number\n", "utf-8")

    run(tmp_path / "bakery", "ruff", "check", "--no-cache", ".")


@pytest.mark.slow
@pytest.mark.parametrize("command", [["mypy"], ["pyright", "--pythonpath", sys.executable]], ids=["mypy", "pyright"])
def test_it_is_typed(project: Path, command: list[str]) -> None:
    run(project, *command)


@pytest.mark.slow
def test_its_manifests_are_written(project: Path) -> None:
    command = ["masthead", "manifests", "bakery_operator.main:app", "--out", "deploy"]
    # As if it were installed.
    done = subprocess.run(
        [PROGRAMS / command[0], *command[1:]],
        cwd=project,
        env={**os.environ, "PYTHONPATH": "src"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.count("wrote ") == 2, done.stderr
    assert "name: bakeries.example.com\n" in (project / "deploy" / "crds.yaml").read_text("utf-8")


def test_all_that_a_project_needs_is_there(project: Path) -> None:
    found = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}

    assert found >= {
        ".gitignore",
        "Dockerfile",
        "Makefile",
        "README.md",
        "pyproject.toml",
        "src/bakery_operator/__init__.py",
        "src/bakery_operator/main.py",
        "src/bakery_operator/resources.py",
        "tests/test_bakery_operator.py",
    }
    assert tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]["name"] == "bakery-operator"


def test_its_environment_has_the_commands_of_its_readme(project: Path) -> None:
    declared = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]

    assert "masthead-k8s[cli,server]" in declared["optional-dependencies"]["dev"]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_no_other_package_is_installed_in_place_of_masthead(project: Path) -> None:
    done = subprocess.run(["make", "install"], cwd=project, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert done.stderr.startswith("make install: Masthead is missing: put its wheels into wheels/")
    assert f"  pip wheel . ./server --no-deps -w {project}/wheels\n" in done.stderr
    assert not (project / ".venv").exists()


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ("", "pip wheel . ./server --no-deps -w {folder}/wheels   # in a checkout of Masthead"),
        ('{{"url": "https://example.com/masthead.whl"}}', "pip wheel . ./server --no-deps -w {folder}/wheels   # in"),
        ('{{"url": "file:///no/such/file.whl"}}', "pip wheel . ./server --no-deps -w {folder}/wheels   # in"),
        (
            '{{"url": "file://{here}/check%20out"}}',
            "pip wheel '{here}/check out' '{here}/check out' --no-deps -w {folder}/wheels",
        ),
        (
            '{{"url": "file://{here}/masthead-0.1.0.whl"}}',
            "mkdir -p {folder}/wheels && cp {here}/masthead-0.1.0.whl {here}/masthead-0.1.0.whl {folder}/wheels",
        ),
    ],
)
def test_the_next_steps_say_where_masthead_comes_from(
    origin: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "check out").mkdir()
    (tmp_path / "masthead-0.1.0.whl").touch()
    for name in ("masthead-k8s", "masthead-k8s-server"):
        installed = tmp_path / f"{name.replace('-', '_')}-0.1.0.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text(f"Name: {name}\nVersion: 0.1.0\n", "utf-8")
        if origin:
            (installed / "direct_url.json").write_text(origin.format(here=tmp_path), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "new"

    assert main(["new", "bakery-operator", "--dir", str(folder)]) == 0

    said = capsys.readouterr().out
    assert f"\n  {command.format(here=tmp_path, folder=folder)}" in said
    assert f"\n  cd {folder} && make install test\n" in said


def test_nothing_is_left_to_fill_in() -> None:
    texts = Project.named("bakery-operator").files()

    assert not [path for path, text in texts.items() if re.search("@[A-Z]+@|PACKAGE", path + text)]


def test_names_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "x"
    assert main(["new", "oven", "--dir", str(folder), "--kind", "BakersOven", "--group", "ovens.io"]) == 0

    assert "an operator for BakersOven objects of ovens.io" in capsys.readouterr().out
    text = (folder / "src" / "oven" / "resources.py").read_text("utf-8")
    assert "class BakersOven(" in text
    assert 'group="ovens.io",' in text


def test_the_folder_is_named_after_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["new", "bakery-operator"]) == 0
    assert (tmp_path / "bakery-operator" / "Makefile").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Bakery"], "the name 'Bakery'"),
        (["1-oven"], "must begin with a letter"),
        (["json"], "add -operator to it"),
        (["class"], "add -operator to it"),
        (["masthead"], "add -operator to it"),
        (["oven", "--kind", "oven"], "the kind 'oven' must be"),
        (["oven", "--group", "ovens"], "the group 'ovens' must be a domain"),
        (["oven", "--dir", "."], "exists already; name another folder with --dir"),
        (["oven", "--dir", "file"], "exists already"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()

    assert main(["new", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
