"""``masthead version``: client and server, and only the client where there is no server."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from tests.server.kubectl import Kubectl, needs_current_kubectl

from masthead._cli.commands.version import skew_problem
from masthead._cli.diagnosis import OLDEST, TESTED
from masthead._meta.yaml import load_one

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    from masthead.server import Server

    Cli = Callable[..., Ran]

CLIENT = f"Client Version: v{version('masthead-k8s')}\nKubernetes API: v{TESTED[0]}.{TESTED[1]}\n"


def test_it_names_client_and_server(cli: Cli) -> None:
    ran = cli("version")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{CLIENT}Server Version: v1.36.4\n"


@needs_current_kubectl
def test_the_server_is_described_as_by_kubectl(cli: Cli, server: Server, tmp_path: Path) -> None:
    expected = Kubectl(server, tmp_path).json("version")

    printed = json.loads(cli("version -o json").out)
    assert printed["serverVersion"] == expected["serverVersion"]
    # goVersion and the commit are of no use here.
    assert {"major", "minor", "gitVersion", "platform"} <= printed["clientVersion"].keys()


def test_the_client_alone_needs_no_cluster(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))

    assert cli("version --client").out == CLIENT
    printed = load_one(cli("version --client -o yaml").out)
    assert isinstance(printed, dict)
    assert list(printed) == ["clientVersion", "kubernetesVersion"]


def test_without_a_server_the_client_is_printed_before_the_error(cli: Cli) -> None:
    ran = cli("version --server http://127.0.0.1:1")

    assert (ran.code, ran.out) == (3, CLIENT)
    assert ran.err.startswith("masthead version: get /version: 127.0.0.1:1 refused the connection\n")
    assert "serverVersion" not in json.loads(cli("version --server http://127.0.0.1:1 -o json").out)


def test_without_a_configuration_the_client_is_printed_before_the_error(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))

    ran = cli("version")

    assert (ran.code, ran.out) == (3, CLIENT)
    assert "no cluster was found" in ran.err


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        (TESTED, ""),
        (OLDEST, ""),
        ((1, 38), ""),
        ((0, 0), ""),
        (
            (1, 29),
            "version difference between client (1.36) and server (1.29) exceeds the supported minor version skew",
        ),
        (
            (1, 39),
            "version difference between client (1.36) and server (1.39) exceeds the supported minor version skew",
        ),
        (
            (2, 36),
            "version difference between client (1.36) and server (2.36) exceeds the supported minor version skew",
        ),
    ],
)
def test_a_server_that_is_too_old_or_too_new_is_warned_of(number: tuple[int, int], problem: str) -> None:
    assert skew_problem(number).startswith(problem)
    assert bool(skew_problem(number)) == bool(problem)


@pytest.mark.parametrize("line", ["version x", "version -o table", "version --server"])
def test_wrong_arguments_are_refused(line: str, cli: Cli) -> None:
    assert cli(line).code == 2
