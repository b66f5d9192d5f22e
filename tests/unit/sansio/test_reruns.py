"""Which events of own writes run a reconcile again, and how soon."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.own_writes import ObjectChange, OwnWrite, OwnWrites
from masthead._sansio.reruns import MAX_RERUN_DELAY, PROMPT_RERUNS, RerunDecisions, rerun_delay


def write(version: int, *, is_provable: bool = True) -> OwnWrite:
    return OwnWrite("maps", "ns/a", "u", str(version - 1) if is_provable else None, str(version))


def event(version: int) -> ObjectChange:
    return ObjectChange("maps", "ns/a", "u", str(version - 1), str(version))


def end(
    reruns: RerunDecisions[str],
    *writes: OwnWrite,
    is_failed: bool = False,
    has_proven: bool = False,
    has_likely: bool = False,
    has_foreign: bool = False,
) -> float | None:
    return reruns.end(
        "a",
        OwnWrites(writes),
        is_failed=is_failed,
        has_proven=has_proven,
        has_likely=has_likely,
        has_foreign=has_foreign,
    )


@given(st.integers(1, 10_000))
def test_delays_of_reruns_never_shrink_and_are_bounded(number: int) -> None:
    assert 0 <= rerun_delay(number) <= rerun_delay(number + 1) <= MAX_RERUN_DELAY
    assert (rerun_delay(number) == 0) == (number <= PROMPT_RERUNS)


def test_an_event_after_the_end_leads_to_one_rerun_and_the_others_are_dropped() -> None:
    reruns = RerunDecisions[str](ignores_own=False)
    reruns.begin("a")
    assert end(reruns, write(2), write(3)) is None
    assert not reruns.drops("a", event(2))
    assert reruns.follow("a", event(2)) == 0.0
    assert reruns.is_pending("a")
    assert reruns.drops("a", event(3))
    reruns.begin("a")
    assert not reruns.is_pending("a")
    assert reruns.drops("a", event(3))


def test_an_event_that_is_delivered_after_the_rerun_has_ended_is_dropped() -> None:
    reruns = RerunDecisions[str](ignores_own=False)
    reruns.begin("a")
    assert end(reruns, write(2), write(3), has_proven=True) == 0.0
    reruns.begin("a")
    assert end(reruns) is None
    assert reruns.drops("a", event(3))
    assert not reruns.drops("a", event(4))


def test_changes_that_always_count_are_dropped_only_after_a_run_that_saw_them() -> None:
    reruns = RerunDecisions[str](ignores_own=True)
    reruns.begin("a")
    assert end(reruns, write(2)) is None
    assert reruns.drops("a", event(2))
    assert not reruns.drops("a", event(2), always_counts=True)
    assert reruns.follow("a", event(2)) == 0.0
    reruns.begin("a")
    assert reruns.drops("a", event(2), always_counts=True)


def test_a_rerun_without_writes_ends_the_chain() -> None:
    reruns = RerunDecisions[str](ignores_own=False)
    for number in range(3):
        reruns.begin("a")
        assert end(reruns, write(number + 2), has_proven=True) == 0.0
    assert reruns.count("a") == 3
    reruns.begin("a")
    assert end(reruns) is None
    assert reruns.count("a") == 0


def test_a_run_for_another_reason_begins_a_new_row() -> None:
    reruns = RerunDecisions[str](ignores_own=False)
    reruns.begin("a")
    end(reruns, write(2), has_proven=True)
    reruns.begin("a")
    end(reruns, write(3))  # of a kind that is only read: no event comes
    reruns.begin("a")
    assert reruns.count("a") == 0


def test_changes_of_others_do_not_hide_an_endless_row() -> None:
    reruns = RerunDecisions[str](ignores_own=False)
    for number in range(PROMPT_RERUNS):
        reruns.begin("a")
        end(reruns, write(2 * number + 2), has_proven=True)
        reruns.begin("a")
        assert end(reruns, write(2 * number + 3), has_proven=True, has_foreign=True) == 0.0
    reruns.begin("a")
    assert end(reruns, write(1000), has_proven=True) == rerun_delay(PROMPT_RERUNS + 1) > 0


@dataclass(frozen=True)
class Run:
    """A reconcile: its writes, whether it failed, and how many events arrive before its end."""

    provable: tuple[bool, ...]
    is_failed: bool
    early: int


Runs = st.lists(
    st.builds(Run, st.lists(st.booleans(), max_size=4).map(tuple), st.booleans(), st.integers(0, 4)),
    max_size=8,
)


@given(Runs, st.booleans())
def test_every_write_is_followed_by_a_run_unless_it_is_ignored_or_its_run_failed(
    runs: list[Run], ignores_own: bool
) -> None:
    reruns = RerunDecisions[str](ignores_own=ignores_own)
    version = 1
    for run in runs:
        reruns.begin("a")
        writes = [
            write(version + number, is_provable=is_provable) for number, is_provable in enumerate(run.provable, 1)
        ]
        version += len(writes)
        own = OwnWrites(writes)
        is_muted = ignores_own or run.is_failed
        early, late = writes[: run.early], writes[run.early :]
        changes = [event(int(own_write.version)) for own_write in early]
        delay = reruns.end(
            "a",
            own,
            is_failed=run.is_failed,
            has_proven=any(own.is_echo(change) for change in changes),
            has_likely=not all(own.is_echo(change) for change in changes),
            has_foreign=False,
        )
        enqueued = int(delay is not None)
        for own_write in late:
            change = event(int(own_write.version))
            if not reruns.drops("a", change) and reruns.follow("a", change) is not None:
                enqueued += 1
        provable = sum(run.provable)
        if is_muted:
            # Only what cannot be proven counts.
            assert enqueued == (provable < len(writes))
        else:
            assert enqueued == bool(writes)
