"""Recorded sequences of writes by several managers: the embedded server responds as the real one did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import Target
from tests.sequences.compare import differences
from tests.sequences.player import Player
from tests.sequences.recording import read

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sequences.sequence import Sequence

RECORDING = read()


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    with masthead.server.run(clock=VirtualClock, controllers=False) as server:
        made = Player(Target(server.url, server.token or "", server.compact))
        made.prepare(RECORDING.definitions)
        yield made
        made.close()


def test_there_are_enough_recorded_sequences() -> None:
    assert len(RECORDING.sequences) >= 300


@pytest.mark.parametrize("sequence", RECORDING.sequences, ids=range(len(RECORDING.sequences)))
def test_a_recorded_sequence_has_the_same_effect(player: Player, sequence: Sequence) -> None:
    found = differences(sequence.observations, player.replay(sequence.steps))
    assert not found, "\n".join(found)
