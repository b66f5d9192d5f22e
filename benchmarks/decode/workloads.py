"""What the decode benchmark measures: ways to read a list of pods, or one pod.

Run as a program, it takes one measurement of one of them and prints it as JSON. What is imported or made once per
process (modules, decoders) is not measured: a list of one pod is read before the clock starts.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import importlib
import inspect
import json
import os
import sys
import time
import tracemalloc
import types
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead.api.core.v1 import PodList

    Read: TypeAlias = Callable[[bytes], object]
    """Reads bytes and returns what a program would hold on to."""


# -- Ways to read ------------------------------------------------------------------------------------------


def _json() -> Read:
    return json.loads


def _plain() -> Read:
    import msgspec

    return msgspec.json.Decoder().decode


def _lazy() -> Read:
    from masthead.api.core.v1 import PodList

    return PodList.from_json


def _nested() -> Read:
    from masthead.api.core.v1 import PodList

    def read(data: bytes) -> PodList:
        pods = PodList.from_json(data)
        for pod in pods:
            _ = pod.spec.node_name
        return pods

    return read


def _full() -> Read:
    from masthead.api.core.v1 import PodList

    def read(data: bytes) -> PodList:
        pods = PodList.from_json(data)
        for pod in pods:
            _ = pod.spec, pod.status, pod.metadata.managed_fields
        return pods

    return read


def _one() -> Read:
    from masthead.api.core.v1 import Pod

    return Pod.from_wire


def _one_nested() -> Read:
    from masthead.api.core.v1 import Pod

    def read(data: bytes) -> Pod:
        pod = Pod.from_wire(data)
        _ = pod.spec.node_name
        return pod

    return read


def _lightkube() -> Read:
    pod: Any = importlib.import_module("lightkube.resources.core_v1").Pod
    if util.find_spec("lightkube.core.decoders") is None:  # before 1.0

        def read(data: bytes) -> object:
            return [pod.from_dict(item) for item in json.loads(data)["items"]]

        return read
    decode: Any = importlib.import_module("lightkube.core.decoders").decode_list
    return lambda data: decode(data, pod)[-1]


def _lightkube_nested() -> Read:
    read = _lightkube()

    def read_nested(data: bytes) -> object:
        pods: Any = read(data)
        for pod in pods:
            _ = pod.spec.nodeName
        return pods

    return read_nested


def _kubernetes() -> Read:
    client: Any = importlib.import_module("kubernetes.client")
    deserialize = client.ApiClient().deserialize
    if "response_text" in inspect.signature(deserialize).parameters:
        return lambda data: deserialize(data.decode(), "V1PodList", "application/json")
    return lambda data: deserialize(types.SimpleNamespace(data=data.decode()), "V1PodList")


def _kubernetes_nested() -> Read:
    read = _kubernetes()

    def read_nested(data: bytes) -> object:
        pods: Any = read(data)
        for pod in pods.items:
            _ = pod.spec.node_name
        return pods

    return read_nested


@dataclasses.dataclass(frozen=True)
class Workload:
    """A way to read pods.

    Attributes:
        title: What the report calls it.
        start: Imports what it needs, and returns what does the work.
        peer: The package that it needs beside ours.
        at_most: It is so slow that this many pods are enough.
    """

    title: str
    start: Callable[[], Read]
    peer: str = ""
    at_most: int = sys.maxsize

    @property
    def is_installed(self) -> bool:
        """Whether the peer, if it needs one, is there."""
        return not self.peer or util.find_spec(self.peer) is not None

    def label(self, pods: int) -> str:
        """Its title, with the peer's version and the number of pods if that is another."""
        title = self.title
        if self.peer:
            title = title.replace(self.peer, f"{self.peer} {metadata.version(self.peer)}", 1)
        return title if pods <= self.at_most else f"{title} ({self.at_most:,} pods)"


LISTS: Final[Mapping[str, Workload]] = {
    "json": Workload("json.loads", _json),
    "plain": Workload("msgspec, plain dicts", _plain),
    "lazy": Workload("masthead, as it comes", _lazy),
    "nested": Workload("masthead, spec.node_name of each", _nested),
    "full": Workload("masthead, every section of each", _full),
    "lightkube": Workload("lightkube", _lightkube, peer="lightkube"),
    "lightkube-nested": Workload("lightkube, spec.nodeName of each", _lightkube_nested, peer="lightkube"),
    "kubernetes": Workload("kubernetes", _kubernetes, peer="kubernetes", at_most=1000),
    "kubernetes-nested": Workload(
        "kubernetes, spec.node_name of each", _kubernetes_nested, peer="kubernetes", at_most=1000
    ),
}
"""Ways to read a PodList."""

SINGLES: Final[Mapping[str, Workload]] = {
    "one-json": Workload("json.loads", _json),
    "one-lazy": Workload("masthead, as it comes", _one),
    "one-nested": Workload("masthead, spec.node_name", _one_nested),
}
"""Ways to read one Pod."""


# -- Ways to measure ---------------------------------------------------------------------------------------


def _cpu_time(read: Read, data: bytes, calls: int) -> float:
    """CPU seconds of the calls, with the garbage collector as Python has it."""
    gc.collect()
    held: object = None
    start = time.process_time()
    for _ in range(calls):
        held = read(data)
    spent = time.process_time() - start
    del held
    return spent


def _cpu_time_without_gc(read: Read, data: bytes, calls: int) -> float:
    """CPU seconds of the calls, with the garbage collector off."""
    gc.collect()
    gc.disable()
    return _cpu_time(read, data, calls)


def _traced(read: Read, data: bytes, calls: int) -> float:
    """Bytes held after one call, as Python's allocators count them."""
    del calls
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    held = read(data)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    del held
    return after - before


def _resident(read: Read, data: bytes, calls: int) -> float | None:
    """Bytes that the process has grown by after one call, as the system counts them."""
    del calls
    gc.collect()
    before = _resident_now()
    held = read(data)
    gc.collect()
    after = _resident_now()
    del held
    return None if before is None or after is None else after - before


def _resident_now() -> int | None:
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except FileNotFoundError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


MEASURES: Final[Mapping[str, Callable[[Read, bytes, int], float | None]]] = {
    "cpu": _cpu_time,
    "cpu-without-gc": _cpu_time_without_gc,
    "traced": _traced,
    "resident": _resident,
}
"""What can be measured of each."""


def main() -> None:
    """Take one measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("measure", choices=MEASURES)
    parser.add_argument("workload", choices=[*LISTS, *SINGLES])
    parser.add_argument("data", type=Path, help="what to read")
    parser.add_argument("warm", type=Path, help="what to read before")
    parser.add_argument("--calls", type=int, default=1)
    options = parser.parse_args()
    read = {**LISTS, **SINGLES}[options.workload].start()
    read(options.warm.read_bytes())
    measured = MEASURES[options.measure](read, options.data.read_bytes(), options.calls)
    print(json.dumps({"measured": measured}), flush=True)
    os._exit(0)  # taking millions of objects down takes as long as making them


if __name__ == "__main__":
    main()
