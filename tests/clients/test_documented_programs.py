"""The programs of ``docs/works-with-your-client.md``, each with the client that it is for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import masthead.server

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "works-with-your-client.md"
PROGRAMS: Final = dict(
    re.findall(r"^### ([\w-]+)\n\n```py\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
)
(GO_PROGRAM,) = re.findall(r"^```go\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
MODULES: Final = {"pykube-ng": "pykube"}
GO_MODULE: Final = os.environ.get("MASTHEAD_GO_MODULE", "")


def test_every_client_has_a_program() -> None:
    assert set(PROGRAMS) == {"kopf", "kr8s", "kubernetes", "kubernetes_asyncio", "lightkube", "pykube-ng"}


@pytest.mark.slow
@pytest.mark.parametrize("client", PROGRAMS)
def test_the_program_of_a_client_passes(client: str, tmp_path: Path) -> None:
    pytest.importorskip(MODULES.get(client, client), reason=f"{client} is not installed")
    (tmp_path / "test_program.py").write_text(PROGRAMS[client], "utf-8")
    (tmp_path / "pytest.ini").touch()

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert re.search(r"^1 passed", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not (GO_MODULE and shutil.which("go")), reason="MASTHEAD_GO_MODULE names no module of Go")
def test_the_program_in_go_finds_the_server_by_its_kubeconfig(tmp_path: Path) -> None:
    program = tmp_path / "main.go"
    program.write_text(GO_PROGRAM, "utf-8")

    with masthead.server.run() as server:
        kubeconfig = server.write_kubeconfig(tmp_path / "config")
        done = subprocess.run(
            ["go", "run", str(program)],
            cwd=GO_MODULE,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert (done.stdout, done.returncode) == ("default Active\n", 0), done.stderr
