"""A simulated API server with one Lease, and the network between it and each process.

Requests and responses are delayed, lost, or delivered long after their sender has given up. An update succeeds only if
its resource version is the current one.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from masthead._client.client import Client
from masthead._config.model import Config
from masthead.errors import ConnectError, DeadlineError, ProtocolError

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator

    from tests.scenarios.elections.processes import Process, World

    from masthead._transport.contract import TransportRequest

REASONS = {
    404: "NotFound",
    409: "Conflict",
    500: "InternalError",
    503: "ServiceUnavailable",
    429: "TooManyRequests",
}


@dataclass
class Weather:
    """What the network and the server are like at the moment.

    Attributes:
        slow: The probability that a message is delayed for long.
        longest: The longest delay, in seconds.
        lost_requests: The probability that a request is lost.
        lost_responses: The probability that a response is lost.
        broken_responses: The probability that the connection breaks after the request was handled.
        failing: The code with which every request fails; 0 for none.
        failing_after: Whether it fails after it was handled.
        is_down: Whether connecting fails.
        cut_off: The processes whose requests are lost.
        deaf: The processes whose responses are lost.
    """

    slow: float = 0.0
    longest: float = 1.0
    lost_requests: float = 0.0
    lost_responses: float = 0.0
    broken_responses: float = 0.0
    failing: int = 0
    failing_after: bool = False
    is_down: bool = False
    cut_off: set[int] = field(default_factory=set)
    deaf: set[int] = field(default_factory=set)


@dataclass
class Ambush:
    """The worst time for a holder to be cut off: right after a renewal, whose response is slow.

    Attributes:
        holder_waits: How long the response takes, in seconds.
        others_wait: How long the requests of others take meanwhile.
        not_before: Renewals are let through until then, so that requests of others are on their way for a while.
        lasts: For how long the holder is cut off.
        is_set: Whether it waits for a renewal.
    """

    holder_waits: float
    others_wait: float
    not_before: float
    lasts: float
    is_set: bool = True


@dataclass
class Reply:
    """A response as a transport returns it."""

    status: int
    body: bytes

    def header(self, name: str) -> str:
        return "application/json" if name == "Content-Type" else ""

    def headers_of(self, name: str) -> list[str]:
        del name
        return []

    async def read(self) -> bytes:
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body

    def close(self) -> None:
        pass


class LeaseServer:
    """The server.

    Attributes:
        lease: The Lease; None if it does not exist.
        ambush: What waits for a renewal, if anything does.
        ambushed: The processes that are cut off.
        epochs: Of each Lease, by its uid: how often it was created until then by a process that had never seen it,
            though there had been one.
        writes: The times and holders of all writes.
    """

    def __init__(self, world: World, weather: Weather, random: random.Random) -> None:
        self.lease: dict[str, Any] | None = None
        self.epochs: dict[str, int] = {}
        self.weather = weather
        self.ambush: Ambush | None = None
        self.ambushed: set[int] = set()
        self.writes: list[tuple[float, str]] = []
        self._world = world
        self._random = random
        self._version = itertools.count(1)
        self._has_existed = False
        self._epoch = 0

    def handle(self, request: TransportRequest, *, has_seen: bool) -> Reply:
        """Handle a request, at once and as a whole."""
        body = json.loads(request.body) if isinstance(request.body, bytes) else None
        if request.method == "GET":
            return self._reply(200, self.lease) if self.lease is not None else self._fail(404)
        assert body is not None
        if request.method == "POST":
            if self.lease is not None:
                return self._fail(409, "AlreadyExists")
            self._epoch += self._has_existed and not has_seen
            uid = body["metadata"]["uid"] = f"uid-{next(self._version)}"
            self.epochs[uid] = self._epoch
            return self._store(201, body)
        if self.lease is None:
            return self._fail(404)
        if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            return self._fail(409)
        return self._store(200, body)

    def delete(self) -> None:
        """Delete the Lease, as an administrator does."""
        self.lease = None

    def cut_off(self, number: int, seconds: float) -> None:
        """Lose the requests of a process for a while."""
        self.ambushed.add(number)
        self._world.at(self._world.now + seconds, lambda: self.ambushed.discard(number))

    def annotate(self) -> None:
        """Change the Lease's metadata, as an administrator does."""
        if self.lease is not None:
            self.lease["metadata"]["annotations"] = {"changed": str(self._world.now)}
            self.lease["metadata"]["resourceVersion"] = str(next(self._version))

    def _store(self, code: int, lease: dict[str, Any]) -> Reply:
        self._has_existed = True
        lease["metadata"]["resourceVersion"] = str(next(self._version))
        self.lease = lease
        self.writes.append((self._world.now, lease["spec"]["holderIdentity"]))
        return self._reply(code, lease)

    def _reply(self, code: int, content: dict[str, Any]) -> Reply:
        return Reply(code, json.dumps(content).encode())

    def _fail(self, code: int, reason: str = "") -> Reply:
        return fail(code, reason)


