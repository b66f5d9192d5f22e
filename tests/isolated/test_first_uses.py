"""Types used for the first time by several threads at once, each time in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("first_uses.py")
COUNT = int(os.environ.get("MASTHEAD_FRESH_PROCESSES", "40"))


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


@pytest.mark.parametrize("time", range(5))
def test_the_plainest_program_with_a_handler_ends_well(time: int) -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN_PROGRAM], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, ""), time


REGISTRY = """
import threading
from masthead.meta.gvk import GroupVersionKind, GroupVersionResource
from masthead.meta.registry import registry

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
import os, sys, threading, warnings
warnings.simplefilter("ignore")  # Python 3.12 and newer advise against what is done here
sys.setswitchinterval(1e-6)
sys.path.insert(0, sys.argv[1])
import difflib, first_uses
import masthead.api.core.v1, masthead.meta.registry  # a fork in the middle of an import is Python's own trouble

start = threading.Barrier(5)
def work(actions):
    start.wait()
    for action in actions: action(None)

for actions in ([first_uses.from_wire], [first_uses.a_list], [first_uses.from_dict], [first_uses.new]):
    threading.Thread(target=work, args=[actions]).start()
start.wait()
for _ in range(8):
    child = os.fork()
    if not child:
        first_uses.from_json(None)
        first_uses.copies(None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("time", range(5))
def test_a_process_that_was_forked_off_meanwhile_uses_types_as_well(time: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, str(PROGRAM.parent)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, ""), time
