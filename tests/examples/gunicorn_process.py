"""gunicorn as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import masthead

ROOT = Path(__file__).parents[2]
WITHIN = 60.0


class Gunicorn:
    """A running gunicorn.

    Args:
        process: The process; its stderr is the log.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.log = ""
        self.url = self._read_until(r"Listening at: (http://\S+)")

    def get(self, path: str) -> tuple[int, str]:
        """The status and the body of a response."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=WITHIN) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def terminate(self) -> int:
        """Ask it to stop, and return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end, and return its exit code."""
        self.log += self._process.communicate(timeout=WITHIN)[1]
        return self._process.returncode

    def _read_until(self, pattern: str) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.log += line
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"gunicorn has ended:\n{self.log}")


@contextmanager
def gunicorn(kubeconfig: Path, *arguments: str) -> Iterator[Gunicorn]:
    """Run gunicorn on a free port, for the length of a block."""
    command = [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:0", *arguments]
    environ = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "HOME": str(kubeconfig.parent),  # where gunicorn may have its control socket
        "PYTHONPATH": os.pathsep.join([str(ROOT / "examples"), str(ROOT), *filter(None, [os.getenv("PYTHONPATH")])]),
    }
    with subprocess.Popen(command, env=environ, cwd=kubeconfig.parent, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Gunicorn(process)
        finally:
            process.terminate()


def count_watches(client: masthead.Client) -> int:
    """The number of watches of pods that the server has open."""
    metrics = client.rest.get("/metrics", accept="*/*").body.decode()
    found = re.search(r'^apiserver_longrunning_requests\{.*resource="pods".*\} (\d+)$', metrics, re.MULTILINE)
    return int(found[1]) if found else 0


def wait_for_watches(client: masthead.Client, count: int) -> None:
    """Wait until the server has so many open watches of pods; it notices the end of a connection a moment later."""
    never = threading.Event()
    while count_watches(client) != count:
        never.wait(0.01)
