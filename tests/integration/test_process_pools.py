"""Process pools beside a running client, with all start methods; and forks while other threads use the library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import masthead

if TYPE_CHECKING:
    from masthead.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")]


def run(module: str, *arguments: str) -> None:
    """Run a program of this folder; fail if it fails, or does not end."""
    # Python warns of every fork of a process with threads, and these programs are about such forks.
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-m", f"{__package__}.{module}"]
    done = subprocess.run(
        [*command, *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_have_clients_and_the_parent_goes_on(kube_server: Server, tmp_path: Path, method: str) -> None:
    run("process_pools", str(kube_server.write_kubeconfig(tmp_path / "kubeconfig")), method)


def test_no_child_hangs_when_other_threads_hold_locks_at_the_fork(tmp_path: Path) -> None:
    # With TLS: OpenSSL has the locks that are held most.
    with masthead.server.run() as server:
        run("forks", str(server.write_kubeconfig(tmp_path / "kubeconfig")), "80")
