"""The load of the server benchmark: a process of its own that writes, reads and watches pods over HTTP.

    python -m benchmarks.server.load work URL      creates, updates and gets, one kind of request after the other
    python -m benchmarks.server.load watch URL     a burst of updates that many watchers receive
    python -m benchmarks.server.load fill URL      creates, a given number of them

The figures are printed as JSON. Requests come from threads with a connection each; they wait in the system nearly all
of the time, and their bodies are made by filling two places of a text.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

import msgspec

from benchmarks.harness import pods
from benchmarks.harness.measure import positive
from benchmarks.harness.wire import Address, Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from benchmarks.harness.measure import Figures

CONNECTIONS: Final = 16
_WARM_UP: Final = 4
"""Requests of each kind and connection that are not measured: servers make things when they are first needed."""


class _Metadata(msgspec.Struct):
    resourceVersion: str  # noqa: N815 - the API's name


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Event(msgspec.Struct):
    type: str
    object: _Object


_read_object: Final = msgspec.json.Decoder(_Object).decode
_read_event: Final = msgspec.json.Decoder(_Event).decode


@dataclasses.dataclass(frozen=True)
class Pods:
    """Requests about the pods of one connection.

    Attributes:
        address: Where to send them.
        namespace: Where the pods are.
        owner: The number of the connection, which is in its pods' names.
    """

    address: Address
    namespace: str
    owner: int

    def create(self, number: int) -> bytes:
        """Create a pod."""
        body = pods.new_pod(self.namespace, self._name(number), 0)
        return self.address.request("POST", self._path(), body)

    def update(self, number: int, serial: int) -> bytes:
        """Replace a pod by one with another annotation, without a precondition."""
        body = pods.new_pod(self.namespace, self._name(number), serial)
        return self.address.request("PUT", f"{self._path()}/{self._name(number)}", body)

    def get(self, number: int) -> bytes:
        """Read a pod."""
        return self.address.request("GET", f"{self._path()}/{self._name(number)}")

    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def _name(self, number: int) -> str:
        return f"pod-{self.owner:03d}-{number:07d}"


class Load:
    """A number of connections to one server, and a namespace of their own there; to be closed in the end."""

    def __init__(self, address: Address, connections: int) -> None:
        self.address = address
        self._open = ExitStack()
        self.connections = [self._open.enter_context(Connection(address)) for _ in range(connections)]
        self._threads = self._open.enter_context(ThreadPoolExecutor(connections))
        self.namespace = self._new_namespace()
        self.pods = [Pods(address, self.namespace, owner) for owner in range(connections)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def send_until(self, requests: Sequence[Iterable[bytes]], until: Callable[[], bool]) -> list[int]:
        """Send the requests of each connection in order until it is stopped; return the number of responses."""

        def send_some(connection: Connection, mine: Iterable[bytes]) -> int:
            answered = 0
            for request in mine:
                connection.send(request)
                answered += 1
                if until():
                    break
            return answered

        return list(self._threads.map(send_some, self.connections, requests))

    def send(self, requests: Sequence[Iterable[bytes]]) -> list[bytes]:
        """Send all requests of each connection; returns the responses, in any order."""

        def send_all(connection: Connection, mine: Iterable[bytes]) -> list[bytes]:
            return [connection.send(request) for request in mine]

        responses = self._threads.map(send_all, self.connections, requests)
        return list(itertools.chain.from_iterable(responses))

    def _new_namespace(self) -> str:
        body = json.dumps({"metadata": {"generateName": "benchmark-"}}).encode()
        made = self.connections[0].send(self.address.request("POST", "/api/v1/namespaces", body))
        name: str = json.loads(made)["metadata"]["name"]
        return name


def work(load: Load, seconds: float) -> Figures:
    """Create for a while, then update, then get; returns the seconds that one request took, all connections together.

    With it comes ``client``: the seconds of CPU that this process itself spent on a request.
    """
    load.send([[pod.create(number) for number in range(_WARM_UP)] for pod in load.pods])
    load.send([[pod.update(number, 1) for number in range(_WARM_UP)] for pod in load.pods])
    spent = time.process_time()
    creates, create_time = _timed(load, [_from(_WARM_UP, pod.create) for pod in load.pods], seconds)
    counts = [_WARM_UP + each for each in creates]
    updates, update_time = _timed(load, list(map(_updates, load.pods, counts)), seconds)
    gets, get_time = _timed(load, list(map(_gets, load.pods, counts)), seconds)
    spent = time.process_time() - spent
    return {
        "create": create_time / sum(creates),
        "update": update_time / sum(updates),
        "get": get_time / sum(gets),
        "client": spent / sum([*creates, *updates, *gets]),
    }


def _timed(load: Load, requests: Sequence[Iterable[bytes]], seconds: float) -> tuple[list[int], float]:
    """Send for so long; returns how many requests each connection got answered, and the time until the last was."""
    start = time.perf_counter()
    counts = load.send_until(requests, lambda: time.perf_counter() - start >= seconds)
    return counts, time.perf_counter() - start


def _from(first: int, make: Callable[[int], bytes]) -> Iterator[bytes]:
    return map(make, itertools.count(first))


def _updates(mine: Pods, count: int) -> Iterator[bytes]:
    """Each pod in turn, over and over, and never as it was before."""
    return (mine.update(number % count, 2 + number) for number in itertools.count())


def _gets(mine: Pods, count: int) -> Iterator[bytes]:
    return (mine.get(number % count) for number in itertools.count())


def watch(load: Load, watchers: int, updates: int) -> Figures:
    """Let many watchers see a burst of updates; returns the seconds of one event, and how many went astray.

    The time is from the first update to the last event of the last watcher. Events are looked at after that.
    """
    each_updates = -(-updates // len(load.pods))
    expected = each_updates * len(load.pods)
    load.send([[pod.create(0)] for pod in load.pods])
    path = f"/api/v1/namespaces/{load.namespace}/pods"
    listed = load.connections[0].send(load.address.request("GET", f"{path}?limit=1"))
    version = _read_object(listed).metadata.resourceVersion
    begin = load.address.request("GET", f"{path}?watch=1&resourceVersion={version}")
    bursts = [[pod.update(0, 1 + serial) for serial in range(each_updates)] for pod in load.pods]
    with ExitStack() as stack:
        streams = [stack.enter_context(Connection(load.address)).lines(begin) for _ in range(watchers)]
        threads = stack.enter_context(ThreadPoolExecutor(watchers))
        start = time.perf_counter()
        reading = [threads.submit(_take, stream, expected) for stream in streams]
        responses = load.send(bursts)
        seen = [each.result() for each in reading]
        spent = time.perf_counter() - start
    written = [_version_of(response) for response in responses]
    missing = sum(astray(written, [_version_of_event(line) for line in lines]) for lines in seen)
    return {"event": spent / (expected * watchers), "astray": missing}


def _take(lines: Iterator[bytes], count: int) -> list[bytes]:
    return list(itertools.islice(lines, count))


def _version_of(response: bytes) -> int:
    return int(_read_object(response).metadata.resourceVersion)


def _version_of_event(line: bytes) -> int:
    """The version that a change made; 0 for what is no change."""
    event = _read_event(line)
    return int(event.object.metadata.resourceVersion) if event.type == "MODIFIED" else 0


def astray(written: Iterable[int], seen: Sequence[int]) -> int:
    """Count the positions at which a watcher did not receive the expected event: every write, in order."""
    pairs = itertools.zip_longest(sorted(written), seen)
    return sum(expected != received for expected, received in pairs)


def fill(load: Load, count: int) -> Figures:
    """Create so many pods; returns the bytes of one as the server answers it."""
    share = -(-count // len(load.pods))
    load.send_until([map(pod.create, range(share)) for pod in load.pods], lambda: False)
    return {"pods": share * len(load.pods), "bytes": len(load.connections[0].send(load.pods[0].get(0)))}


def main() -> None:
    """Load one server."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("work", "watch", "fill"))
    parser.add_argument("url")
    parser.add_argument("--token", default="", help="to be let in")
    parser.add_argument("--connections", type=positive, default=CONNECTIONS)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each kind of request (work)")
    parser.add_argument("--watchers", type=positive, default=100, help="how many (watch)")
    parser.add_argument("--updates", type=positive, default=160, help="of the burst (watch)")
    parser.add_argument("--count", type=positive, default=10_000, help="of pods (fill)")
    options = parser.parse_args()
    with Load(Address(options.url, options.token), options.connections) as load:
        print(json.dumps(_run(load, options)), flush=True)


def _run(load: Load, options: argparse.Namespace) -> Figures:
    if options.what == "work":
        return work(load, options.seconds)
    if options.what == "watch":
        return watch(load, options.watchers, options.updates)
    return fill(load, options.count)


if __name__ == "__main__":
    main()
