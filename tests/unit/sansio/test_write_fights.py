"""Fights about objects: the same content is written again and again, each time after a change by others."""

from __future__ import annotations

from itertools import count

from masthead._sansio.write_fights import (
    MAX_FIGHT_DELAY,
    PERIOD,
    REPEATS,
    WARNING_INTERVAL,
    FightDetector,
    fight_delay,
)


class Writes:
    """Writes to one object, each after a change by another client."""

    def __init__(self) -> None:
        self.detector = FightDetector[str]()
        self.versions = count(1)

    def write(self, content: bytes, now: float) -> float:
        """Write, and return the delay."""
        before, after = str(next(self.versions)), str(next(self.versions))
        if not self.detector.count("wall", "uid", before, after, now):
            return 0.0
        return self.detector.compare("wall", content, now)


def test_repeated_content_is_a_fight_whose_delay_grows_to_its_limit() -> None:
    writes = Writes()
    delays = [writes.write(b"red", 0.0) for _ in range(REPEATS + 20)]
    assert not any(delays[:REPEATS])
    grown = [delay for delay in delays if delay]
    assert grown == sorted(grown)
    assert grown[-1] == MAX_FIGHT_DELAY


def test_a_fight_at_the_slowest_pace_stays_one() -> None:
    writes = Writes()
    now = 0.0
    delays: list[float] = []
    for _ in range(500):
        delays.append(writes.write(b"red", now))
        now += delays[-1] + 0.01
    assert delays[-400:] == [MAX_FIGHT_DELAY] * 400


def test_other_content_each_time_is_no_fight() -> None:
    writes = Writes()
    assert not any(writes.write(b"%d" % (number % 2), 0.0) for number in range(1000))


def test_writes_that_are_far_apart_are_no_fight() -> None:
    writes = Writes()
    assert not any(writes.write(b"red", number * PERIOD / REPEATS * 1.1) for number in range(200))


def test_writes_without_a_change_between_are_no_fight() -> None:
    detector = FightDetector[str]()
    assert not any(detector.count("wall", "uid", str(version), str(version + 1), 0.0) for version in range(1, 1000))


def test_a_recreated_object_begins_anew() -> None:
    detector = FightDetector[str]()
    assert not any(detector.count("wall", str(uid), "1", "2", 0.0) for uid in range(1000))


def test_a_fight_that_is_over_is_forgotten() -> None:
    writes = Writes()
    for _ in range(REPEATS + 10):
        writes.write(b"red", 0.0)
    assert writes.write(b"red", 0.0)
    assert not writes.write(b"red", 2 * PERIOD)


def test_warnings_have_intervals() -> None:
    writes = Writes()
    for _ in range(REPEATS + 10):
        writes.write(b"red", 0.0)
    detector = writes.detector
    assert detector.is_warning_due("wall", 0.0)
    detector.warned("wall", 0.0)
    assert not detector.is_warning_due("wall", WARNING_INTERVAL - 1)
    assert detector.is_warning_due("wall", WARNING_INTERVAL)


def test_the_number_of_objects_is_bounded() -> None:
    detector = FightDetector[int](max_keys=2)
    for key in range(5):
        for version in range(10):
            detector.count(key, "uid", f"{version}", f"{version}-own", 0.0)
    assert not detector.count(0, "uid", "other", "own", 0.0)


def test_long_fights_do_not_overflow() -> None:
    assert fight_delay(100_000) == MAX_FIGHT_DELAY
