"""Random sequences of writes by several managers: the embedded server and a real one respond alike.

Objects, managedFields, conflicts, and whether a write makes a new version are compared. Where they differ, the test
shows the shortest sequence that it finds.

``MASTHEAD_RANDOM_SEQUENCES`` is the number of sequences, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import Target, real_target
from tests.sequences.catalog import DEFINITIONS, compose
from tests.sequences.compare import differences, shrink
from tests.sequences.player import Player

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_server import RealServer
    from tests.sequences.sequence import Sequence, Step

SEQUENCES = int(os.environ.get("MASTHEAD_RANDOM_SEQUENCES", "60"))
SEED = os.environ.get("MASTHEAD_RANDOM_SEED", "1")
WORKERS = 3
MOST_REPORTS = int(os.environ.get("MASTHEAD_RANDOM_REPORTS", "3"))
"""Sequences that are made short; that takes a while."""


class Servers:
    """A connection to the real and one to the embedded server."""

    def __init__(self, real: Player, embedded: Player) -> None:
        self.real = real
        self.embedded = embedded

    def compare(self, number: int) -> tuple[Sequence, list[str]]:
        """Play a sequence on both; returns it and how the responses differ.

        A sequence that waits for definitions may take longer than a second, and then the order and the times of entries
        depend on when that ends. So a difference counts only if it is there again.
        """
        sequence, found = self._compare_once(number)
        return self._compare_once(number) if found else (sequence, found)

    def _compare_once(self, number: int) -> tuple[Sequence, list[str]]:
        sequence = compose(f"{SEED}-{number}", self.real)
        return sequence, differences(sequence.observations, self.embedded.replay(sequence.steps))

    def report(self, number: int, sequence: Sequence) -> str:
        """Describe the shortest sequence for which the servers differ."""
        steps = shrink(sequence.steps, lambda steps: bool(self._differences(steps)))
        lines = [f"seed {SEED}, sequence {number}:"]
        lines += [f"  {index}: {_text(step)}" for index, step in enumerate(steps)]
        return "\n".join([*lines, *(f"  {line}" for line in self._differences(steps))])

    def _differences(self, steps: list[Step]) -> list[str]:
        return differences(self.real.replay(steps), self.embedded.replay(steps))


@contextmanager
def _embedded_target() -> Iterator[Target]:
    """An embedded server whose clock stands still, without controllers: the real server has none beside it either."""
    with masthead.server.run(clock=VirtualClock, controllers=False) as server:
        yield Target(server.url, server.token or "", server.compact)


@pytest.fixture
def connections(real_server: RealServer) -> Iterator[SimpleQueue[Servers]]:
    """A pair of connections for each worker."""
    free: SimpleQueue[Servers] = SimpleQueue()
    with ExitStack() as stack:
        embedded = stack.enter_context(_embedded_target())
        for _ in range(WORKERS):
            players = [stack.enter_context(closing(Player(each))) for each in (real_target(real_server), embedded)]
            for player in players:
                player.prepare(DEFINITIONS)
            free.put(Servers(*players))
        yield free


@pytest.mark.timeout(300 + 2 * SEQUENCES)
def test_random_sequences_have_the_same_effect(connections: SimpleQueue[Servers]) -> None:
    failed: dict[int, Sequence] = {}
    responses: Counter[int] = Counter()

    def compare(number: int) -> None:
        servers = connections.get()
        try:
            sequence, found = servers.compare(number)
        finally:
            connections.put(servers)
        responses.update(observation.status for observation in sequence.observations)
        if found:
            print(f"sequence {number}: {found[0][:300]}")
            failed[number] = sequence

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(compare, range(SEQUENCES)))
    servers = connections.get()
    reports = [servers.report(*item) for item in sorted(failed.items(), key=_length)[:MOST_REPORTS]]
    assert not failed, f"{len(failed)} of {SEQUENCES} sequences differ\n" + "\n".join(reports)
    assert responses[409] > SEQUENCES / 10  # so that it shows when nothing conflicts any more
    print(f"{SEQUENCES} sequences, {responses.total()} responses: {dict(responses)}")


def _length(item: tuple[int, Sequence]) -> int:
    return len(item[1].steps)


def _text(step: Step) -> str:
    shown = {name: value for name, value in asdict(step).items() if name not in {"method", "path"}}
    return f"{step.method} {step.path} {json.dumps(shown)}"
