"""``masthead ui``: its address, and what it refuses. tests/ui tests the page."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.terminal import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran


def ask(address: str, path: str, session: str = "", body: bytes | None = None) -> Any:
    headers = {"Authorization": f"Bearer {session}"} if session else {}
    request = urllib.request.Request(f"{address}{path}", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read())


@pytest.mark.slow
def test_it_serves_a_cluster_until_ctrl_c(environ: dict[str, str]) -> None:
    line = [*COMMAND, "ui", "pods,wd", "-A", "--no-browser"]
    with subprocess.Popen(line, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/#token=(\S+)\n", process.stdout.readline())
        assert found is not None
        address, token = found.groups()
        session = ask(address, "/session", body=json.dumps({"token": token}).encode())["session"]
        kinds = {kind["plural"]: kind for kind in ask(address, "/api/hello", session)["kinds"]}
        pods = ask(address, f"/api/table?kind={kinds['pods']['number']}", session)
        widgets = ask(address, f"/api/table?kind={kinds['widgets']['number']}", session)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert pods["names"] == ["web-1", "web-2"]
    # The columns of its definition, which is not among the followed kinds.
    assert [column[0] for column in widgets["columns"]] == ["Name", "Size"]
    assert process.returncode == 130
    assert token not in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ui --host 0.0.0.0", "--allow-remote"),
        ("ui pods --from file.mhr", "name no kinds with --from"),
    ],
)
def test_wrong_options_are_refused(cli: Callable[[str], Ran], line: str, message: str) -> None:
    ran = cli(line)
    assert ran.code == 2
    assert message in ran.err


def test_a_missing_recording_is_named(cli: Callable[[str], Ran]) -> None:
    ran = cli("ui --from nothing.mhr")
    assert ran.code == 1
    assert "nothing.mhr does not exist" in ran.err


def test_unknown_kinds_are_named(cli: Callable[[str], Ran]) -> None:
    ran = cli("ui gizmos --no-browser")
    assert ran.code == 4
    assert "gizmos" in ran.err
