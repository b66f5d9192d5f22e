"""Plugins of kubectl run as commands, and ``masthead plugin list``."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.cli.terminal import COMMAND, PATIENCE
from tests.server.kubectl import KUBECTL, needs_current_kubectl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]

ECHO = '#!/bin/sh\necho "$0:" "$@"\ncat\nexit 7\n'


@pytest.fixture
def plugins(tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs, which is on the path."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    for name in ("kubectl-greet", "kubectl-greet-all", "kubectl-get"):
        (folder / name).write_text(ECHO, "utf-8")
        (folder / name).chmod(0o755)
    environ["PATH"] = f"{folder}{os.pathsep}{environ['PATH']}"
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_plugin_gets_arguments_streams_and_passes_its_exit_code(plugins: Path, environ: dict[str, str]) -> None:
    done = subprocess.run(
        [*COMMAND, "greet", "all", "world", "--loud", "--", "-x"],
        capture_output=True,
        env=environ,
        input=b"\x00binary\xff",
        timeout=PATIENCE,
        check=False,
    )

    assert done.returncode == 7
    assert done.stdout == f"{plugins / 'kubectl-greet-all'}: world --loud -- -x\n".encode() + b"\x00binary\xff"


def test_commands_of_masthead_win(plugins: Path, cli: Cli) -> None:
    assert (plugins / "kubectl-get").exists()
    assert cli("get pods -n shop -o name").out == "pod/web-1\npod/web-2\n"


def test_options_before_a_plugin_are_refused(plugins: Path, cli: Cli) -> None:
    assert plugins.exists()
    ran = cli("-n shop greet")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "masthead: options stand before the plugin greet\n"
        "hint: options stand behind the name of a plugin: masthead greet ...\n"
    )


def test_plugins_are_listed(plugins: Path, cli: Cli) -> None:
    ran = cli("plugin list")

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "The following compatible plugins are available:",
        "",
        *(str(plugins / name) for name in ("kubectl-get", "kubectl-greet", "kubectl-greet-all")),
    ]
    assert ran.err.splitlines() == [
        '  - warning: kubectl-get overwrites existing command: "masthead get"',
        "masthead plugin list: one plugin warning was found",
    ]
    (plugins / "kubectl-get").unlink()
    ran = cli("plugin list --name-only")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[2:] == ["kubectl-greet", "kubectl-greet-all"]


@needs_current_kubectl
@pytest.mark.parametrize("line", ["plugin list", "plugin list --name-only"])
def test_the_list_is_that_of_kubectl(line: str, plugins: Path, cli: Cli) -> None:
    assert plugins.exists()
    theirs = subprocess.run([str(KUBECTL), *line.split()], capture_output=True, text=True, check=False, timeout=60)
    ours = cli(line)

    assert (ours.out, bool(ours.code)) == (theirs.stdout, bool(theirs.returncode))


def test_without_plugins_the_list_says_so(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    ran = cli("plugin list")

    assert (ran.code, ran.out) == (1, "")
    assert "unable to find any kubectl plugins in your PATH" in ran.err
