"""kubectl, if it is here: ``MASTHEAD_KUBECTL`` names it, or it is in the folder of the real server, or on the path."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead.server import Server

ASSETS = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/usr/local/kubebuilder/bin")
KUBECTL = os.environ.get("MASTHEAD_KUBECTL") or shutil.which("kubectl", path=str(ASSETS)) or shutil.which("kubectl")
PATIENCE = 30
MINOR = "36"
"""The minor version whose texts the command line follows; others differ in details."""


@cache
def is_current() -> bool:
    """Whether kubectl is here, of the release whose output the commands have."""
    if KUBECTL is None:
        return False
    done = subprocess.run(
        [KUBECTL, "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return f'"minor": "{MINOR}"' in done.stdout


needs_current_kubectl = pytest.mark.skipif(
    not is_current(), reason=f"there is no kubectl of Kubernetes 1.{MINOR}; MASTHEAD_KUBECTL names one"
)


class Kubectl:
    """Runs kubectl with a kubeconfig and a cache of its own."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        config = server.write_kubeconfig(folder / "kubeconfig")
        self.command = [str(KUBECTL), "--kubeconfig", str(config), "--cache-dir", str(folder / "cache")]

    def __call__(self, line: str, **options: Any) -> str:
        """Run a command that must succeed; returns its output."""
        done = self.run(line, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(
        self, line: str, *, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command.

        Args:
            line: Its arguments, separated by blanks.
            stdin: What it reads.
            env: More variables of its environment.
        """
        return subprocess.run(
            [*self.command, *line.split()],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            input=stdin,
            env={**os.environ, **(env or {})},
        )

    def start(self, line: str) -> subprocess.Popen[str]:
        """Start a command, and do not wait for its end."""
        return subprocess.Popen([*self.command, *line.split()], stdout=subprocess.PIPE, text=True)

    def json(self, line: str) -> Any:
        """Run a command that prints JSON."""
        return json.loads(self(f"{line} -o json"))
