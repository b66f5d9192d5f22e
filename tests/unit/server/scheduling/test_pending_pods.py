"""Pods that wait for a node, against a model without heaps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.unit.server.scheduling.scheduling_objects import make_pod

from masthead_server.scheduling.pending import PendingPods
from masthead_server.scheduling.rejections import Cure

if TYPE_CHECKING:
    from masthead_server.scheduling.pods import SchedulingPod

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = st.sampled_from("abcdef")
CURES = st.sampled_from([None, Cure.NODE, Cure.POD_REMOVED, Cure.NODE | Cure.VOLUME])
FLUSH = timedelta(minutes=5)


def seconds(count: float) -> datetime:
    """A time after the start."""
    return START + timedelta(seconds=count)


def pop(pods: PendingPods, now: datetime = START) -> str | None:
    """Return the name of the next pod to try."""
    found = pods.pop(now)
    return None if found is None else found.name


@dataclass
class Waiting:
    """A pod of the model, in one of four states: due, tried, backing off until a time, or waiting for changes."""

    pod: SchedulingPod
    arrival: int
    attempts: int = 0
    state: str = "due"
    until: datetime = START
    cures: Cure = Cure.NODE


def _rank(waiting: Waiting) -> tuple[int, str, int]:
    return -waiting.pod.priority, waiting.pod.facts.metadata.creation_timestamp, waiting.arrival


class PendingModel(RuleBasedStateMachine):
    """The rules of the queue, applied to a plain dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = PendingPods()
        self.model: dict[str, Waiting] = {}
        self.now = START
        self.arrivals = 0

    @rule(name=NAMES, priority=st.integers(-1, 1), second=st.integers(0, 3), uid=st.sampled_from(["", "x"]))
    def put(self, name: str, priority: int, second: int, uid: str) -> None:
        pod = make_pod(name, priority=priority, created=f"2026-01-01T00:00:0{second}Z", uid=uid and f"{name}-{uid}")
        known = self.model.get(name)
        if known is None or known.pod.uid != pod.uid:
            self.arrivals += 1
            known = self.model[name] = Waiting(pod, self.arrivals)
        known.pod, known.state = pod, "due"
        self.queue.put(pod)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        pod = self.model.pop(name, None)
        if pod is not None:
            self.queue.remove(pod.pod.ref)

    @rule(passed=st.sampled_from([0.5, 1, 4, 20, 299, 301]))
    def wait(self, passed: float) -> None:
        self.now += timedelta(seconds=passed)

    @rule()
    def pop(self) -> None:
        self.end_delays()
        due = [waiting for waiting in self.model.values() if waiting.state == "due"]
        found = self.queue.pop(self.now)
        if not due:
            assert found is None
            return
        first = min(due, key=_rank)
        assert found is first.pod
        first.state = "tried"
        first.attempts += 1

    @rule(name=NAMES, cures=CURES)
    def fail(self, name: str, cures: Cure | None) -> None:
        waiting = self.model.get(name)
        if waiting is None or waiting.state != "tried":
            return
        if cures is None:
            backoff = timedelta(seconds=min(2 ** (waiting.attempts - 1), 10))
            waiting.state, waiting.until = "backing off", self.now + backoff
        else:
            waiting.state, waiting.until, waiting.cures = "waiting", self.now + FLUSH, cures
        self.queue.fail(waiting.pod.ref, cures, self.now)

    @rule(cure=st.sampled_from([Cure.NODE, Cure.POD_REMOVED, Cure.POD_REMOVED | Cure.VOLUME, Cure.NAMESPACE]))
    def wake(self, cure: Cure) -> None:
        woken = [waiting for waiting in self.model.values() if waiting.state == "waiting" and waiting.cures & cure]
        assert self.queue.wake(cure, self.now) is bool(woken)
        for waiting in woken:
            # Few pods wait here, and so each is tried before its back-off ends.
            waiting.state = "due"

    @invariant()
    def next_delay(self) -> None:
        delay = self.queue.next_delay(self.now)
        states = [waiting.state for waiting in self.model.values()]
        if "due" in states:
            assert delay == 0
            return
        ends = [waiting.until for waiting in self.model.values() if waiting.state in {"backing off", "waiting"}]
        assert delay == (max(0.0, (min(ends) - self.now).total_seconds()) if ends else None)

    @invariant()
    def memory(self) -> None:
        assert self.queue.entry_count <= 64 + 4 * len(self.model)

    def end_delays(self) -> None:
        for waiting in self.model.values():
            if waiting.state in {"backing off", "waiting"} and waiting.until <= self.now:
                waiting.state = "due"


TestPendingModel = PendingModel.TestCase
TestPendingModel.settings = settings(deadline=None, max_examples=60, stateful_step_count=50)


def test_the_backoff_doubles_up_to_ten_seconds() -> None:
    pods, pod, now = PendingPods(), make_pod("web"), START
    pods.put(pod)
    delays: list[float | None] = []
    for _ in range(6):
        assert pods.pop(now) is pod
        pods.fail(pod.ref, None, now)
        delays.append(pods.next_delay(now))
        now += timedelta(seconds=delays[-1] or 0)
    assert delays == [1, 2, 4, 8, 10, 10]


def test_a_pod_that_waits_for_a_change_is_tried_after_five_minutes_without_one() -> None:
    pods, pod = PendingPods(), make_pod("web")
    pods.put(pod)
    assert pop(pods) == "web"
    pods.fail(pod.ref, Cure.NODE, START)
    assert pods.next_delay(START) == 300
    assert pop(pods, seconds(299)) is None
    assert pop(pods, seconds(300)) == "web"


def test_changes_that_do_not_help_leave_a_pod_alone() -> None:
    pods, pod = PendingPods(), make_pod("web")
    pods.put(pod)
    assert pop(pods) == "web"
    pods.fail(pod.ref, Cure.POD_REMOVED, START)
    assert not pods.wake(Cure.NODE, START)
    assert pop(pods) is None
    assert pods.wake(Cure.POD_REMOVED, START)
    assert pop(pods) == "web"


def test_many_pods_that_are_woken_at_once_wait_for_the_end_of_their_backoff() -> None:
    pods = PendingPods()
    for number in range(600):
        pods.put(make_pod(f"pod-{number}"))
    while (pod := pods.pop(START)) is not None:
        pods.fail(pod.ref, Cure.NODE, START)
    pods.wake(Cure.NODE, START)
    early = 0
    while pods.pop(START) is not None:
        early += 1
    assert early == 500
    assert pods.next_delay(START) == 1


def test_a_pod_of_the_same_name_replaces_one_that_waits() -> None:
    pods, old = PendingPods(), make_pod("web", uid="old")
    pods.put(old)
    assert pop(pods) == "web"
    pods.fail(old.ref, Cure.NODE, START)
    new = make_pod("web", uid="new")
    pods.put(new)
    assert not pods.wake(Cure.NODE, START)
    assert pods.pop(START) is new
    assert pods.pop(START) is None
