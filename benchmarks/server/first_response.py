"""Starts the server in this process and prints, as JSON, how long it took until it answered.

It is a program of its own so that nothing is loaded before the clock starts, and times are taken where the answer is
there, so that stopping the server is not in them.
"""

from __future__ import annotations

import json
import time


def main() -> None:
    """Measure three beginnings: of the process' first server, of pods there, and of a second server."""
    start = time.perf_counter()
    import asyncio

    first, pod_asked, pod_answered = asyncio.run(_first())
    again = time.perf_counter()
    answered = asyncio.run(_again())
    seconds = {"run": first - start, "first_pod": pod_answered - pod_asked, "again": answered - again}
    print(json.dumps({name: each * 1e3 for name, each in seconds.items()}), flush=True)


async def _first() -> tuple[float, float, float]:
    from masthead.server import run

    async with run(token=None) as server:
        await _ask(server.url, _version())
        first = time.perf_counter()
        body = _pod()
        sent = time.perf_counter()
        await _ask(server.url, body)
        return first, sent, time.perf_counter()


async def _again() -> float:
    from masthead.server import run

    async with run(token=None) as server:
        await _ask(server.url, _version())
        return time.perf_counter()


def _version() -> bytes:
    return b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _pod() -> bytes:
    from benchmarks.harness import pods
    from benchmarks.harness.wire import Address

    body = pods.new_pod("default", "first", 0)
    return Address("http://localhost").request("POST", "/api/v1/namespaces/default/pods", body)


async def _ask(url: str, request: bytes) -> None:
    """Send a request, and wait until the answer has begun."""
    import asyncio

    host, _, port = url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    status = await reader.readline()
    writer.close()
    await writer.wait_closed()
    if status.split()[1] not in {b"200", b"201"}:
        raise RuntimeError(f"the server answered {status.decode()}")


if __name__ == "__main__":
    main()
