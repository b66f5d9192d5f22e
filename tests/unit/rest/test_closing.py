"""Closing and cancelling while credentials are waited for: a hanging login blocks neither."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from tests.unit.rest.scripted import FakeResponse, FakeTransport, get, status, watch

from masthead._meta.secret import Secret
from masthead._rest.client import RestClient
from masthead.errors import AuthError, ClosedError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from masthead._auth.credentials import Certificate

CLOSED = "closed while a call waited for its credentials"


@dataclass
class Hanging:
    """Credentials that never come.

    Attributes:
        token: One that is at hand, until it is refused; empty for none.
        tidies: Seconds that it takes to leave off.
        late: What a cancelled wait returns all the same; empty for nothing.
        problem: What a wait of a second ends with; None for a wait without end.
        left: How many waits were ended.
    """

    token: str = ""
    tidies: float = 0.0
    late: str = ""
    problem: Exception | None = None
    left: int = 0
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    async def authorization(self) -> Secret:
        return Secret(self.token or await self._hang())

    async def certificate(self) -> Certificate | None:
        return None

    async def renew(self, refused: Secret) -> bool:
        assert refused.reveal() == self.token
        return bool(await self._hang())

    async def _hang(self) -> str:
        self.waiting.set()
        try:
            if self.problem is not None:
                await asyncio.sleep(1)
                raise self.problem
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self.late:
                return self.late
            raise
        finally:
            if self.tidies:
                await asyncio.sleep(self.tidies)
            self.left += 1
        return ""


def client(credentials: Hanging, *script: FakeResponse) -> tuple[RestClient, FakeTransport]:
    network = FakeTransport(list(script))
    return RestClient(network, credentials), network


@in_virtual_time
async def test_closing_ends_every_call_that_waits_for_credentials() -> None:
    hanging = Hanging()
    rest, network = client(hanging)
    loop = asyncio.get_running_loop()
    calls = [loop.create_task(rest.call(get())), loop.create_task(rest.open(watch()))]
    await asyncio.sleep(5)

    await rest.close()

    for call in calls:
        with pytest.raises(ClosedError, match=CLOSED) as caught:
            await call
        assert caught.value.__context__ is None
        assert not call.cancelling()
    assert now() == 5
    assert hanging.left == 2
    assert not network.requests
    await rest.close()


@in_virtual_time
async def test_closing_ends_the_wait_for_better_credentials() -> None:
    hanging = Hanging(token="Bearer old")
    rest, network = client(hanging, FakeResponse(401, status(401, "Unauthorized")))
    calling = asyncio.get_running_loop().create_task(rest.call(get()))
    await hanging.waiting.wait()

    await rest.close()

    with pytest.raises(ClosedError, match=CLOSED):
        await calling
    assert hanging.left == 1
    assert len(network.requests) == 1


@in_virtual_time
async def test_a_wait_for_credentials_that_starts_after_close_raises() -> None:
    hanging = Hanging(token="Bearer old")
    rest, network = client(hanging, FakeResponse(401, status(401, "Unauthorized"), takes=2))
    calling = asyncio.get_running_loop().create_task(rest.call(get()))
    await asyncio.sleep(1)
    await rest.close()

    with pytest.raises(ClosedError, match=CLOSED):
        await calling
    assert now() == 2
    assert not network.leaks


@in_virtual_time
async def test_cancelling_a_wait_for_credentials_lets_their_cleanup_run() -> None:
    hanging = Hanging(tidies=3)
    rest, _ = client(hanging)
    calling = asyncio.get_running_loop().create_task(rest.call(get()))
    await hanging.waiting.wait()

    calling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await calling
    assert (now(), hanging.left) == (3, 1)
    await rest.close()


@in_virtual_time
async def test_credentials_that_arrive_despite_a_cancellation_are_used() -> None:
    rest, network = client(Hanging(late="Bearer late"), FakeResponse())
    calling = asyncio.get_running_loop().create_task(rest.call(get()))
    await asyncio.sleep(1)

    calling.cancel()

    assert (await calling).status == 200
    assert network.sent("Authorization") == ["Bearer late"]


@in_virtual_time
async def test_an_abandoned_call_abandons_the_wait_for_credentials() -> None:
    hanging = Hanging()
    rest, _ = client(hanging)
    calling = rest.call(get())
    calling.send(None)

    calling.close()

    assert hanging.left == 1


@pytest.mark.parametrize("problem", [AuthError("no login"), TimeoutError("too slow")])
@in_virtual_time
async def test_an_error_during_the_wait_propagates(problem: Exception) -> None:
    hanging = Hanging(problem=problem)
    rest, network = client(hanging)

    with pytest.raises(type(problem), match=str(problem)):
        await rest.call(get())

    assert now() == 1
    assert not network.requests
    await rest.close()
    assert hanging.left == 1
