"""How a copy of a collection is kept: listed, followed, and listed again where it must be.

::

                     ┌───── refused, silent, or cut short twice ─────┐
                     │                                               v
    start ───> STREAMING                                          LISTING ──page──┐
      │         │    ^  └─the initial objects are all there─┐      │   ^ └─────────┘
      │         │    │                                      v      │   │ a page expired: in one piece
      │         │    └── forgotten (410), refused, ──── FOLLOWING <┘ ──┘ futile twice
      │         │           too large twice              │      ^
      │         └─ 410, too large: any version will do   │drop  │the same server
      │                                                  v      │
      └── with a version (from a snapshot) ────────> VERIFYING ───┘
                                                         └─ not the server that we knew ──> STREAMING, any version

The caller does what a step says and tells what came of it; the machine answers with the next step::

    step = machine.start()
    while True:                                   # wait for step.after seconds, then machine.begin(now), then:
        step = machine.page(...)                  # for each page of a List that came
        machine.opened(); machine.event(...)      # for a Stream: for each event; then step = machine.closed(now)
        step = machine.proved(is_same=...)        # for a VerifyServer
        step = machine.failed(now, failure)       # for any of them

What follows from what:

* The state is complete when the last page, or the bookmark behind the initial objects, has come. Until then nothing of
  it counts, and a step with `restarts` says that what was collected is void.
* A stream goes on from the last version. A new state is asked for only when there is no way on from that version, and
  then must be no older than it, so that time never goes back; unless the server cannot give one, which means that it is
  another server, or has lost its data: then any state will do.
* Whenever a stream ends but for its time being up, the server has to prove that it is the one we knew before its events
  are taken for the continuation of ours: versions of another server mean nothing. For the same reason no version and no
  page's token is used again after a wait: behind a wait, there is a proof, or a new state.
  differs from client-go: there, a server that came back without its data is followed from a version that is not its own.
* Delays start over only when a stream has brought something, or has lasted; not when a list has succeeded, because one
  behind which no watch can be opened would be asked for without pause.
* Two streams in a row that were futile (refused or broken off, with nothing in them) mean that lists may work where
  watches do not. Then the state is listed, or the copy would stand still behind proofs that succeed.
* A refusal is never final: permissions, and kinds, come and go. It is told, waited for, and tried again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._sansio.backoff import Backoff
from masthead._sansio.retry import LONGEST_WAIT
from masthead._sansio.versions import is_at_least
from masthead._sansio.watching import PACE

if TYPE_CHECKING:
    from masthead._sansio.backoff import Random

__all__ = [
    "LASTING",
    "PAGE",
    "Failure",
    "List",
    "ListWatchMachine",
    "Phase",
    "VerifyServer",
    "Role",
    "Step",
    "Stream",
]

LASTING: Final = 30.0
"""A stream that stayed open for so many seconds is a sign of health, whether it brought something or not."""

PAGE: Final = 500
"""How many objects are asked for at a time, where pages make sense."""

_SHORTEST: Final = 300
_ANY: Final = ("", "0")
_EXPIRED: Final = 410
_EXPIRED_REASONS: Final = ("Expired", "Gone")
_NO_SUCH_OPTION: Final = frozenset({400, 422})
_BUSY: Final = 429
_PASSING: Final = frozenset({408, _BUSY})
"""The codes below 500 that speak of the moment, not of the request."""
_CUT_SHORT: Final = 2
"""How many streams may end before their initial objects are all there, until those are listed instead."""
_FUTILE: Final = 2
"""How many streams in a row may bring nothing, until what they do not tell is listed."""
_LAGGING: Final = 2
"""How often a server may say that it does not have our version yet, until we believe that it never will."""


class Phase(Enum):
    """Where a list-watch is; the diagram above tells how they follow each other."""

    STREAMING = "streaming"
    LISTING = "listing"
    FOLLOWING = "following"
    VERIFYING = "proving"


class Role(Enum):
    """What an event is to the copy."""

    INITIAL = "initial"
    """One of the objects that make up a new state, which is not complete yet."""
    COMPLETE = "complete"
    """The new state is complete, at this event's version."""
    CHANGE = "change"
    """A change of the state."""


