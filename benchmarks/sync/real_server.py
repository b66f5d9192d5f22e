"""A kube-apiserver that has many pods from the start, for the sync benchmark.

They are put into its etcd as JSON, which it reads as well as what it writes itself: so they are the same as elsewhere,
status and managedFields included, and there within seconds.
"""

from __future__ import annotations

import base64
import contextlib
import json
import urllib.request
from typing import TYPE_CHECKING, Final

import msgspec
from tests.real_server import real_server_in, wait_until

from benchmarks.harness import pods
from benchmarks.requests.clients import namespace_of
from benchmarks.watch.server import grouped, kubeconfig

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from tests.real_server import RealServer

    from benchmarks.harness.measure import Lab

_AT_ONCE: Final = 100
"""Puts in a transaction, of which etcd takes up to 128."""


@contextlib.contextmanager
def real_server(lab: Lab, counts: Sequence[int]) -> Generator[Path]:
    """Run a server for the length of a block; gives the path of a kubeconfig.

    Every number of pods has a namespace of its own.

    Raises:
        RuntimeError: if it does not get ready, or does not see its pods.
    """
    state = lab.folder / "real-server"
    state.mkdir()
    with real_server_in(state) as server:
        for count in counts:
            fill(server.etcd, namespace_of(count), count)
        if not wait_until(lambda: all(pods_in(server, namespace_of(count)) == count for count in counts)):
            raise RuntimeError("kube-apiserver does not see the pods that are in its etcd")
        path = lab.folder / "kubeconfig"
        found = kubeconfig(server.url, token=server.token, ca_file=str(server.ca_file))
        path.write_text(json.dumps(found), encoding="utf-8")
        yield path


def fill(etcd: str, namespace: str, count: int) -> None:
    """Put so many pods into a namespace, given the address of the server's etcd."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    puts = ({"requestPut": put} for put in _puts(namespace, count))
    for together in grouped(puts, _AT_ONCE):
        request = urllib.request.Request(f"{etcd}/v3/kv/txn", data=json.dumps({"success": together}).encode())
        with opener.open(request, timeout=60) as response:
            response.read()


def pods_in(server: RealServer, namespace: str) -> int:
    """How many pods a namespace has."""
    page = server.call("GET", f"/api/v1/namespaces/{namespace}/pods?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


def _puts(namespace: str, count: int) -> Iterator[dict[str, str]]:
    for text in pods.texts(count):
        pod = json.loads(text)
        meta = pod["metadata"]
        meta["namespace"] = namespace
        del meta["resourceVersion"]  # which is etcd's own
        value = msgspec.json.encode({"kind": "Pod", "apiVersion": "v1", **pod})
        key = f"/registry/pods/{namespace}/{meta['name']}"
        yield {"key": _base64(key.encode()), "value": _base64(value)}


def _base64(text: bytes) -> str:
    return base64.b64encode(text).decode()
