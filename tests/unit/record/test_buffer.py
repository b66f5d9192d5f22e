"""The buffer of a recorder, when something is recorded at the worst moment."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from masthead._record.buffer import EventBuffer
from masthead._record.metrics import RecorderMetrics
from masthead._sansio.event_occurrences import EventReference, Occurrence

AT = datetime(2026, 1, 1, tzinfo=UTC)


def occurrence(reason: str = "Created") -> Occurrence:
    return Occurrence(EventReference("v1", "Pod", "default", "web", "7"), "Normal", reason, "", "", AT)


class Moment:
    """A clock; the moment that it is asked for may be the worst one, with the lock in somebody's hand."""

    def __init__(self, buffer: EventBuffer) -> None:
        self.buffer = buffer
        self.arriving: list[Occurrence] = []

    def __call__(self) -> float:
        arriving, self.arriving = self.arriving, []
        for each in arriving:
            self.buffer.offer(each)
        return 0.0


@pytest.fixture
def woken() -> list[None]:
    return []


@pytest.fixture
def moment(woken: list[None]) -> Moment:
    buffer = EventBuffer(100, None, RecorderMetrics(None, "operator"), lambda: 0.5)
    made = Moment(buffer)
    buffer.open(made, lambda: woken.append(None))
    return made


@pytest.mark.parametrize("act", ["succeeded", "gave_up", "retry_later"])
def test_what_arrives_while_the_lock_is_held_is_not_left_behind(moment: Moment, woken: list[None], act: str) -> None:
    buffer = moment.buffer
    buffer.offer(occurrence())
    (write,), _ = buffer.turn()
    woken.clear()
    moment.arriving = [occurrence("Arriving")]
    if act == "succeeded":
        buffer.succeeded(write, 1, "create")
    elif act == "gave_up":
        buffer.gave_up(write, "Forbidden")
    else:
        buffer.retry_later(write, 0.0, "ConnectError")
    assert buffer.counts.recorded == 2
    assert woken


def test_what_arrives_during_a_turn_is_part_of_it_or_of_the_next(moment: Moment, woken: list[None]) -> None:
    woken.clear()
    moment.arriving = [occurrence()]
    writes, _ = moment.buffer.turn()
    assert len(writes) == 1 or woken
    assert moment.buffer.counts.recorded == 1


def test_one_call_does_not_work_for_all_others(moment: Moment, woken: list[None]) -> None:
    moment.arriving = [occurrence(f"Reason{number}") for number in range(99)]
    woken.clear()
    moment.buffer.offer(occurrence())
    assert moment.buffer.counts.recorded == 64
    assert woken
    moment.buffer.turn()
    assert moment.buffer.counts.recorded == 100


def test_a_defect_costs_its_own_event_only(moment: Moment, caplog: pytest.LogCaptureFixture) -> None:
    broken = Occurrence(
        EventReference("v1", "Pod", "default", "web", "7"),
        "Normal",
        "Created",
        "",
        "",
        datetime(2026, 1, 1),  # noqa: DTZ001
    )
    moment.arriving = [broken]
    moment.buffer.offer(occurrence())
    assert (moment.buffer.counts.recorded, moment.buffer.counts.failed) == (1, 1)
    assert "an Event could not be correlated" in caplog.text
