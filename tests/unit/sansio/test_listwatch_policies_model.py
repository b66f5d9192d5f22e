"""A watch and a model of a server: no event is lost or delivered twice."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.listwatch import ListWatchMachine
from masthead._sansio.listwatch_steps import Failure, Policy, Step
from masthead._sansio.listwatch_steps import Stream as Open


@dataclass(frozen=True)
class Event:
    kind: str
    name: str
    version: int
    ends_initial: bool = False


class Collection:
    """Objects and their history, as an API server keeps them."""

    def __init__(self) -> None:
        self.version = 10
        self.objects: dict[str, int] = {}
        self.history: list[Event] = []

    def change(self, kind: str, name: str) -> None:
        self.version += 1
        if kind == "DELETED":
            del self.objects[name]
        else:
            self.objects[name] = self.version
        self.history.append(Event(kind, name, self.version))

    def since(self, version: int) -> list[Event]:
        return [event for event in self.history if event.version > version]

    def present(self, rng: random.Random) -> list[Event]:
        """An ADDED for each object, in no order."""
        events = [Event("ADDED", name, version) for name, version in self.objects.items()]
        rng.shuffle(events)
        return events


class Stream:
    """The events of the server for one watch."""

    def __init__(self, server: Collection, step: Open, rng: random.Random) -> None:
        self._server = server
        self._waiting: list[Event] = []
        if step.initial_events or step.version in {"", "0"}:
            self._waiting = server.present(rng)
            self._told = server.version
            if step.initial_events:
                self._waiting.append(Event("BOOKMARK", "", server.version, ends_initial=True))
        else:
            self._told = int(step.version)

    def next(self) -> Event | None:
        if not self._waiting:
            self._waiting = self._server.since(self._told)
            self._told = self._server.version
        return self._waiting.pop(0) if self._waiting else None

    def bookmark(self) -> Event | None:
        """Send a bookmark, if no older event is pending."""
        return None if self._waiting else Event("BOOKMARK", "", self._told)


def replay(events: list[Event]) -> dict[str, int]:
    """The objects that result from these events."""
    known: dict[str, int] = {}
    for event in events:
        if event.kind == "DELETED":
            del known[event.name]
        elif event.kind != "BOOKMARK":
            known[event.name] = event.version
    return known


class Drops(RuleBasedStateMachine):
    """Objects change, streams carry events, and anything may break at any time."""

    @initialize(
        seed=st.integers(0, 1000),
        names=st.lists(st.sampled_from("abcd"), min_size=1, unique=True),
        how=st.sampled_from(["version", "initial events", "newest", "any"]),
    )
    def begin(self, seed: int, names: list[str], how: str) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.server = Collection()
        for name in names:
            self.server.change("ADDED", name)
        listed = self.server.present(self.rng) if how == "version" else []
        version = {"version": str(self.server.version), "any": "0"}.get(how, "")
        policy = Policy.STATE_FIRST if how == "initial events" else Policy.FOLLOW_ONLY
        self.machine = ListWatchMachine(random=self.rng.random, policy=policy, version=version)
        self.delivered: list[Event] = listed
        self.stream: Stream | None = None
        self.open(self.machine.start())

    def open(self, step: Step) -> None:
        assert isinstance(step, Open)
        assert step.after >= 0
        if step.restarts:
            self.delivered = []
        self.step = step
        self.now += step.after
        self.machine.begin(self.now)
        self.stream = None

    def opened(self) -> Stream:
        if self.stream is None:
            self.stream = Stream(self.server, self.step, self.rng)
            self.machine.opened()
        return self.stream

    def take(self, event: Event | None) -> None:
        if event is not None:
            self.machine.event(event.kind, str(event.version), ends_initial=event.ends_initial)
            self.delivered.append(event)

    @rule(name=st.sampled_from("abcd"), is_removal=st.booleans())
    def an_object_changes(self, name: str, is_removal: bool) -> None:
        if name not in self.server.objects:
            self.server.change("ADDED", name)
        else:
            self.server.change("DELETED" if is_removal else "MODIFIED", name)

    @precondition(lambda self: self.stream is None)
    @rule(code=st.sampled_from([0, 429, 500, 503, 504]), retry_after=st.none() | st.floats(0, 5))
    def the_server_responds_with_an_error(self, code: int, retry_after: float | None) -> None:
        step = self.machine.failed(self.now, Failure(code, retry_after=retry_after))
        assert isinstance(step, Open)
        assert step.after >= max(0.8, retry_after or 0)
        self.open(step)

    @rule(count=st.integers(0, 4), then_bookmark=st.booleans())
    def events_come(self, count: int, then_bookmark: bool) -> None:
        stream = self.opened()
        for _ in range(count):
            self.take(stream.next())
        if then_bookmark:
            self.take(stream.bookmark())

    @precondition(lambda self: self.stream is not None)
    @rule(seconds=st.floats(0, 5), code=st.none() | st.sampled_from([0, 403, 429, 500, 504]))
    def the_stream_ends_or_breaks(self, seconds: float, code: int | None) -> None:
        self.now += seconds
        self.open(self.machine.closed(self.now) if code is None else self.machine.failed(self.now, Failure(code)))

    @invariant()
    def popped_objects_are_states_that_the_server_had(self) -> None:
        """No event is lost or repeated: all events since the start replay to the objects of that version."""
        if self.machine.version in {"", "0"}:
            return
        told_to = int(self.machine.version)
        then: dict[str, int] = {}
        for event in self.server.history:
            if event.version > told_to:
                break
            if event.kind == "DELETED":
                del then[event.name]
            else:
                then[event.name] = event.version
        assert replay(self.delivered) == then

    @invariant()
    def changes_are_popped_once_and_in_order(self) -> None:
        versions = [event.version for event in self.delivered if event.kind in {"MODIFIED", "DELETED"}]
        assert versions == sorted(set(versions))
        changes = [event for event in self.delivered if event.kind != "BOOKMARK"]
        assert len({(event.version, event.name) for event in changes}) == len(changes)

    @invariant()
    def from_the_first_change_the_servers_history_is_received_without_a_gap(self) -> None:
        first = next((event for event in self.delivered if event.kind in {"MODIFIED", "DELETED"}), None)
        if first is None:
            return
        changes = [event for event in self.delivered if event.kind != "BOOKMARK"]
        received = changes[changes.index(first) :]
        assert received == self.server.since(first.version - 1)[: len(received)]

    def teardown(self) -> None:
        """Once the server behaves, everything arrives."""
        if not hasattr(self, "machine"):
            return
        stream = self.opened()
        while (event := stream.next()) is not None:
            self.take(event)
        assert replay(self.delivered) == self.server.objects


Drops.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
test_a_watch_tells_all_and_nothing_twice = Drops.TestCase
