"""Plays scenarios on the embedded server and beside kube-controller-manager, and compares the state of each step."""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.conformance.target import Target
from tests.controllers.catalog import AREAS
from tests.controllers.moments import Moments
from tests.controllers.player import ScenarioPlayer
from tests.controllers.scenario import PATHS, Scenario
from tests.controllers.state import differences, normalised

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.controllers.scenario import Area
    from tests.controllers.state import State

POLL_EVERY = 0.25


@dataclass(frozen=True)
class Outcome:
    """The result of an action.

    Attributes:
        status: The HTTP status; 0 if there was no pod to pick.
        state: The state of the namespace when the controller has nothing left to do.
    """

    status: int
    state: State


def play_embedded(scenario: Scenario, namespace: str, now: datetime) -> list[Outcome]:
    """Play a scenario on a new embedded server with a virtual clock."""
    area = AREAS[scenario.area]
    outcomes: list[Outcome] = []
    enabled = ("garbage", "namespaces", *area.embedded)
    with masthead.server.run(clock=VirtualClock(now), controllers=enabled, bootstrap=False) as server:
        target = Target(server.url, server.token or "", server.compact)
        with closing(ScenarioPlayer(target, namespace, Moments(now))) as player:
            player.begin()
            for action in scenario.actions:
                status = player.play(action)
                server.block_until_idle()
                server.advance(area.advance)
                server.block_until_idle()
                outcomes.append(Outcome(status, player.read(area.resources)))
    return outcomes


class RealObjects:
    """The objects of all scenarios on the real server, which one thread lists again and again for all of them.

    Args:
        target: The server.
        area: The area, which says what to list.
    """

    def __init__(self, target: Target, area: Area) -> None:
        self._target = target
        self._area = area
        self._changed = threading.Condition()
        self._number = 0
        self._objects: dict[str, dict[str, list[Any]]] = {}
        self._error: BaseException | None = None
        self._stopping = threading.Event()

    @contextmanager
    def polled(self) -> Iterator[RealObjects]:
        """Poll in a thread until the end of the block."""
        thread = threading.Thread(target=self._poll, name="poll of the real server")
        thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            thread.join()

    @property
    def number(self) -> int:
        """The number of the newest listing."""
        return self._number

    def after(self, number: int) -> tuple[int, dict[str, dict[str, list[Any]]]]:
        """Wait for a listing that began after the given one had ended; returns its number and the objects."""
        with self._changed:
            while self._number < number + 2 and self._error is None:
                self._changed.wait()
            if self._error is not None:
                raise RuntimeError("the real server cannot be listed") from self._error
            return self._number, self._objects

    def _poll(self) -> None:
        try:
            with closing(ScenarioPlayer(self._target, "", Moments(datetime.now(UTC)))) as player:
                while not self._stopping.wait(POLL_EVERY):
                    found = self._list(player)
                    with self._changed:
                        self._objects, self._number = found, self._number + 1
                        self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()
            raise

    def _list(self, player: ScenarioPlayer) -> dict[str, dict[str, list[Any]]]:
        found: dict[str, dict[str, list[Any]]] = {}
        for resource in self._area.resources:
            code, body = player.send("GET", f"{PATHS[resource]}/{resource}")
            assert code == 200, body
            for item in body["items"]:
                namespace = found.setdefault(item["metadata"]["namespace"], {})
                # Lists leave out the kind and version of their items.
                namespace.setdefault(resource, []).append(item)
        return found


def play_real(
    scenario: Scenario,
    namespace: str,
    now: datetime,
    real: Target,
    objects: RealObjects,
    expected: list[Outcome] | None,
) -> list[Outcome]:
    """Play a scenario on the real server.

    After each step, wait until the state is the expected one in two listings, or does not change any more. Without
    an expected outcome, play the scenario to its end.
    """
    area, moments = AREAS[scenario.area], Moments(now)
    outcomes: list[Outcome] = []
    with closing(ScenarioPlayer(real, namespace, moments)) as player:
        player.begin()
        try:
            for number, action in enumerate(scenario.actions):
                status = player.play(action)
                wanted = None if expected is None else expected[number]
                state = _settled(objects, namespace, moments, area, None if wanted is None else wanted.state)
                outcomes.append(Outcome(status, state))
                if wanted is not None and outcomes[-1] != wanted:
                    break  # later differences follow from this one
        finally:
            player.clean(area.resources)
    return outcomes


def _settled(objects: RealObjects, namespace: str, moments: Moments, area: Area, wanted: State | None) -> State:
    number, equal = objects.number, 0
    last: State | None = None
    changed = time.monotonic()
    while True:
        number, found = objects.after(number)
        mine = found.get(namespace, {})
        state = normalised({resource: mine.get(resource, []) for resource in area.resources}, namespace, moments)
        equal = equal + 1 if state == wanted else 0
        if state != last:
            last, changed = state, time.monotonic()
        if equal > 1 or time.monotonic() - changed > area.quiet:
            return state


def compare(scenario: Scenario, namespace: str, real: Target, objects: RealObjects) -> list[str]:
    """Play a scenario on both servers; returns how the first step that differs does so."""
    now = datetime.now(UTC)
    # Virtual clocks advance by multiples of five seconds, and never show a whole minute then: those are the scenario's.
    now = now.replace(second=now.second // 5 * 5 + 3, microsecond=0)
    embedded = play_embedded(scenario, namespace, now)
    found = play_real(scenario, namespace, now, real, objects, embedded)
    return differing_steps(found, embedded)


def differing_steps(real: list[Outcome], embedded: list[Outcome]) -> list[str]:
    """How the first step that differs does so."""
    for number, (one, other) in enumerate(zip(real, embedded, strict=False)):
        lines = differences(one.state, other.state)
        if one.status != other.status:
            lines.insert(0, f"status: real {one.status}, embedded {other.status}")
        if lines:
            return [f"step {number}: {line}" for line in lines]
    return []
