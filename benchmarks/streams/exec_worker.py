"""``python -m benchmarks.streams.exec_worker CLIENT KUBECONFIG COUNT``: runs small commands in sequence.

It runs in the interpreter of the peers, too, and so imports nothing of ours but in the functions that measure us.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import sys
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_POD: Final = "web"
_NAMESPACE: Final = "default"
_COMMAND: Final = ["echo", "hello"]
_PRINTED: Final = "hello\n"


def timed(run: Callable[[], str], count: int) -> list[float]:
    """The seconds of each command."""
    found: list[float] = []
    for _ in range(count):
        begun = time.perf_counter()
        printed = run()
        found.append(time.perf_counter() - begun)
        if printed != _PRINTED:
            raise RuntimeError(f"the command printed {printed!r}")
    return found


def blocking(kubeconfig: str, count: int) -> list[float]:
    """Our blocking client."""
    import masthead

    with masthead.Client(kubeconfig=kubeconfig) as client:
        pods = client.core_v1.pods(_NAMESPACE)
        return timed(lambda: pods.exec(_POD, _COMMAND).text, count)


def coroutines(kubeconfig: str, count: int) -> list[float]:
    """Our async client."""
    import masthead.aio

    async def main() -> list[float]:
        found: list[float] = []
        async with masthead.aio.Client(kubeconfig=kubeconfig) as client:
            for _ in range(count):
                begun = time.perf_counter()
                result = await client.core_v1.pods(_NAMESPACE).exec(_POD, _COMMAND)
                found.append(time.perf_counter() - begun)
                if result.text != _PRINTED:
                    raise RuntimeError(f"the command printed {result.text!r}")
        return found

    return asyncio.run(main())


def official(kubeconfig: str, count: int) -> list[float]:
    """The client ``kubernetes``."""
    config: Any = importlib.import_module("kubernetes.config")
    client: Any = importlib.import_module("kubernetes.client")
    stream: Any = importlib.import_module("kubernetes.stream")
    config.load_kube_config(kubeconfig)
    api = client.CoreV1Api()

    def run() -> str:
        printed: str = stream.stream(
            api.connect_get_namespaced_pod_exec,
            _POD,
            _NAMESPACE,
            command=_COMMAND,
            stdin=False,
            stdout=True,
            stderr=True,
            tty=False,
        )
        return printed

    return timed(run, count)


CLIENTS: Final = {"aio": coroutines, "sync": blocking, "kubernetes": official}


def main() -> None:
    """Measure one client, or say which version of the peer is installed."""
    if sys.argv[1] == "installed":
        found: dict[str, str] = {}
        with contextlib.suppress(metadata.PackageNotFoundError):
            found["kubernetes"] = metadata.version("kubernetes")
        print(json.dumps(found))
        return
    seconds = sorted(CLIENTS[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
    figures = {"p50": seconds[len(seconds) // 2], "p99": seconds[len(seconds) * 99 // 100]}
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
