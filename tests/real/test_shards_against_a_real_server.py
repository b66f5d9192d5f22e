"""Shards on a real server, whose feature gate is on: what was recorded is still what it responds, and replicas
share."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import real_target
from tests.real_server import ASSETS, RestartableServer, missing_programs
from tests.server.shards import FILE, GATE, ShardSession, selectors

from masthead.aio import Client, SharedInformer
from masthead.aio.sharding import ShardMember, ShardSet
from masthead.api.core.v1 import ConfigMap
from masthead.config import Config
from masthead.errors import ClosedError
from masthead_server.resources.shard_selectors import ShardSelectorError, parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

RECORDING = json.loads(FILE.read_text("utf-8"))
MUTATIONS = 400
_SYNTAX_ERROR = "invalid shard selector: CEL parse error: Syntax error: "
_PIECES = (
    *"()|&.,?:![]{}'\"0x9f`-+ \n$",
    "||",
    "shardRange",
    "object.metadata.uid",
    "'0x",
    "in",
    "r'",
    "a{}",
)


@pytest.fixture(scope="module")
def sharding_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with RestartableServer(tmp_path_factory.mktemp("sharding"), GATE) as running:
        yield running.server


@pytest.fixture
def session(sharding_server: RealServer) -> Iterator[ShardSession]:
    with closing(ShardSession(real_target(sharding_server))) as made:
        yield made


@pytest.fixture
async def client(sharding_server: RealServer) -> AsyncIterator[Client]:
    server = sharding_server
    async with Client(Config(server=server.url, token=server.token, ca_file=server.ca_file)) as made:
        yield made


def test_the_recording_is_true(session: ShardSession) -> None:
    answers = [{"selector": selector, "answer": session.answer(selector)} for selector in selectors()]
    session.prepare()

    assert answers == RECORDING["selectors"]
    assert list(session.outcomes()) == RECORDING["outcomes"]


def test_random_changes_of_selectors_have_the_same_answer(session: ShardSession) -> None:
    choose = random.Random(7)
    known = [selector for selector in selectors() if "((((" not in selector]
    for _ in range(MUTATIONS):
        text = choose.choice(known)
        at = choose.randrange(len(text) + 1)
        changed = text[:at] + choose.choice(_PIECES) + text[at + choose.randrange(3) :]
        if not changed:
            continue
        ours, theirs = _answer(changed), session.answer(changed)
        # What ANTLR expects where is not always known, but what is a syntax error always is.
        if not (ours.startswith(_SYNTAX_ERROR) and theirs.startswith(_SYNTAX_ERROR)):
            assert ours == theirs, changed


async def test_informers_get_their_shares_from_the_server(client: Client) -> None:
    maps = client.core_v1.config_maps("kube-public")
    made = [await maps.create(ConfigMap.new(f"shared-{number}")) for number in range(30)]
    halves = [ShardSet([number], total=2) for number in range(2)]
    async with SharedInformer(maps, shard_selector=halves[0].selector()) as informer:
        await informer.wait_for_cache_sync(timeout=60)
        for share in (*halves, ShardSet.everything(total=2), halves[0]):
            await informer.select_shards(share)
            expected = {each.metadata.name for each in made if share.owns_object(each)}
            assert {each.metadata.name for each in informer.lister.list()} >= expected
            assert all(share.owns_object(each) for each in informer.lister.list())
        assert informer.health.other_shards == 0


async def test_members_share_and_take_over(client: Client) -> None:
    shares: dict[str, ShardSet] = {}

    async def run(name: str, member_client: Client) -> None:
        async def on_change(share: ShardSet) -> None:
            shares[name] = share

        member = ShardMember(
            member_client,
            "real",
            "default",
            identity=name,
            slots=8,
            lease_duration=3,
            renew_deadline=2,
            retry_period=0.5,
        )
        with suppress(ClosedError):
            await member.run(on_change)

    async def until(**expected: int) -> None:
        async with asyncio.timeout(60):
            while {name: len(share) for name, share in shares.items()} != expected:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    loop = asyncio.get_running_loop()
    async with Client(client.config) as second:
        first_task = loop.create_task(run("a", client))
        await until(a=8)
        second_task = loop.create_task(run("b", second))
        await until(a=4, b=4)
        assert not shares["a"] & shares["b"]
    # The second is gone without a word.
    await second_task
    await until(a=8, b=0)
    first_task.cancel()
    await asyncio.wait({first_task})


def _answer(selector: str) -> str:
    try:
        return str(parse(selector))
    except ShardSelectorError as error:
        return f"invalid shard selector: {error}"
