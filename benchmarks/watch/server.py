"""A server that is never the bottleneck: it knows nothing but pods, and every response is written beforehand.

    python -m benchmarks.watch.server KUBECONFIG --pods 5000

writes a kubeconfig, prints where it listens, and runs until it is stopped. It lists its pods, all at once or in
pages, and watches them, with or without initial events. Each watch stays silent until a client requests
``/go?events=N``: then N updates come as fast as the socket takes them, one pod after the other, each in a chunk of
its own, as kube-apiserver sends them. ``/expire`` ends the watches that are open with 410 Gone. One namespace has just
one pod, to try things with.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import gc
import itertools
import json
import signal
import socketserver
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

from benchmarks.harness import pods
from benchmarks.harness.measure import positive
from benchmarks.watch.clients import LISTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

PODS: Final = "/api/v1/pods"
"""Where all pods are."""
ONE: Final = "one"
"""The namespace that has one."""

_AT_ONCE: Final = 64
"""How many events are handed to the socket together."""
_ENDS_WITHIN: Final = 0.02
"""Seconds until a stop is forced."""
_VERSION: Final = b'"resourceVersion":"'
_STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
_INITIAL_EVENTS_END: Final = (
    b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)
_EXPIRED: Final = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)
_VERSION_OF_SERVER: Final = b'{"major":"1","minor":"36","gitVersion":"v1.36.0"}'
_NOT_FOUND: Final = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"only pods are here",'
    b'"reason":"NotFound","code":404}'
)


@dataclasses.dataclass(frozen=True)
class Update:
    """An update of a pod in its chunk, but for the version.

    Attributes:
        head: What comes before it.
        tail: What comes behind it.
    """

    head: bytes
    tail: bytes

    @classmethod
    def of(cls, pod: bytes) -> Update:
        """Write the update of a pod."""
        before, _, rest = pod.partition(_VERSION)
        head = b'{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1",' + before[1:] + _VERSION
        tail = rest[rest.index(b'"') :] + b"}\n"
        length = len(head) + len(b"%d" % LISTED) + len(tail)
        return cls(b"%x\r\n" % length + head, tail + b"\r\n")


class Collection:
    """The pods, and the responses about them."""

    def __init__(self, count: int) -> None:
        self._pods = [text.encode() for text in pods.texts(count)]

    @functools.cached_property
    def _updates(self) -> list[Update]:
        return [Update.of(pod) for pod in self._pods]

    def page(self, start: int, limit: int) -> bytes:
        """A list from one pod on, of at most so many; of all, if the limit is 0."""
        end = min(start + limit, len(self._pods)) if limit else len(self._pods)
        left = len(self._pods) - end
        more = b',"continue":"%d","remainingItemCount":%d' % (end, left) if left else b""
        head = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"%b},"items":['
        return head % (LISTED, more) + b",".join(self._pods[start:end]) + b"]}"

    def initial_events(self) -> Iterator[bytes]:
        """Chunks: every pod, and the bookmark behind the last one."""
        for pod in self._pods:
            yield _chunk(b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1",' + pod[1:] + b"}\n")
        yield _chunk(_INITIAL_EVENTS_END % LISTED)

    def updates(self, count: int) -> Iterator[bytes]:
        """Chunks: so many updates, of one pod after the other."""
        for number in range(count):
            update = self._updates[number % len(self._updates)]
            yield b"%b%d%b" % (update.head, LISTED + 1 + number, update.tail)


@dataclasses.dataclass
class Signal:
    """Signals when to send updates, and how many.

    Attributes:
        events: How many.
        given: Whether they are to come.
    """

    events: int = 0
    given: threading.Event = dataclasses.field(default_factory=threading.Event)


class Server(socketserver.ThreadingTCPServer):
    """Listens on a port of its own; each connection has a thread."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, collection: Collection) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.collections = {PODS: collection, f"/api/v1/namespaces/{ONE}/pods": Collection(1)}
        self.signal = Signal()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def write_kubeconfig(self, path: Path) -> None:
        """Write how to connect, as JSON, which YAML includes."""
        path.write_text(json.dumps(kubeconfig(self.url)), encoding="utf-8")


def kubeconfig(url: str, *, token: str = "", ca_file: str = "") -> dict[str, object]:
    """The least that a kubeconfig must say."""
    cluster = {"server": url, **({"certificate-authority": ca_file} if ca_file else {})}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }


class _Connection(socketserver.StreamRequestHandler):
    """Answers the requests of one connection, until the other side hangs up."""

    disable_nagle_algorithm = True

    @property
    def _ours(self) -> Server:
        assert isinstance(self.server, Server)
        return self.server

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            while target := self._next_target():
                self._answer(target)

    def _next_target(self) -> str:
        """Read a request without a body; gives its target, or nothing at the end."""
        line = self.rfile.readline()
        while self.rfile.readline() not in {b"\r\n", b""}:
            pass
        return line.split(b" ")[1].decode() if line else ""

    def _answer(self, target: str) -> None:
        parts = urlsplit(target)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        collection = self._ours.collections.get(parts.path)
        if collection is not None and query.get("watch", "").lower() in {"true", "1"}:
            self._watch(collection, initial=query.get("sendInitialEvents") == "true")
        elif collection is not None:
            self._send(collection.page(int(query.get("continue", 0)), int(query.get("limit", 0))))
        elif parts.path == "/go":
            self._ours.signal.events = int(query["events"])
            self._ours.signal.given.set()
            self._send(b"{}")
        elif parts.path == "/expire":
            self._ours.signal.given.set()
            self._ours.signal = Signal()
            self._send(b"{}")
        elif parts.path.rstrip("/") == "/version":
            self._send(_VERSION_OF_SERVER)
        else:
            self._send(_NOT_FOUND, b"404 Not Found")

    def _watch(self, collection: Collection, *, initial: bool) -> None:
        self.request.sendall(_STREAM)
        if initial:
            self._send_all(collection.initial_events())
        signalled = self._ours.signal
        signalled.given.wait()
        if not signalled.events:
            self._send_all([_chunk(_EXPIRED), b"0\r\n\r\n"])
            return
        self._send_all(collection.updates(signalled.events))
        self.rfile.read()  # until the other side hangs up

    def _send_all(self, chunks: Iterable[bytes]) -> None:
        for together in grouped(chunks, _AT_ONCE):
            self.request.sendall(b"".join(together))

    def _send(self, body: bytes, status: bytes = b"200 OK") -> None:
        head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.request.sendall(head % (status, len(body)) + body)


def _chunk(line: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(line), line)


def grouped(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """So many items together, and in the end what is left."""
    rest = iter(items)
    while group := list(itertools.islice(rest, size)):
        yield group


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig", type=Path, help="where to write it")
    parser.add_argument("--pods", type=positive, default=5_000)
    options = parser.parse_args()
    stop = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)  # so that only this thread receives them
    with Server(Collection(options.pods)) as server:
        gc.freeze()
        gc.disable()
        server.write_kubeconfig(options.kubeconfig)
        threading.Thread(target=server.serve_forever, args=(_ENDS_WITHIN,), daemon=True).start()
        print(server.url, flush=True)
        signal.sigwait(stop)
        server.shutdown()


if __name__ == "__main__":
    main()
