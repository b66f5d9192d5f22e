"""The official Python client applies on the embedded server as it does on a real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.server.kubectl import KUBECTL

if TYPE_CHECKING:
    from tests.real.both_servers import BothServers

PYTHON = os.environ.get("PEERS_PYTHON", sys.executable)
"""An interpreter that has the official client."""
SCRIPT = Path(__file__).with_name("official_client.py")


def has_client() -> bool:
    return not subprocess.run([PYTHON, "-c", "import kubernetes"], capture_output=True, check=False).returncode


pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]


def test_server_side_apply_of_the_dynamic_client_does_the_same(both: BothServers) -> None:
    if not has_client():
        pytest.skip(f"{PYTHON} has no kubernetes (see PEERS_PYTHON)")
    said = both.program(PYTHON, str(SCRIPT), both.namespace).stdout

    assert 'conflict with \\"first\\"' in said
    assert ("typed", "Update", "") in both.managers("deployment/web")
