"""The workflow that publishes releases: checked first, published without a secret."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml
from tools.release.check import supported

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
JOBS: dict[str, Any] = WORKFLOW["jobs"]
PYTHONS = supported(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def used(job: str) -> list[str]:
    return [step["uses"] for step in JOBS[job]["steps"] if "uses" in step]


def test_only_a_tag_of_a_version_publishes() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true


def test_it_runs_make_targets_only() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    for command in (each for job in JOBS for each in commands(job)):
        make, target, *variables = command.split()
        assert (make, target in targets) == ("make", True)
        assert all("=" in variable for variable in variables)


def test_every_supported_python_is_tested_and_tried() -> None:
    assert JOBS["test"]["strategy"]["matrix"]["python"] == PYTHONS
    assert commands("build") == [f"make release-check PYTHONS={','.join(PYTHONS)}"]
    (versions,) = (
        step["with"]["python-version"] for step in JOBS["build"]["steps"] if "setup-python" in step.get("uses", "")
    )
    assert sorted(versions.split()) == PYTHONS
    assert versions.split()[-1] == PYTHONS[0]


def test_nothing_is_published_that_was_not_checked() -> None:
    assert JOBS["publish"]["needs"] == ["test", "build"]
    assert commands("publish") == []
    assert used("publish") == ["actions/download-artifact@v4", "pypa/gh-action-pypi-publish@release/v1"]


def test_only_publishing_may_ask_for_an_identity_and_there_is_no_secret() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {name: job.get("permissions") for name, job in JOBS.items()} == {
        "test": None,
        "build": None,
        "publish": {"id-token": "write"},
    }
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text("utf-8")


def test_what_a_tag_is_named_is_never_part_of_a_command() -> None:
    assert all("${{" not in command for job in JOBS for command in commands(job))
