"""Types used for the first time by several threads at once, each time in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("first_uses.py")
COUNT = int(os.environ.get("MASTHEAD_FRESH_PROCESSES", "40"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(COUNT))
def test_threads_that_use_types_for_the_first_time_at_once_neither_crash_nor_fail(seed: int) -> None:
    done = subprocess.run([sys.executable, PROGRAM, str(seed)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


PLAIN_PROGRAM = """
import masthead
from masthead.api.core.v1 import Container, Pod

with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
    factory = masthead.SharedInformerFactory(client)
    factory.core_v1.pods.informer.add_event_handler(on_add=lambda pod: pod.spec.containers[0].image)
    with factory:
        factory.wait_for_cache_sync(timeout=60)
        for number in range(5):
            new = Pod.new(f"p{number}", spec={"containers": [Container(name="web", image="nginx")]})
            assert client.core_v1.pods("default").create(new).spec.containers[0].image == "nginx"
"""


@pytest.mark.slow
@pytest.mark.parametrize("time", range(5))
def test_a_minimal_program_with_a_handler_exits_cleanly(time: int) -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN_PROGRAM], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, ""), time


REGISTRY = """
import threading
from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.registry import registry

start, problems = threading.Barrier(24), []

def look_up(number):
    start.wait()
    try:
        if number % 2:
            registry.kind_of(GroupVersionResource("apps", "v1", "deployments"))
        else:
            registry.class_of(GroupVersionKind("", "v1", "Pod"))
    except Exception as error:
        problems.append(error)

threads = [threading.Thread(target=look_up, args=[number]) for number in range(24)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not problems, problems
"""


@pytest.mark.parametrize("time", range(5))
def test_every_thread_finds_every_kind_from_the_first_call_on(time: int) -> None:
    done = subprocess.run([sys.executable, "-c", REGISTRY], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, ""), time


FORKING = """
import os, signal, threading, warnings
import msgspec
from masthead._meta import typeinfo

warnings.simplefilter("ignore")  # Python 3.12 and newer advise against forks beside threads
building, go_on = threading.Event(), threading.Event()

def slow():  # is evaluated while the type is built
    building.set()
    go_on.wait()
    return int

class Slow(msgspec.Struct):
    field: "slow()"

builder = threading.Thread(target=typeinfo.json_decoder, args=[Slow])
builder.start()
building.wait()
os.register_at_fork(before=go_on.set)  # runs before what was registered earlier
child = os.fork()
if not child:
    signal.alarm(60)
    assert typeinfo.decode_json(b'{"field": 1}', Slow).field == 1
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
builder.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_waits_until_no_type_is_half_built() -> None:
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
