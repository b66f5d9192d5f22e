"""A collection as an API server keeps it, with its history and its troubles: no sockets, no clock.

All randomness comes from one `random.Random`, so that a seed determines a scenario.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._sansio.listwatch_steps import Failure

if TYPE_CHECKING:
    from random import Random

    from masthead._sansio.listwatch_steps import List, Stream

NAMES: Final = "abcdefg"
LARGEST_PAGE: Final = 3

REFUSED: Final = Failure()
SILENCE: Final = Failure(silent=True)
EXPIRED: Final = Failure(code=410, reason="Expired")
TOO_LARGE: Final = Failure(code=504, reason="Timeout", too_large=True)
BUSY: Final = Failure(code=429, reason="TooManyRequests", retry_after=7.0)

ANSWERS: Final[tuple[Failure, ...]] = (
    REFUSED,
    Failure(unreachable=True),
    SILENCE,
    EXPIRED,
    TOO_LARGE,
    BUSY,
    Failure(code=429, retry_after=5000.0),
    Failure(code=403, reason="Forbidden"),
    Failure(code=404, reason="NotFound"),
    Failure(code=500, reason="InternalError"),
    Failure(code=503),
)
"""How a request may fail."""

ENDINGS: Final[tuple[Failure | None, ...]] = (
    None,
    None,
    None,
    REFUSED,
    REFUSED,
    SILENCE,
    EXPIRED,
    TOO_LARGE,
    BUSY,
    Failure(code=403, reason="Forbidden"),
    Failure(code=500, reason="InternalError"),
)
"""How a stream may end before its time is up; None for in order."""


class Thing(NamedTuple):
    """An object, as far as it matters here."""

    name: str
    uid: int
    version: int


class StreamEvent(NamedTuple):
    """An event."""

    kind: str
    thing: Thing
    ends_initial: bool = False


def bookmark(version: int, *, ends_initial: bool = False) -> StreamEvent:
    return StreamEvent("BOOKMARK", Thing("", 0, version), ends_initial)


class Page(NamedTuple):
    """A page of a list."""

    things: list[Thing]
    version: int
    token: str


@dataclass(frozen=True, slots=True)
class ServerBehaviour:
    """How a server is, and stays.

    Attributes:
        initial_events: ``known``, ``refused`` or ``ignored``.
        has_memory: Whether lists that name a version are answered from memory, which is never in pages.
        accepts_future: Whether it lets a watch begin at a version that it has not reached, and waits.
    """

    initial_events: str = "known"
    has_memory: bool = True
    accepts_future: bool = False


class Server:
    """Objects, one version for all of them, and a history that does not reach back for ever.

    Attributes:
        failure_rate: The probability that a request or a watch fails.
        answers: How requests fail.
        endings: How streams fail.
        patience: After how many batches, at the most, they do.
        dying: For how many seconds nothing comes before they do.
        life: How often it lost everything: versions of one life mean nothing in another.
        boots: How often it was started: no stream lives longer than that.
        lives: For each life, the objects at each of its versions.
    """

    def __init__(self, rng: Random, behaviour: ServerBehaviour | None = None, failure_rate: float = 0.0) -> None:
        self.rng = rng
        self.behaviour = behaviour or ServerBehaviour()
        self.failure_rate = failure_rate
        self.answers = ANSWERS
        self.endings = ENDINGS
        self.patience = 2
        self.dying: tuple[float, ...] = (0.0, 0.3, 1.5, 40.0)
        self.boots = self.uids = 0
        self.lives: list[dict[int, dict[str, Thing]]] = []
        self._begin_life()

    def _begin_life(self) -> None:
        self.version = 1
        self.objects: dict[str, Thing] = {}
        self.log: list[StreamEvent] = []
        self.forgotten = 0
        self.behind: int | None = None
        self.tokens: dict[str, tuple[list[Thing], int]] = {}
        self.lives.append({0: {}, 1: {}})

    @property
    def life(self) -> int:
        return len(self.lives) - 1

    @property
    def seen(self) -> int:
        """The version of the replica that serves all requests except most recent ones."""
        return self.version if self.behind is None else self.behind

    # What happens to it

    def change(self) -> None:
        """Write an object: here, or in another resource, which advances the version alone."""
        rng = self.rng
        self.version += 1
        name = rng.choice(NAMES)
        known = self.objects.get(name)
        if rng.random() < 0.9:
            self.objects = objects = self.objects.copy()
            if known is None:
                self.uids += 1
                thing = objects[name] = Thing(name, self.uids, self.version)
                self.log.append(StreamEvent("ADDED", thing))
            elif rng.random() < 0.5:
                thing = objects[name] = Thing(name, known.uid, self.version)
                self.log.append(StreamEvent("MODIFIED", thing))
            else:
                del objects[name]
                self.log.append(StreamEvent("DELETED", Thing(name, known.uid, self.version)))
        self.lives[-1][self.version] = self.objects

    def change_often(self, most: int) -> None:
        for _ in range(self.rng.randrange(most + 1)):
            self.change()

    def breathe(self) -> None:
        """Events between two consecutive requests."""
        self.change_often(2)
        if not self.failure_rate:
            return
        chance = self.rng.random()
        if chance < 0.06:
            self.compact()
        elif chance < 0.12:
            self.behind = self.seen
        elif chance < 0.2:
            self.behind = None
        elif chance < 0.24:
            self.tokens.clear()

    def live(self) -> None:
        """Events that happen only while time passes.

        The loss of all data between two requests without a pause cannot be detected.
        """
        self.breathe()
        if not self.failure_rate:
            return
        chance = self.rng.random()
        if chance < 0.05:
            self.boots += 1
        elif chance < 0.10:
            self.lose_everything()
        elif chance < 0.13:
            self.redefine()

    def compact(self) -> None:
        """Forget all of the history, or some; streams that are open are not affected."""
        if self.log:
            self.forgotten = self.rng.choice((self.version, self.log[len(self.log) // 2].thing.version))
            self.tokens.clear()

    def lose_everything(self) -> None:
        """Restart empty; before the next request, other writes may make its versions overtake the old ones."""
        self.boots += 1
        self._begin_life()
        self.change_often(8)
        if self.rng.random() < 0.5:
            self.version += 1000
            self.change()

    def redefine(self) -> None:
        """The kind is removed, with all of its objects, and comes back."""
        self.boots += 1
        self.version += 1
        self.objects = {}
        self.lives[-1][self.version] = self.objects
        self.log, self.forgotten = [], self.version
        self.behind = None
        self.tokens.clear()
        self.change_often(3)

    def heal(self) -> None:
        self.failure_rate = 0.0
        self.behind = None

    # What it answers

    def failure(self) -> Failure | None:
        """How a request fails, if it does."""
        if self.answers and self.rng.random() < self.failure_rate:
            return self.rng.choice(self.answers)
        return None

    def list(self, step: List) -> Page | Failure:
        if failure := self.failure():
            return failure
        if step.token:
            assert not step.version, "a page's version is in its token, and must not be named beside it"
            if step.token not in self.tokens:
                return EXPIRED
            rest, version = self.tokens.pop(step.token)
        else:
            if step.version and int(step.version) > self.seen:
                return TOO_LARGE
            version = self.seen if step.version else self.version
            rest = list(self.lives[-1][version].values())
        if step.limit and (not step.version or not self.behaviour.has_memory):
            size = min(step.limit, LARGEST_PAGE)
            if len(rest) > size:
                token = f"{version}/{len(rest)}/{len(self.tokens)}"
                self.tokens[token] = rest[size:], version
                return Page(rest[:size], version, token)
        return Page(rest, version, "")

    def watch(self, step: Stream) -> Watch | Failure:
        if failure := self.failure():
            return failure
        if step.initial_events and self.behaviour.initial_events == "refused":
            return Failure(code=self.rng.choice((400, 422)), reason="Invalid")
        is_initial = step.initial_events and self.behaviour.initial_events == "known"
        if is_initial or not step.version:
            if step.version and int(step.version) > self.seen:
                return TOO_LARGE
            return self._initial_watch(self.seen if step.version else self.version, is_marked=is_initial)
        since = int(step.version)
        if since < self.forgotten:
            return EXPIRED
        if since > self.seen and not self.behaviour.accepts_future:
            return TOO_LARGE
        return Watch(self, [], since)

    def _initial_watch(self, version: int, *, is_marked: bool) -> Watch:
        """The objects in random order, in their current state or in an earlier one with the changes since."""
        old = self.rng.choice(self.log).thing.version if self.log else version
        base = old if self.forgotten <= old <= version else version
        first = [StreamEvent("ADDED", thing) for thing in self.lives[-1][base].values()]
        self.rng.shuffle(first)
        first += [event for event in self.log if base < event.thing.version <= version]
        if is_marked:
            first.append(bookmark(version, ends_initial=True))
        return Watch(self, first, version)

    def ending(self) -> tuple[Failure | None, int] | None:
        """How, and after how many batches, a stream ends too early; None if it does not."""
        if self.rng.random() < self.failure_rate:
            return self.rng.choice(self.endings), self.rng.randint(0, self.patience)
        return None


class Watch:
    """The events of the server for one watch."""

    def __init__(self, server: Server, first: list[StreamEvent], version: int) -> None:
        self._server = server
        self._first = first
        self._told = version

    def batch(self) -> list[StreamEvent]:
        """The events to send now."""
        first, self._first = self._first, []
        if first:
            return first
        server, since = self._server, self._told
        seen = server.seen
        if seen < since:
            return []
        self._told = seen
        batch = [event for event in server.log if since < event.thing.version <= seen]
        if server.rng.random() < 0.3:
            batch.append(bookmark(seen))
        return batch