def fail(code: int, reason: str = "") -> Reply:
    """A failure."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return Reply(code, json.dumps({**status, "reason": reason or REASONS.get(code, "")}).encode())


class SimulatedTransport:
    """Carries the requests of one process.

    Attributes:
        has_seen: Whether a response has shown the Lease to this process.
    """

    def __init__(self, world: World, server: LeaseServer, process: Process, number: int, random: random.Random) -> None:
        self.has_seen = False
        self._world = world
        self._server = server
        self._process = process
        self._number = number
        self._random = random

    async def send(self, request: TransportRequest) -> Reply:
        if self._world.is_over or self._server.weather.is_down:
            raise ConnectError("the server is down")
        response: asyncio.Future[Reply] = self._process.loop.create_future()
        # Fixed when it is sent: a create that is delayed was decided on by what was known then.
        has_seen = self.has_seen
        weather, ambush = self._server.weather, self._server.ambush
        delay = self._delay()
        if request.method == "GET" and ambush is not None and ambush.is_set:
            delay += ambush.others_wait
        if not self._is_lost(weather.lost_requests, weather.cut_off | self._server.ambushed):
            self._world.at(self._world.now + delay, lambda: self._arrive(request, response, has_seen=has_seen))
        try:
            async with asyncio.timeout(request.timeout):
                return await response
        except TimeoutError:
            raise DeadlineError("no response") from None

    async def close(self) -> None:
        pass

    def _arrive(self, request: TransportRequest, response: asyncio.Future[Reply], *, has_seen: bool) -> None:
        weather = self._server.weather
        if weather.is_down:
            return
        reply = fail(weather.failing) if weather.failing else None
        if reply is None or weather.failing_after:
            handled = self._server.handle(request, has_seen=has_seen)
            reply = reply or handled
        if self._is_lost(weather.lost_responses, weather.deaf):
            return
        is_broken = self._random.random() < weather.broken_responses
        delay = self._delay()
        if request.method == "PUT" and reply.status == 200:
            delay += self._fall_into_ambush()
        self._world.at(self._world.now + delay, lambda: self._deliver(reply, response, is_broken=is_broken))

    def _fall_into_ambush(self) -> float:
        """Cut a holder off after its renewal; returns by how much its response is delayed."""
        ambush = self._server.ambush
        if ambush is None or not ambush.is_set or self._world.now < ambush.not_before:
            return 0.0
        ambush.is_set = False
        self._server.cut_off(self._number, ambush.lasts)
        return ambush.holder_waits

    def _deliver(self, reply: Reply, response: asyncio.Future[Reply], *, is_broken: bool) -> None:
        if response.done() or not self._process.is_alive:
            return
        if is_broken:
            response.set_exception(ProtocolError("the connection was lost"))
            return
        self.has_seen = self.has_seen or reply.status in (200, 201)
        response.set_result(reply)

    def _is_lost(self, probability: float, numbers: set[int]) -> bool:
        return self._number in numbers or self._random.random() < probability

    def _delay(self) -> float:
        weather = self._server.weather
        if self._random.random() < weather.slow:
            return self._random.uniform(0.0, weather.longest * self._random.choice([0.05, 0.2, 1.0]))
        return self._random.uniform(0.0005, 0.02)


def connect(transport: SimulatedTransport) -> Client:
    """A client whose requests go through the simulated network."""
    client = Client(Config(server="http://simulated:80"))
    client.rest.wrap_transport(lambda _: transport)
    return client
