"""Sharded lists and watches of a real server, whose feature gate is on: what was recorded is still what it responds."""

from __future__ import annotations

import json
import random
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import real_target
from tests.real_server import ASSETS, RestartableServer, missing_programs
from tests.server.shards import FILE, GATE, ShardSession, selectors

from masthead._server.resources.shard_selectors import ShardSelectorError, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

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
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShardSession]:
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with (
        RestartableServer(tmp_path_factory.mktemp("sharding"), GATE) as running,
        closing(ShardSession(real_target(running.server))) as made,
    ):
        yield made


def test_the_recording_is_true(session: ShardSession) -> None:
    answers = [{"selector": each, "answer": session.answer(each)} for each in selectors()]
    session.prepare()

    assert answers == RECORDING["selectors"]
    assert list(session.outcomes()) == RECORDING["outcomes"]


def test_random_changes_of_selectors_have_the_same_answer(session: ShardSession) -> None:
    choose = random.Random(7)
    known = [each for each in selectors() if "((((" not in each]
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


def _answer(selector: str) -> str:
    try:
        return str(parse(selector))
    except ShardSelectorError as error:
        return f"invalid shard selector: {error}"
