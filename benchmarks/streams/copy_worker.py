"""``python -m benchmarks.streams.copy_worker CLIENT KUBECONFIG BYTES``: copies one file to the pod and back.

It runs in the interpreter of the peers, too, and so imports nothing of ours but in the function that measures us.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import resource
import sys
import tarfile
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    Copies = tuple[Callable[[Path, Path], None], Callable[[Path, Path], None]]

_POD: Final = "web"
_NAMESPACE: Final = "default"
_PIECE: Final = 2**20


def masthead_copies(kubeconfig: str, stack: contextlib.ExitStack) -> Copies:
    """Our verbs."""
    import masthead

    pods = stack.enter_context(masthead.Client(kubeconfig=kubeconfig)).core_v1.pods(_NAMESPACE)

    def upload(source: Path, target: Path) -> None:
        pods.copy_to(_POD, source, str(target))

    def download(source: Path, target: Path) -> None:
        pods.copy_from(_POD, str(source), target)

    return upload, download


def official_copies(kubeconfig: str, stack: contextlib.ExitStack) -> Copies:
    """The client ``kubernetes``, which has no cp: tar through its stream, as its users write it."""
    config: Any = importlib.import_module("kubernetes.config")
    client: Any = importlib.import_module("kubernetes.client")
    stream: Any = importlib.import_module("kubernetes.stream")
    config.load_kube_config(kubeconfig)
    api = client.CoreV1Api()

    run: Callable[..., Any] = functools.partial(
        stream.stream,
        api.connect_get_namespaced_pod_exec,
        _POD,
        _NAMESPACE,
        stdout=True,
        stderr=True,
        tty=False,
        binary=True,
        _preload_content=False,
    )

    def upload(source: Path, target: Path) -> None:
        with tempfile.TemporaryFile() as buffer:
            with tarfile.open(fileobj=buffer, mode="w") as archive:
                archive.add(source, target.name)
            size = buffer.tell()
            buffer.seek(0)
            # Most of its versions cannot close stdin, for whose end tar would wait.
            script = f'head -c {size} | tar xf - -C "$1" && echo done'
            running = run(command=["sh", "-c", script, "sh", str(target.parent)], stdin=True)
            while piece := buffer.read(_PIECE):
                running.write_stdin(piece)
            while running.is_open():
                running.update(timeout=1)
        running.close()

    def download(source: Path, target: Path) -> None:
        running = run(command=["tar", "cf", "-", "-C", str(source.parent), source.name], stdin=False)
        with tempfile.TemporaryFile() as buffer:
            while running.is_open():
                running.update(timeout=1)
                if running.peek_stdout():
                    buffer.write(running.read_stdout())
            buffer.write(running.read_stdout(timeout=0))
            buffer.seek(0)
            with tarfile.open(fileobj=buffer) as archive:
                content = archive.extractfile(source.name)
                assert content is not None
                with target.open("wb") as file:
                    while piece := content.read(_PIECE):
                        file.write(piece)

    del stack
    return upload, download


CLIENTS: Final = {"masthead": masthead_copies, "kubernetes": official_copies}


def timed(copy: Callable[[Path, Path], None], source: Path, target: Path) -> float:
    """Seconds until a copy is complete."""
    begun = time.perf_counter()
    copy(source, target)
    taken = time.perf_counter() - begun
    if target.stat().st_size != source.stat().st_size:
        raise RuntimeError(f"{target} has {target.stat().st_size} bytes of {source.stat().st_size}")
    return taken


def measured(client: str, kubeconfig: str, size: int) -> dict[str, float]:
    """Copy a file to the pod, and back; and how much memory that took at most."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        source = Path(folder, "source")
        with source.open("wb") as file:
            for _ in range(max(size // _PIECE, 1)):
                file.write(os.urandom(_PIECE))
        upload, download = CLIENTS[client](kubeconfig, stack)
        figures = {
            "up": timed(upload, source, Path(folder, "remote")),
            "down": timed(download, Path(folder, "remote"), Path(folder, "back")),
        }
    return {**figures, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def main() -> None:
    """Measure one client, or say which version of the peer is installed."""
    if sys.argv[1] == "installed":
        found: dict[str, str] = {}
        with contextlib.suppress(metadata.PackageNotFoundError):
            found["kubernetes"] = metadata.version("kubernetes")
        print(json.dumps(found))
        return
    print(json.dumps(measured(sys.argv[1], sys.argv[2], int(sys.argv[3]))), flush=True)


if __name__ == "__main__":
    main()
