"""Sends hostile requests to a server in a process of its own, and reports those that cost too much.

``python -m tests.server.runaway`` does so for ``MASTHEAD_FUZZ_SECONDS`` (30), with requests that are new every time;
``MASTHEAD_FUZZ_SEED`` sends those of a seed again, and ``MASTHEAD_FUZZ_NUMBER`` one of them.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import socket
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from tests.server.calls import KNOWN_500, PATIENCE, Caller
from tests.server.endpoints import endpoints_of
from tests.server.hostile_requests import HostileRequests
from tests.server.metered_server import TOKEN, DiedError, Measured, metered
from tests.server.odd_objects import OddObjects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.server.endpoints import Endpoint
    from tests.server.hostile_requests import Hostile
    from tests.server.metered_server import Metered

HOLD: Final = 0.1
"""Seconds of CPU for which a request may hold the loop."""
GROWTH: Final = 20
"""How many times its own size a request may take."""
SMALL: Final = 1024 * 1024
"""Bytes: a smaller request may take as much as one of this size, for some pages are there for any."""
TRIES: Final = 4
"""How often a request that costs too much is sent again; the least cost counts."""
_SEEDS: Final = 2**40
_ODD_ONES: Final = 10
_ENOUGH: Final = 65_536
"""Bytes of a response that are read."""
_POD: Final = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@dataclass(frozen=True)
class Found:
    """A request that costs too much."""

    seed: int
    number: int
    request: Hostile
    code: int
    cost: Measured

    def __str__(self) -> str:
        taken = f"{self.cost.hold * 1000:.0f} ms, {self.cost.growth / 1e6:.0f} MB for {self.request.size / 1e6:.2f} MB"
        return f"seed {self.seed}, number {self.number}: {self.code}, {taken}: {self.request}"


@dataclass
class Run:
    """The result of a run."""

    sent: int
    codes: dict[int, int]
    found: list[Found]
    slowest: float = 0.0


class Sender:
    """Sends requests to one server and measures them.

    Args:
        server: The server.
        margin: By how much this machine may be slower than the one that the limit is for.
    """

    def __init__(self, server: Metered, *, margin: float = 1.0) -> None:
        self._server = server
        self._most = HOLD * margin
        address = urlsplit(server.url)
        self._address = (address.hostname or "", address.port or 0)

    def cost(self, request: bytes) -> tuple[Measured, bytes]:
        """The cost of a request, and its response; empty without one."""
        self._server.reset()
        response = self._send(request)
        return self._server.report(), response

    def is_too_much(self, cost: Measured, size: int) -> bool:
        """Whether a request may not cost this."""
        return cost.hold > self._most or cost.growth > GROWTH * max(size, SMALL)

    def at_least(self, request: bytes, size: int, cost: Measured) -> Measured:
        """The least cost of a request that is sent a few more times."""
        for _ in range(TRIES):
            again, _ = self.cost(request)
            cost = Measured(min(cost.hold, again.hold), min(cost.growth, again.growth))
            if not self.is_too_much(cost, size):
                break
        return cost

    def _send(self, request: bytes) -> bytes:
        """Send a request; returns its response, or the beginning of a watch, which has no end."""
        response = b""
        with socket.create_connection(self._address, timeout=PATIENCE) as connection:
            try:
                connection.sendall(request)
                while piece := connection.recv(1 << 20):
                    response += piece if len(response) < _ENOUGH else b""
                    if b"Transfer-Encoding: chunked" in response[:_ENOUGH]:
                        break
            except (BrokenPipeError, ConnectionResetError):
                pass  # it was rejected before it was sent
        return response


def _code_of(response: bytes) -> int:
    return int(response[9:12]) if response.startswith(b"HTTP/1.") else 0


def _is_own_mistake(response: bytes) -> bool:
    """Whether the server failed, and the real one would not have."""
    if _code_of(response) != 500:
        return False
    message = re.search(rb'"message": ?"((?:[^"\\]|\\.)*)|message: (?:\|-\s+)?[\'"]?(.*)', response)
    text = message and (message[1] or message[2])
    return not text or not KNOWN_500.match(text.decode("utf-8", "replace").replace('\\"', '"'))


def run(seconds: float, *, seed: int, margin: float = 1.0, numbers: Iterable[int] | None = None) -> Run:
    """Send requests until the time is up.

    Args:
        seconds: How long.
        seed: Decides what is sent.
        margin: By how much this machine may be slower than the one that the limit is for.
        numbers: Send these only.
    """
    with metered() as server:
        caller = Caller(server.url, TOKEN)
        endpoints = endpoints_of(caller)
        _prepare(caller, endpoints)
        caller.close()
        requests = HostileRequests([(endpoint, endpoint.object_class()) for endpoint in endpoints], seed)
        sender = Sender(server, margin=margin)
        done = Run(0, {}, [])
        until = time.monotonic() + seconds
        for number in itertools.count() if numbers is None else numbers:
            _measure(sender, requests.make(number), seed, number, done)
            if time.monotonic() > until:
                break
    return done


def _measure(sender: Sender, request: Hostile, seed: int, number: int, done: Run) -> None:
    wire = request.wire
    try:
        cost, response = sender.cost(wire)
    except DiedError as error:
        error.add_note(f"seed {seed}, number {number}: {request}")
        raise
    code = _code_of(response)
    done.sent += 1
    done.codes[code] = done.codes.get(code, 0) + 1
    if sender.is_too_much(cost, request.size):
        cost = sender.at_least(wire, request.size, cost)
    if sender.is_too_much(cost, request.size) or _is_own_mistake(response):
        done.found.append(Found(seed, number, request, code, cost))
    done.slowest = max(done.slowest, cost.hold)


def _prepare(caller: Caller, endpoints: Sequence[Endpoint]) -> None:
    """Create an object of as many kinds as possible: the first odd one that is accepted."""
    assert caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": "fuzz"}}).code == 201
    caller.call("POST", "/api/v1/namespaces/fuzz/pods", _POD)
    for endpoint in endpoints:
        cls = endpoint.object_class()
        if "/" in endpoint.name or "create" not in endpoint.verbs or "get" not in endpoint.verbs or cls is None:
            continue
        odd = OddObjects(random.Random(endpoint.name))
        identity = {
            "kind": endpoint.kind.kind,
            "apiVersion": endpoint.kind.api_version,
            "metadata": {"name": "a"},
        }
        for body in (identity, *({**odd.of(cls), **identity} for _ in range(_ODD_ONES))):
            if caller.call("POST", endpoint.path("fuzz", ""), body).code in {201, 409}:
                break


def main() -> int:
    """Run once, and print the findings; returns the exit status."""
    seed = int(os.environ.get("MASTHEAD_FUZZ_SEED", random.randrange(_SEEDS)))
    chosen = os.environ.get("MASTHEAD_FUZZ_NUMBER")
    seconds = float(os.environ.get("MASTHEAD_FUZZ_SECONDS", "30"))
    done = run(seconds, seed=seed, numbers=None if chosen is None else [int(chosen)])
    print(f"seed {seed}: {done.sent} hostile requests, {done.slowest * 1000:.0f} ms at most, {done.codes}")
    print("\n".join(map(str, done.found)) or "none costs too much")
    return 1 if done.found else 0


if __name__ == "__main__":
    sys.exit(main())
