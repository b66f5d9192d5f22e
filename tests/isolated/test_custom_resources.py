"""Custom resources in fresh processes: threads define and use them first, and a fork inherits them."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
import masthead
from masthead.meta import Struct

ready, found, problems = threading.Barrier(6), [], []

def work(number):
    ready.wait()
    try:
        class Part(Struct):
            size: int = 3
            names: list[str] = ["a"]
        class Spec(Struct, rules=["self.part.size > 0"]):
            part: Part = Part(size=number + 1)
            image: str
        class Thing(masthead.CustomResource, group="example.com", version="v1", kind=f"Thing{number}"):
            spec: Spec
        thing = Thing.from_wire(b'{"metadata":{"name":"x"},"spec":{"image":"i"}}')
        assert thing.spec.part.size == number + 1 and thing.spec.part.names == ["a"]
        assert masthead.crd.validate(thing) == []
        found.append(Thing.to_crd().metadata.name)
    except BaseException as error:
        problems.append(repr(error))

threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for each in threads: each.start()
for each in threads: each.join()
assert not problems, problems
assert sorted(found) == [f"thing{number}s.example.com" for number in range(6)], found
"""


@pytest.mark.parametrize("time", range(3))
def test_threads_define_and_use_the_first_classes_of_a_process(time: int) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, ""), time


def test_a_client_loads_nothing_of_it_before_it_is_used() -> None:
    program = (
        "import sys, masthead; masthead.Client\n"
        "assert not [each for each in sys.modules if each.startswith(('masthead._customresource', 'masthead._cel'))]"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
