"""Random scenarios of leader election over HTTP: electors, clients and the embedded server, in virtual time.

All share one clock here; `test_elections` has clocks that differ, and processes that pause alone.
`MASTHEAD_ELECTION_HTTP_SCENARIOS=300` runs more, `MASTHEAD_ELECTION_SEED=4711` others.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from typing import TYPE_CHECKING, Any

import pytest

import masthead.aio
import masthead.server
from masthead.aio import LeaderElector
from masthead.errors import MastheadError
from masthead.testing.virtual_time import LoopClock, in_virtual_time, now

if TYPE_CHECKING:
    from masthead.aio import Client
    from masthead.aio.leaderelection import Leadership
    from masthead.server import Server

SEED = int(os.environ.get("MASTHEAD_ELECTION_SEED", "0"))
SCENARIOS = int(os.environ.get("MASTHEAD_ELECTION_HTTP_SCENARIOS", "3"))
CODES = (400, 403, 404, 409, 429, 500, 503, 504)


class HttpScenario:
    """Some electors at one lease, and what happens to them.

    Attributes:
        problems: What went wrong.
        terms: How many terms there were.
    """

    def __init__(self, server: Server, client: Client, seed: int) -> None:
        self.problems: list[str] = []
        self.terms = 0
        self._server = server
        self._client = client
        self._pick = random.Random(seed)
        self._name = f"lease-{seed}"
        self._leases = client.dynamic("coordination.k8s.io/v1", "leases", namespace="default")
        self._lease = self._pick.choice([4.0, 8.0, 15.0])
        self._renew = self._lease * self._pick.uniform(0.5, 0.8)
        self._stop_seconds = self._pick.choice([0.0, (self._lease - self._renew) * 0.9])
        self._working: list[str] = []
        self._last_token = ("", -1)
        self._running: dict[int, asyncio.Task[Any]] = {}
        self._starts = 0

    async def run(self) -> None:
        """Run it."""
        for number in range(self._pick.randint(2, 4)):
            self._start(number)
        actions = (
            *(self._restart, self._restart, self._fail, self._fail, self._fail),
            *(self._conflict, self._delete, self._annotate, self._suspend),
        )
        for _ in range(self._pick.randint(3, 10)):
            await asyncio.sleep(self._pick.expovariate(1 / self._lease))
            await self._pick.choice(actions)()
        self._server.faults.clear()
        for number in list(self._running):
            self._start(number)
        async with asyncio.timeout(6 * self._lease + 60):
            while not self._working:  # noqa: ASYNC110 - work may start at any time
                await asyncio.sleep(1)
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _start(self, number: int) -> None:
        """Start an elector, unless it runs."""
        if number in self._running and not self._running[number].done():
            return
        self._starts += 1
        identity = f"{number}-{self._starts}"
        elector = LeaderElector(
            self._client,
            self._name,
            "default",
            identity=identity,
            lease_duration=self._lease,
            renew_deadline=self._renew,
            retry_period=self._renew / 5,
            release_on_exit=self._pick.random() < 0.5,
        )

        async def work(leadership: Leadership) -> None:
            self.terms += 1
            if self._working:
                self.problems.append(f"{now():.3f}: {identity} works beside {self._working}")
            token = leadership.token
            if token.lease_uid == self._last_token[0] and token.transitions <= self._last_token[1]:
                self.problems.append(f"{now():.3f}: the token {token} of {identity} is not new")
            self._last_token = (token.lease_uid, token.transitions)
            self._working.append(identity)
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(self._stop_seconds)
                self._working.remove(identity)

        self._running[number] = asyncio.get_running_loop().create_task(elector.run(work))

    async def _restart(self) -> None:
        number = self._pick.choice(list(self._running))
        self._running[number].cancel()
        await asyncio.wait({self._running[number]}, timeout=self._pick.uniform(0, 2 * self._lease))
        self._start(number)

    async def _fail(self) -> None:
        verb = self._pick.choice(["update", "get", "create", ("get", "create", "update")])
        fault = self._server.faults.fail(
            self._pick.choice(CODES), times=None, resource="leases", name=self._name, verb=verb
        )
        await asyncio.sleep(self._pick.expovariate(1 / self._lease))
        fault.remove()

    async def _conflict(self) -> None:
        self._server.faults.conflict(times=self._pick.randint(1, 3), resource="leases", name=self._name)

    async def _delete(self) -> None:
        """Delete the lease when all have seen it: one that has not would create it at once."""
        await asyncio.sleep(self._renew)
        with contextlib.suppress(MastheadError):
            await self._leases.delete(self._name)
            await asyncio.sleep(3 * self._lease)

    async def _annotate(self) -> None:
        with contextlib.suppress(MastheadError):
            lease = await self._leases.get(self._name)
            lease.metadata.annotations = {"at": str(now())}
            await self._leases.update(lease)

    async def _suspend(self) -> None:
        """The machine sleeps: all processes at once."""
        if not self._stop_seconds:  # or the work could not end before the lease does
            loop: Any = asyncio.get_running_loop()
            loop.advance(self._pick.uniform(0, 2 * self._lease))


@pytest.mark.timeout(0)
def test_never_do_two_work_at_once_over_http(caplog: pytest.LogCaptureFixture) -> None:
    terms = 0

    @in_virtual_time
    async def scenarios() -> None:
        nonlocal terms
        async with (
            masthead.server.run(clock=LoopClock(), bootstrap=False) as server,
            masthead.aio.Client(kubeconfig=server.kubeconfig()) as client,
        ):
            for seed in range(SEED, SEED + SCENARIOS):
                caplog.clear()
                scenario = HttpScenario(server, client, seed)
                await scenario.run()
                assert not scenario.problems, f"seed {seed}: {scenario.problems}"
                terms += scenario.terms

    scenarios()
    assert terms > SCENARIOS