@dataclass(frozen=True, slots=True)
class List:
    """Ask for a page.

    Attributes:
        version: The resource version to ask with; empty for the newest, ``0`` for any. Behind the first page it is
            empty: the token holds it.
        limit: How many objects; 0 for all.
        token: Where the page begins; empty for the first.
        after: How many seconds to wait before.
        restarts: Whether this begins a new state; what was collected so far is void.
    """

    version: str
    limit: int
    token: str = ""
    after: float = 0.0
    restarts: bool = False

    @property
    def match(self) -> str:
        """The ``resourceVersionMatch`` to ask with; empty for none."""
        return "NotOlderThan" if self.version else ""


@dataclass(frozen=True, slots=True)
class Stream:
    """Open a watch.

    Attributes:
        version: From which version on; empty for none.
        initial_events: Whether to ask for the initial objects.
        seconds: For how long the server is to keep it open.
        after: How many seconds to wait before.
        restarts: Whether this begins a new state; what was collected so far is void.
    """

    version: str
    initial_events: bool
    seconds: int
    after: float = 0.0
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class VerifyServer:
    """Find out whether the server is the one that the copy came from, and still has what it had.

    Attributes:
        version: A version that the server must have reached.
        after: How many seconds to wait before.
    """

    version: str
    after: float = 0.0


