"""Streams in a fresh process, whose threads use them for the first time at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = """
import threading
import masthead
from masthead.api.core.v1 import Container, Pod

with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
    pods = client.core_v1.pods("default")
    pods.create(Pod.new("web", spec={"containers": [Container(name="app", image="app")]}))
    server.kubelet.start("web")
    problems = []

    @server.kubelet.exec("web", command="mirror")
    def mirror(process):
        process.stdout.write(process.stdin.read())

    start = threading.Barrier(12)

    def run(number):
        start.wait()
        try:
            for _ in range(5):
                sent = bytes([number]) * 100_000
                assert pods.exec("web", ["mirror"], stdin=sent).stdout == sent
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems
"""


@pytest.mark.slow
@pytest.mark.parametrize("time", range(3))
def test_threads_that_run_their_first_commands_at_once_neither_crash_nor_mix_their_streams(time: int) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", COMMANDS], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, ""), time
