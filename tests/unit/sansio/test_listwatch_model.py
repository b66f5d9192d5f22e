"""Random scenarios of a server and its driver: the cache is always consistent, and finally up to date.

``MASTHEAD_SOAK_SCENARIOS`` sets how many run, ``MASTHEAD_SOAK_SEED`` runs a single one.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Final

import pytest
from tests.unit.sansio.listwatch_driver import Driver
from tests.unit.sansio.listwatch_server import (
    ANSWERS,
    ENDINGS,
    EXPIRED,
    REFUSED,
    SILENCE,
    Server,
    ServerBehaviour,
)

from masthead._sansio.listwatch_steps import Failure, List

if TYPE_CHECKING:
    from masthead._sansio.listwatch_steps import Stream

SCENARIOS: Final = int(os.environ.get("MASTHEAD_SOAK_SCENARIOS", "10000"))
ONLY: Final = os.environ.get("MASTHEAD_SOAK_SEED")
AT_ONCE: Final = 1000
FIRSTS: Final = range(0, SCENARIOS, AT_ONCE) if ONLY is None else [int(ONLY)]


def a_server(rng: Random) -> Server:
    behaviour = ServerBehaviour(
        initial_events=rng.choice(("known", "known", "known", "refused", "ignored")),
        has_memory=rng.random() < 0.7,
        accepts_future=rng.random() < 0.5,
    )
    server = Server(rng, behaviour, failure_rate=rng.choice((0.1, 0.3, 0.6, 0.9)))
    server.change_often(20)
    return server


def a_driver(server: Server) -> Driver:
    """A driver that starts empty, or from a snapshot."""
    rng = server.rng
    page_size = rng.choice((0, 0, 1, 2))
    if rng.random() < 0.7:
        return Driver(server, page_size=page_size)
    copy, version = server.objects.copy(), str(server.version)
    driver = Driver(server, copy=copy, version=version, page_size=page_size)
    for _ in range(3):
        server.live()
    return driver


def run_seed(seed: int) -> Driver:
    """Run one scenario, from the first request until the cache is up to date."""
    rng = Random(seed)
    server = a_server(rng)
    driver = a_driver(server)
    try:
        for _ in range(rng.randrange(5, 40)):
            driver.do()
        server.heal()
        converge(driver)
        states, requests = driver.states, len(driver.requests)
        assert driver.do()
        assert driver.copy == server.objects
        assert (driver.states, len(driver.requests)) == (states, requests + 1), "more than one watch was requested"
    except Exception as error:
        error.add_note(f"scenario {seed}; to play it alone: MASTHEAD_SOAK_SEED={seed}")
        for line in driver.history:
            error.add_note(str(line))
        raise
    return driver


def converge(driver: Driver) -> None:
    """Stop all failures: within a few steps, the cache equals the server."""
    for _ in range(20):
        if driver.do():
            assert driver.copy == driver.server.objects
            return
    raise AssertionError("the server is well, and the driver does not follow")


@pytest.mark.slow
@pytest.mark.parametrize("first", FIRSTS)
def test_the_cache_is_always_consistent_and_finally_equals_the_state_of_the_server(
    first: int,
) -> None:
    for seed in range(first, min(first + AT_ONCE, SCENARIOS)) if ONLY is None else [first]:
        run_seed(seed)


def test_a_scenario_is_determined_by_its_seed() -> None:
    assert run_seed(7).history == run_seed(7).history


class Hopeless(Server):
    """A server without writes where everything fails that can."""

    def __init__(
        self,
        *,
        answers: tuple[Failure, ...] = (),
        endings: tuple[Failure | None, ...] = ENDINGS,
        size: int = 0,
    ) -> None:
        super().__init__(Random(1))
        for _ in range(size):
            self.change()
        self.failure_rate = 1.0
        self.answers, self.endings = answers, endings
        self.patience = 0
        self.dying = (0.0,)

    def breathe(self) -> None:
        """Nothing happens."""

    def live(self) -> None:
        """Nothing happens."""


class Unwatchable(Hopeless):
    """A server whose objects can be listed, but not watched."""

    def __init__(self, answer: Failure) -> None:
        super().__init__(size=5)
        self.answer = answer

    def watch(self, step: Stream) -> Failure:
        del step
        return self.answer


def an_hour_with(server: Server) -> Driver:
    driver = Driver(server)
    while driver.now < 3600:
        driver.do()
    return driver


def busiest_minute(driver: Driver, since: float = 0.0) -> int:
    """The most requests in any minute."""
    times = [time for time in driver.requests if time >= since]
    return max(bisect_left(times, start + 60) - index for index, start in enumerate(times))


def name_of(fault: Failure | None) -> str:
    if fault is None:
        return "closed"
    return next((name for name in ("silent", "too_large") if getattr(fault, name)), str(fault.code))


@pytest.mark.parametrize(
    "answer", [answer for answer in ANSWERS if not (answer.unreachable or answer.silent)], ids=name_of
)
def test_a_server_that_always_fails_gets_a_few_requests_a_minute(answer: Failure) -> None:
    driver = an_hour_with(Hopeless(answers=(answer,)))

    assert busiest_minute(driver) <= 15
    assert busiest_minute(driver, since=120) <= 6


def test_a_server_that_never_answers_gets_a_small_request_every_five_to_seven_seconds() -> None:
    driver = an_hour_with(Hopeless(answers=(SILENCE,)))

    small = [time for time in driver.requests if time >= 60]
    intervals = [later - earlier for earlier, later in pairwise(small)]
    assert min(intervals) >= 4.99
    assert max(intervals) <= 6.61


def test_a_server_that_cannot_be_reached_is_tried_less_than_once_a_second() -> None:
    driver = an_hour_with(Hopeless(answers=(Failure(unreachable=True),)))

    assert 35 <= busiest_minute(driver) <= 45


@pytest.mark.parametrize("size", [0, 9])
@pytest.mark.parametrize("ending", [ending for ending in dict.fromkeys(ENDINGS) if ending != SILENCE], ids=name_of)
def test_a_server_whose_watches_end_immediately_gets_a_few_requests_a_minute(ending: Failure | None, size: int) -> None:
    driver = an_hour_with(Hopeless(endings=(ending,), size=size))

    assert busiest_minute(driver) <= 25
    assert busiest_minute(driver, since=120) <= 12


@pytest.mark.parametrize("ending", [None, REFUSED], ids=name_of)
def test_a_server_whose_watches_end_after_a_second_gets_a_few_requests_a_second(
    ending: Failure | None,
) -> None:
    server = Hopeless(endings=(ending,), size=9)
    server.dying = (1.0,)

    assert busiest_minute(an_hour_with(server)) <= 2 * 60 + 10


@pytest.mark.parametrize(
    "answer",
    [Failure(code=403), Failure(code=404), Failure(code=405), Failure(code=502), EXPIRED],
    ids=name_of,
)
def test_a_server_that_refuses_watches_is_listed_every_minute_or_two(answer: Failure) -> None:
    driver = an_hour_with(Unwatchable(answer))
    lists = [time for time, step, _ in driver.history if isinstance(step, List)]

    assert 20 <= len(lists) <= 90
    assert driver.copy == driver.server.objects
    assert busiest_minute(driver, since=120) <= 9
