"""``python -m benchmarks.streams.port_forward_worker CLIENT KUBECONFIG BYTES``: one connection through one client.

It runs in the interpreter of the peers, too, and so imports nothing of ours but in the function that measures us.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import socket
import sys
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_POD: Final = "web"
_NAMESPACE: Final = "default"
_FLOOD, _SINK = 7001, 7002
_PIECE: Final = 2**18


@contextlib.contextmanager
def masthead_listener(kubeconfig: str) -> Generator[Callable[[int], socket.socket]]:
    """Connect to a local port that we forward."""
    import masthead

    with masthead.Client(kubeconfig=kubeconfig) as client:
        forward = client.core_v1.pods(_NAMESPACE).port_forward(_POD, _FLOOD, _SINK)
        with forward as (flood, sink):
            local = {_FLOOD: flood, _SINK: sink}
            yield lambda port: socket.create_connection(("127.0.0.1", local[port]))


@contextlib.contextmanager
def masthead_socket(kubeconfig: str) -> Generator[Callable[[int], socket.socket]]:
    """Connect without a listener, as the official client does."""
    import masthead

    with masthead.Client(kubeconfig=kubeconfig) as client:
        pods = client.core_v1.pods(_NAMESPACE)
        yield lambda port: pods.open_socket(_POD, port)


@contextlib.contextmanager
def official(kubeconfig: str) -> Generator[Callable[[int], socket.socket]]:
    """The client ``kubernetes``, which has sockets only."""
    config: Any = importlib.import_module("kubernetes.config")
    client: Any = importlib.import_module("kubernetes.client")
    stream: Any = importlib.import_module("kubernetes.stream")
    config.load_kube_config(kubeconfig)
    api = client.CoreV1Api()

    def connect(port: int) -> socket.socket:
        forward = stream.portforward(api.connect_get_namespaced_pod_portforward, _POD, _NAMESPACE, ports=str(port))
        opened: socket.socket = forward.socket(port)
        opened.setblocking(True)
        return opened

    yield connect


@contextlib.contextmanager
def kr8s(kubeconfig: str) -> Generator[Callable[[int], socket.socket]]:
    """The client kr8s, which listens on local ports."""
    peer: Any = importlib.import_module("kr8s")
    objects: Any = importlib.import_module("kr8s.objects")
    pod = objects.Pod.get(_POD, namespace=_NAMESPACE, api=peer.api(kubeconfig=kubeconfig))
    # Its own choice, "auto", is sometimes a port in use.
    with (
        pod.portforward(_FLOOD, local_port=_free_port()) as flood,
        pod.portforward(_SINK, local_port=_free_port()) as sink,
    ):
        local: dict[int, int] = {_FLOOD: flood, _SINK: sink}
        yield lambda port: socket.create_connection(("127.0.0.1", local[port]))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


CLIENTS: Final = {
    "masthead": masthead_listener,
    "masthead-socket": masthead_socket,
    "kubernetes": official,
    "kr8s": kr8s,
}


def download(connection: socket.socket, size: int) -> float:
    """Seconds until all bytes are read."""
    begun = time.perf_counter()
    connection.sendall(b"%d\n" % size)
    left = size
    while left > 0:
        piece = connection.recv(min(left, _PIECE))
        if not piece:
            raise RuntimeError(f"the connection ended {left} bytes too early")
        left -= len(piece)
    return time.perf_counter() - begun


def upload(connection: socket.socket, size: int) -> float:
    """Seconds until the pod has confirmed all bytes."""
    begun = time.perf_counter()
    piece = bytes(_PIECE)
    connection.sendall(b"%d\n" % size)
    for _ in range(size // _PIECE):
        connection.sendall(piece)
    if int(connection.recv(100)) != size:
        raise RuntimeError("the pod has not received all bytes")
    return time.perf_counter() - begun


def versions() -> dict[str, str]:
    """The installed peers."""
    found: dict[str, str] = {}
    for name in ("kubernetes", "kr8s"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def main() -> None:
    """Measure one client, or say which peers are installed."""
    if sys.argv[1] == "installed":
        print(json.dumps(versions()))
        return
    name, kubeconfig, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
    figures: dict[str, float] = {}
    with CLIENTS[name](kubeconfig) as connect:
        for direction, port, measure in (("down", _FLOOD, download), ("up", _SINK, upload)):
            connection = connect(port)
            figures[direction] = measure(connection, size)
            connection.close()
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
