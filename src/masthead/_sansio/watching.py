"""From where a watch goes on after a drop.

::

                       version given
    Watching() ───────────────────────────────> FOLLOWING ──drop──┐
        │                                        ^     ^          │ open again at the last version
        │ no version, or initial events          │     └──────────┘
        v                                        │
     INITIAL ───the initial events are over──────┘
        │  ^
        │  └── open again from the beginning ──drop──┐
        └────────────────────────────────────────────┘

     INITIAL, FOLLOWING ───the version is forgotten (410), or the server refuses───> DONE

The caller opens streams and delivers events; the machine says when and from where. One round::

    step = machine.start()
    while isinstance(step, Open):          # wait for step.after seconds, then:
        machine.opening(now)
        ...                                # send the request with step.version
        machine.opened()
        machine.event(kind, version)       # for each event, which is then delivered
        step = machine.closed(now)         # or machine.failed(now, ...)

In FOLLOWING, events are neither lost nor told twice: the version moves with each of them, bookmarks included. The
events of INITIAL come in no order, so that none of their versions can be gone on from; a drop there begins anew, and
`Open.restarts` says that what was delivered so far is void.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._sansio.backoff import Backoff
from masthead._sansio.retry import LONGEST_WAIT
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from masthead._sansio.backoff import Random

__all__ = ["PACE", "Fail", "Open", "State", "Step", "Watching"]

PACE: Final = 1.0
"""Streams that end with nothing new in them are opened this often, in seconds from one request to the next."""

_ANY: Final = ("", "0")
"""Versions that mean "whatever there is": the server begins with an ADDED for each object, in no order."""

_EXPIRED_CODE: Final = 410
_EXPIRED_REASONS: Final = ("Expired", "Gone")
_PASSING: Final = (408, 429)
"""The codes below 500 that speak of the moment, not of the request."""


class State(Enum):
    """Where a watch is; the diagram above tells how they follow each other."""

    INITIAL = "initial"
    FOLLOWING = "following"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Open:
    """Open a stream.

    Attributes:
        version: From which resource version on; empty for none.
        initial_events: Whether to ask for the initial events (``sendInitialEvents=true``).
        after: How many seconds to wait before.
        restarts: Whether it begins from the beginning once more. What was delivered so far is void: it is told
            again, but for what has vanished in between.
    """

    version: str
    initial_events: bool
    after: float = 0.0
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class Fail:
    """End the watch with the error that came.

    Attributes:
        expired: Whether the server has forgotten the version: list again, and watch from there.
    """

    expired: bool


Step: TypeAlias = "Open | Fail"


class Watching:
    """A watch that outlives its connections.

    Args:
        version: Where to begin, such as the version of a list; empty for what there is now.
        initial_events: Whether the server is to begin with what there is, and to say when that is told. Where a
            server does not know this, it is the caller who lists first.
        random: Gives numbers in [0, 1).
        backoff: How long to wait after failures.
    """

    __slots__ = (
        "_backoff",
        "_initial_events",
        "_is_open",
        "_moved",
        "_random",
        "_started",
        "_version",
        "state",
    )

    def __init__(
        self,
        version: str = "",
        *,
        random: Random,
        initial_events: bool = False,
        backoff: Backoff | None = None,
    ) -> None:
        self._version = version
        self._initial_events = initial_events
        self._random = random
        self._backoff = backoff or Backoff()
        self._started = 0.0
        self._is_open = False
        self._moved = False
        self.state = State.INITIAL if initial_events or version in _ANY else State.FOLLOWING

    @property
    def version(self) -> str:
        """From where a stream would be opened now."""
        return self._version

    def start(self) -> Open:
        """How to open the first stream."""
        return Open(self._version, self._initial_events)

    def opening(self, now: float) -> None:
        """A request is being sent."""
        self._started = now
        self._is_open = self._moved = False

    def opened(self) -> None:
        """The server has agreed: from now on, what it says in the stream is not about the request."""
        self._is_open = True

    def event(self, kind: str, version: str, *, ends_initial: bool = False) -> None:
        """An event came, and is the caller's to deliver.

        Args:
            kind: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``.
            version: The object's resource version; empty where it cannot be read. The watch lives on then, and an
                event that no other followed before a drop is told again.
            ends_initial: Whether it is the bookmark that ends the initial events.
        """
        if not version:
            return
        if self.state is State.INITIAL:
            # Without the mark, the first event that is no ADDED is the first that is surely not an initial one.
            if not (ends_initial if self._initial_events else kind != "ADDED"):
                return
            self.state = State.FOLLOWING
            self._initial_events = False
            self._moved = True
        elif version != self._version:
            self._moved = True
        self._version = version

    def closed(self, now: float) -> Step:
        """The stream ended in order, as every watch does when its time is up: open the next.

        At once, if there was something new in it. If there was not, a server that has nothing to tell must not be
        asked without pause. If it ended before the mark that it had promised, that is a failure: the server did much
        work for nothing, and would do so again.
        differs from client-go: there, it is asked for all of them again at once.

        Raises:
            ClosedError: if the watch is done.
        """
        if self._initial_events:
            return self.failed(now)
        self._note_progress(now)
        after = 0.0 if self._moved else max(0.0, self._started + PACE - now)
        return self._open(after)

    def failed(
        self,
        now: float,
        *,
        code: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        is_final: bool = False,
    ) -> Step:
        """A stream could not be opened, broke, or ended with an ERROR event.

        An answer below 500 to the request is final. The same in an ERROR event is not: it is about the stream, and if
        it is about the request as well, the next answer will say so. A forgotten version is final in both.

        Args:
            now: The time.
            code: The code of the answer or the event; 0 for a connection that was lost or never made.
            reason: The Status' reason.
            retry_after: For how many seconds the server asked to be left alone.
            is_final: Whether no repetition can help, whatever the code is.

        Raises:
            ClosedError: if the watch is done.
        """
        if code == _EXPIRED_CODE or reason in _EXPIRED_REASONS:
            return self._fail(expired=True)
        is_refused = not self._is_open and 0 < code < 500 and code not in _PASSING
        if is_final or is_refused:
            return self._fail(expired=False)
        self._note_progress(now)
        # A watch has all the time in the world, but must not seem dead because of one odd header.
        asked = min(retry_after or 0.0, LONGEST_WAIT)
        return self._open(max(asked, self._backoff.next(now, self._random)))

    def _note_progress(self, now: float) -> None:
        if self._moved:
            self._backoff.progress(now)

    def _open(self, after: float) -> Open:
        if self.state is State.DONE:
            raise ClosedError("the watch has ended with an error; begin a new one")
        return Open(self._version, self._initial_events, after, restarts=self.state is State.INITIAL)

    def _fail(self, *, expired: bool) -> Fail:
        self.state = State.DONE
        return Fail(expired)
