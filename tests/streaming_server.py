"""Kubernetes' own streaming code without a cluster: a kubelet-like server whose containers are this machine.

``streamtest`` is looked for where `tests.real_server` looks for its programs.
"""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from masthead.config import Config
from tests.real_server import ASSETS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = ASSETS / "streamtest"


@contextmanager
def streaming_server(log: Path) -> Iterator[Config]:
    """Run it until the end of the block.

    Args:
        log: The file to log to.

    Raises:
        RuntimeError: If it does not start.
    """
    with (
        log.open("wb") as output,
        subprocess.Popen([PROGRAM, "-port", "0"], stdout=subprocess.PIPE, stderr=output) as running,
    ):
        assert running.stdout is not None
        try:
            port = running.stdout.readline().strip()
            if not port:
                raise RuntimeError(f"{PROGRAM} does not start; see {log}")
            yield Config(server=f"http://127.0.0.1:{int(port)}")
        finally:
            running.terminate()
