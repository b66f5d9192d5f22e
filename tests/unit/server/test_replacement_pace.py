"""Workloads whose pods end at once create further ones slowly."""

from __future__ import annotations

from masthead.server import VirtualClock
from masthead_server.controllers.objects import ObjectRef
from masthead_server.controllers.workloads.replacement_pace import ReplacementPace

REF = ObjectRef("apps/replicasets", "default/web")


def take(pace: ReplacementPace, *, generation: int = 1, size: int = 1) -> int:
    """Create as many pods as are allowed."""
    allowed = pace.allow(REF, generation, size)
    for _ in range(allowed):
        pace.take(REF)
    return allowed


def test_a_thousand_pods_at_once_and_then_twenty_per_second() -> None:
    clock = VirtualClock()
    pace = ReplacementPace(clock.now)

    assert (take(pace), take(pace), pace.next_delay(REF)) == (1000, 0, 1.0)
    clock.advance(1)
    assert (take(pace), take(pace)) == (20, 0)
    clock.advance(3600)
    assert (take(pace), take(pace)) == (1000, 0)


def test_a_large_workload_may_replace_all_its_pods_at_once() -> None:
    pace = ReplacementPace(VirtualClock().now)

    assert take(pace, size=5000) == 10_000


def test_a_change_of_the_spec_begins_anew() -> None:
    pace = ReplacementPace(VirtualClock().now)

    assert (take(pace), take(pace, generation=2)) == (1000, 1000)
    assert pace.next_delay(REF) == 1.0
    pace.forget(REF)
    assert pace.next_delay(REF) is None
