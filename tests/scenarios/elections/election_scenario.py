"""A scenario: replicas, their clocks, and what happens to them. It follows from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

LONGEST = 14
"""How many lease durations a scenario lasts at most before its faults end."""
TRIES = 100
"""About how many tries a replica makes at most."""


@dataclass(frozen=True)
class Action:
    """Something that happens.

    Attributes:
        at: When.
        kind: What; the runner has a method of that name.
        replica: To whom, if to one.
        lasts: For how long.
        value: How much, or which variant.
    """

    at: float
    kind: str
    replica: int = 0
    lasts: float = 0.0
    value: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """What happens in one scenario.

    Attributes:
        seed: What everything follows from.
        lease, renew, retry: The durations of the elector.
        stop_seconds: How long work takes to end, by its own clock.
        rates: The rates of the replicas' clocks.
        is_guarded: Whether work checks its leadership before each act.
        has_one_identity: Whether all replicas use the same identity.
        slow, lost: The probabilities of slow and of lost messages, all the time.
        actions: What happens, in order.
    """

    seed: int
    lease: float
    renew: float
    retry: float
    stop_seconds: float
    rates: tuple[float, ...]
    is_guarded: bool
    has_one_identity: bool
    slow: float
    lost: float
    actions: tuple[Action, ...]

    @property
    def length(self) -> float:
        return _length(self.lease, self.retry)

    def without(self, number: int) -> Scenario:
        return replace(self, actions=self.actions[:number] + self.actions[number + 1 :])

    def __str__(self) -> str:
        lines = [repr(replace(self, actions=()))]
        lines += [f"  {action}" for action in self.actions]
        return "\n".join(lines)


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    pick = random.Random(seed)
    lease = float(pick.choice([2, 3, 5, 8, 15])) if pick.random() < 0.8 else pick.uniform(1.2, 9.0)
    renew = lease * pick.uniform(0.4, 0.9)
    # Short retry periods, too: then others take over as soon as they may.
    retry = renew / 1.2 * pick.choice([pick.uniform(0.03, 0.1), pick.uniform(0.1, 0.95)])
    stop = pick.choice([0.0, pick.uniform(0.0, 0.9 * (lease - renew))])
    pause = {"pause": 10} if pick.random() < 0.4 else {}
    count, length = pick.randint(0, 14), _length(lease, retry)
    rates = _rates(pick, lease / (renew + stop) * 0.9999)
    actions = [_action(pick, _KINDS | pause, lease, length, len(rates)) for _ in range(count)]
    return Scenario(
        seed,
        lease,
        renew,
        retry,
        stop,
        rates,
        is_guarded=pick.random() < 0.5,
        has_one_identity=pick.random() < 0.1,
        slow=pick.choice([0.0, 0.0, 0.05, 0.3]),
        lost=pick.choice([0.0, 0.0, 0.05, 0.2]),
        actions=tuple(sorted(actions, key=lambda each: each.at)),
    )


def _length(lease: float, retry: float) -> float:
    return min(LONGEST * lease, max(TRIES * retry, 4 * lease))


def _rates(pick: random.Random, ratio: float) -> tuple[float, ...]:
    """The rates of clocks that differ by no more than what is tolerated.

    The slowest clock's renew deadline, and the end of its work, are then just before the fastest clock's lease ends.
    """
    rates = [pick.choice([1.0, ratio, pick.uniform(1.0, ratio)]) for _ in range(pick.randint(2, 4))]
    return tuple(rate / ratio**0.5 for rate in rates)


_KINDS = {
    "ambush": 6,
    "partition": 4,
    "outage": 3,
    "slow": 3,
    "lossy": 3,
    "crash": 4,
    "stop": 3,
    "delete": 1,
    "annotate": 2,
    "jump": 1,
}
"""What may happen, and how often."""


def _action(pick: random.Random, kinds: dict[str, int], lease: float, length: float, replicas: int) -> Action:
    kind = pick.choices(list(kinds), list(kinds.values()))[0]
    lasts = lease * pick.choice([pick.uniform(0.0, 0.5), pick.uniform(0.0, 1.5), pick.uniform(0.0, 3.0)])
    return Action(pick.uniform(0.0, length), kind, pick.randrange(replicas), lasts, value=pick.random())
