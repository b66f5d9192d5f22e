"""What ``masthead run`` says before it runs."""

from __future__ import annotations

import logging
import socket
import sys
import warnings
from typing import TYPE_CHECKING

import pytest

from masthead._cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
import masthead
from masthead.api.core.v1 import ConfigMap

app = masthead.Manager()
empty = masthead.Manager()

@app.controller(ConfigMap)
async def reconcile(ctx, settings): ...
"""
KUBECONFIG = """
current-context: here
clusters: [{name: here, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: here, context: {cluster: here}}]
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program to run, in a process whose logging, path and modules are put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "wrong_app.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG, "utf-8")
    root = logging.getLogger()
    handlers, level, show = root.handlers[:], root.level, warnings.showwarning
    yield tmp_path
    logging.captureWarnings(capture=False)
    warnings.showwarning = show
    root.handlers[:], root.level = handlers, level
    sys.modules.pop("wrong_app", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "masthead run: there is no module 'missing'"),
        (["missing.py", "--reload"], "masthead run: there is no file missing.py"),
        (["wrong_app:other"], "masthead run: wrong_app has no attribute 'other'; write :app or :empty"),
        (["wrong_app", "--namespace", "Web"], "masthead run: namespaces: 'Web' may hold only"),
        (["wrong_app", "--metrics-bind", "8080"], "masthead run: metrics_bind: '8080' is not an address"),
        (["wrong_app", "--log-level", "loud"], "masthead run: log_level must be DEBUG"),
        (["wrong_app", "--graceful-timeout", "-1"], "masthead run: graceful_timeout must be a number"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--kubeconfig", "/no/such/file"], "masthead run: /no/such/file: does not exist"),
        (
            ["--kubeconfig", "kubeconfig", "--context", "no"],
            "masthead run: kubeconfig: there is no context 'no'",
        ),
        ([], "masthead run: no cluster was found: KUBECONFIG is not set"),
    ],
)
def test_that_there_is_no_cluster_has_a_code_of_its_own(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/no/such/home")
    assert main(["run", "wrong_app", *arguments]) == 3
    assert capsys.readouterr().err.startswith(line)


def test_a_manager_without_controllers_has_nothing_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "wrong_app:empty", "--kubeconfig", "kubeconfig"]) == 2
    assert capsys.readouterr().err.startswith("masthead run: there is nothing to run\nhint: register")


def test_a_port_that_is_taken_is_an_argument_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ["--kubeconfig", "kubeconfig", "--probe-bind", address, "--metrics-bind", "0"]
        assert main(["run", "wrong_app", *arguments]) == 2
    line, hint = capsys.readouterr().err.splitlines()[-2:]
    assert f"cannot listen on {address}" in line
    assert hint.startswith("hint: choose another address")


def test_a_variable_that_is_invalid_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MASTHEAD_SHARDING", "perhaps")
    assert main(["run", "wrong_app"]) == 2
    said = capsys.readouterr().err
    assert said == "masthead run: environment variable MASTHEAD_SHARDING='perhaps': write true or false\n"


def test_help_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith("usage: masthead run [-h]")
    for option in ("--reload", "--no-leader-elect", "--log-format", "--namespace", "--debug-bind"):
        assert option in shown


def test_an_interrupt_while_importing_ends_it(project: Path) -> None:
    (project / "wrong_app.py").write_text("raise KeyboardInterrupt", "utf-8")
    assert main(["run", "wrong_app"]) == 130