Step: TypeAlias = "List | Stream | VerifyServer"


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, as far as it decides what comes next.

    Attributes:
        code: The code of the answer, or of an ERROR event; 0 for a connection that was lost or never made.
        reason: The Status' reason.
        retry_after: For how many seconds the server asked to be left alone.
        too_large: Whether the server says that it has not reached the version yet.
        silent: Whether nothing came for too long.
    """

    code: int = 0
    reason: str = ""
    retry_after: float | None = None
    too_large: bool = False
    silent: bool = False

    @property
    def is_expired(self) -> bool:
        """Whether the server has forgotten the version."""
        return self.code == _EXPIRED or self.reason in _EXPIRED_REASONS

    @property
    def is_refusal(self) -> bool:
        """Whether the server would say the same if it were asked again at once."""
        return 0 < self.code < 500 and self.code not in _PASSING


class ListWatchMachine:
    """Decides how a copy of a collection is made and kept.

    Args:
        random: Gives numbers in [0, 1).
        version: The version of a copy that is there already; empty if there is none.
        initial_events: Whether to try watches that begin with what there is.
        page_size: How many objects to ask for at a time; 0 to leave it to the machine, which asks for pages only where a
            server would not have to answer from its disk for them.
        backoff: How long to wait after failures.
        lasting: A stream that stayed open for so many seconds is a sign of health, whether it brought something or not.
    """

    def __init__(
        self,
        *,
        random: Random,
        version: str = "",
        initial_events: bool = True,
        page_size: int = 0,
        backoff: Backoff | None = None,
        lasting: float = LASTING,
    ) -> None:
        self._random = random
        self._lasting = lasting
        self._version = version
        self._any_will_do = False
        self._initial_events = initial_events
        self._page_size = page_size
        self._is_paged = False
        self._backoff = backoff or Backoff()
        self._step: Step = VerifyServer(version)
        self._started = 0.0
        self._is_open = False
        self._has_news = False
        self._is_well = False
        self._cut_short = 0
        self._futile = 0
        self._lagging = 0
        self._expired_pages = 0
        self.phase = Phase.VERIFYING

    @property
    def version(self) -> str:
        """The version up to which everything is known; empty as long as no state was complete."""
        return self._version

    @property
    def initial_events(self) -> bool:
        """Whether watches that begin with what there is are still tried."""
        return self._initial_events

    @property
    def is_open(self) -> bool:
        """Whether the server has agreed to the stream that was asked for last."""
        return self._is_open

    def forget_initial_events(self) -> None:
        """Do not try any more to let a watch begin with what there is: the server has shown that it cannot."""
        self._initial_events = False

    def start(self) -> Step:
        """What to do first."""
        return self._become(self._proof())

    def begin(self, now: float) -> None:
        """The step that was given last is being done."""
        self._started = now
        self._is_open = self._has_news = False

    def opened(self) -> None:
        """The server has agreed to a stream: from now on, what it says in it is not about the request."""
        self._is_open = True

    def event(self, kind: str, version: str, *, ends_initial: bool = False) -> Role:
        """An event came.

        Args:
            kind: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``.
            version: The object's resource version; empty where it cannot be read.
            ends_initial: Whether it is the bookmark that ends the initial objects.
        """
        if self.phase is Phase.FOLLOWING:
            if self._moves(kind, version):
                self._version = version
                self._has_news = True
                self._lagging = 0
            return Role.CHANGE
        if not (ends_initial and version):
            return Role.INITIAL
        self._complete(version)
        return Role.COMPLETE

    def _moves(self, kind: str, version: str) -> bool:
        """Whether an event of the stream that is followed says a version to go on from."""
        if kind == "BOOKMARK":  # which tells nothing else: one that is late, or empty, must not set us back
            return version != self._version and not is_at_least(self._version, version)
        # Behind a list without a version, the objects come once more, in no order: none can be gone on from.
        return bool(version) and version != self._version and (kind != "ADDED" or self._version not in _ANY)

    def page(self, version: str, token: str) -> Step:
        """A page came.

        Args:
            version: The list's resource version.
            token: Where the next page begins; empty if this was the last.
        """
        asked = self._list_step()
        if token:
            self._is_paged = self._is_paged or asked.version == "0"
            return self._become(List("", asked.limit, token))
        self._complete(version)
        return self._become(self._stream(version))

    def proved(self, *, is_same: bool) -> Step:
        """The server showed whether it is the one that we knew."""
        if is_same:
            self.phase = Phase.FOLLOWING
            return self._become(self._stream(self._version))
        self._any_will_do = True
        return self._become(self._anew())

    def closed(self, now: float) -> Step:
        """A stream ended in order."""
        if self.phase is Phase.STREAMING:
            return self.failed(now, Failure())
        self._note_health(now)
        lasted = now - self._started
        if lasted >= self._stream_step().seconds - PACE and self._version not in _ANY:
            return self._become(self._stream(self._version))
        # One that ends as soon as it begins, with nothing in it, is a failure. Any other early end is odd, but may be
        # some proxy's habit, and is only kept from happening without pause.
        if lasted < PACE and not self._has_news:
            return self._become(self._after_following(self._wait(now, Failure())))
        return self._become(self._proof(max(0.0, PACE - lasted)))

    def failed(self, now: float, failure: Failure) -> Step:
        """What was tried did not succeed, or a stream broke off or ended with an ERROR event."""
        self._note_health(now)
        self._cut_short += self.phase is Phase.STREAMING and self._is_open
        return self._become(self._after_failure(now, failure))

    def _after_failure(self, now: float, failure: Failure) -> Step:
        if failure.is_expired or failure.too_large:
            return self._after_loss(now, failure)
        if self.phase is Phase.STREAMING:
            return self._after_streaming(now, failure)
        after = self._wait(now, failure)
        if failure.is_refusal and not self._is_open:
            # Not allowed, or not there. When that changes, more may have changed than versions tell.
            return self._anew(after)
        if self.phase is Phase.LISTING:
            asked = self._list_step()
            return self._listing(after) if asked.token else replace(asked, after=after)
        # Who is busy is not to be asked for more; and where nothing happens, silence tells nothing.
        if self.phase is Phase.FOLLOWING and failure.code != _BUSY and not (failure.silent and self._is_open):
            return self._after_following(after)
        return self._proof(after)

    def _after_streaming(self, now: float, failure: Failure) -> Step:
        """The initial objects did not all come."""
        if failure.silent:
            return self._listing()
        is_answer = failure.code != 0 and not self._is_open
        if is_answer and failure.code in _NO_SUCH_OPTION:
            self._initial_events = False
            return self._listing()
        after = self._wait(now, failure)
        return self._listing(after) if is_answer and failure.code != _BUSY else self._anew(after)

    def _after_following(self, after: float) -> Step:
        """A stream ended, and not in order: it may have been futile."""
        self._futile += not self._is_well
        return self._listing(after) if self._futile >= _FUTILE else self._proof(after)

    def _after_loss(self, now: float, failure: Failure) -> Step:
        """There is no way on from the version that was asked for."""
        if self.phase is Phase.LISTING and self._list_step().token:
            # The pages' version is forgotten. In one piece there is nothing to forget; but some give pages all the same.
            self._expired_pages += 1
            after = self._wait(now, failure) if self._expired_pages > 1 else 0.0
            return replace(self._listing(after), limit=0)
        is_following = self.phase is Phase.FOLLOWING
        if failure.too_large and self.phase in {Phase.FOLLOWING, Phase.VERIFYING}:
            self._lagging += 1
            if self._lagging < _LAGGING:
                return self._proof(self._wait(now, failure))
        # At once, but only once: a server that forgets even the newest version is in trouble. A list may still do.
        was_any = self._any_will_do
        self._any_will_do = was_any or failure.too_large or not is_following
        after = self._wait(now, failure) if is_following or was_any else 0.0
        must_list = self.phase is Phase.LISTING or was_any
        return self._listing(after) if must_list else self._anew(after)

    def _complete(self, version: str) -> None:
        self._version = version
        self._any_will_do = False
        self._cut_short = self._lagging = self._futile = self._expired_pages = 0
        self.phase = Phase.FOLLOWING

    def _anew(self, after: float = 0.0) -> Step:
        """Ask for a new state."""
        if not self._initial_events or self._cut_short >= _CUT_SHORT:
            return self._listing(after)
        self.phase = Phase.STREAMING
        version = "" if self._any_will_do else self._version
        return replace(self._stream(version), initial_events=True, after=after, restarts=True)

    def _listing(self, after: float = 0.0) -> List:
        """Ask for a new state, page by page."""
        self.phase = Phase.LISTING
        self._cut_short = 0
        version = "" if self._any_will_do else self._version or "0"
        return List(version, self._limit(version), after=after, restarts=True)

    def _proof(self, after: float = 0.0) -> Step:
        """Go on from the version that is known, if there is one and the server is the one that gave it."""
        if self._version in _ANY:
            return self._anew(after)
        self.phase = Phase.VERIFYING
        return VerifyServer(self._version, after)

    def _stream(self, version: str) -> Stream:
        return Stream(version, initial_events=False, seconds=_SHORTEST + int(_SHORTEST * self._random()))

    def _limit(self, version: str) -> int:
        """How many objects to ask for at a time.

        A list that names a version is answered from the server's memory only if it is whole. One of any version that
        came in pages all the same says that the server has no such memory.
        """
        if self._page_size:
            return self._page_size
        return PAGE if self._is_paged or version in _ANY else 0

    def _become(self, step: Step) -> Step:
        self._step = step
        return step

    def _list_step(self) -> List:
        assert isinstance(self._step, List)
        return self._step

    def _stream_step(self) -> Stream:
        assert isinstance(self._step, Stream)
        return self._step

    def _wait(self, now: float, failure: Failure) -> float:
        asked = min(failure.retry_after or 0.0, LONGEST_WAIT)
        return max(asked, self._backoff.next(now, self._random))

    def _note_health(self, now: float) -> None:
        self._is_well = self._has_news or (self._is_open and now - self._started >= self._lasting)
        if self._is_well:
            self._backoff.reset()
            self._futile = 0
