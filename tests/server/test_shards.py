"""Sharded lists and watches: the embedded server responds as a recorded real one with the feature gate on."""

from __future__ import annotations

import itertools
import json
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from tests.conformance.target import Target
from tests.server.calls import MAPS, Caller, config_map
from tests.server.shards import END, FILE, LOWER, MIDDLE, START, ShardSession, shard_range

import masthead.server
from masthead_server.resources.shard_selectors import hash_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

RECORDING = json.loads(FILE.read_text("utf-8"))
UID = "object.metadata.uid"


@pytest.fixture(scope="module")
def sharding_server() -> Iterator[Server]:
    with masthead.server.run(controllers=False, sharded_list_and_watch=True) as running:
        yield running


@pytest.fixture
def session(sharding_server: Server) -> Iterator[ShardSession]:
    target = Target(sharding_server.url, sharding_server.token or "", sharding_server.compact)
    with closing(ShardSession(target)) as made:
        yield made


def test_every_recorded_selector_has_the_same_answer(session: ShardSession) -> None:
    assert len(RECORDING["selectors"]) > 150
    for recorded in RECORDING["selectors"]:
        assert session.answer(recorded["selector"]) == recorded["answer"], recorded["selector"]


def test_every_recorded_request_has_the_same_outcome(session: ShardSession) -> None:
    session.prepare()

    outcomes = list(session.outcomes())

    assert len(outcomes) > 70
    for ours, recorded in zip(outcomes, RECORDING["outcomes"], strict=True):
        assert ours == recorded


def test_each_object_is_in_the_shard_of_its_uid(sharding_server: Server) -> None:
    caller = Caller(sharding_server.url, sharding_server.token)
    uids = [caller.call("POST", MAPS, config_map(f"uid-{number}")).json["metadata"]["uid"] for number in range(40)]
    bounds = [START, "0x4000000000000000", MIDDLE, "0xffffffffffffff00", END]

    seen: list[str] = []
    for start, end in itertools.pairwise(bounds):
        found = caller.call("GET", f"{MAPS}?shardSelector={quote(shard_range(start, end, UID))}").json["items"]
        shard = [each["metadata"]["uid"] for each in found if each["metadata"]["name"].startswith("uid-")]
        assert all(int(start, 16) <= hash_field(uid) < int(end, 16) for uid in shard)
        seen += shard
    caller.close()

    assert sorted(seen) == sorted(uids)


@pytest.mark.parametrize("selector", [LOWER, "bad("])
def test_without_the_feature_gate_the_parameter_is_ignored(server: Server, caller: Caller, selector: str) -> None:
    caller.call("POST", MAPS, config_map("a"))

    found = caller.call("GET", f"{MAPS}?shardSelector={quote(selector)}").json

    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]
    assert found["metadata"] == {"resourceVersion": str(server.revision)}
