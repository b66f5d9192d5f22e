"""The list-watch machine: how the objects of a resource are listed, watched, and listed again.

Every watch uses this state machine. A policy selects a part of it::

    policy          starts with         after a drop              when the version is lost, or the server refuses
    FOLLOW_ONLY     a version           resumes at once           ends with `Fail`
    STATE_FIRST     the current state   resumes at once           ends with `Fail`
    VERIFY_SERVER   the current state   verifies the server       relists, and never gives up

    FOLLOW_ONLY, STATE_FIRST: `client.WatchStream`       VERIFY_SERVER: the reflector

All phases, as a reflector passes through them::

                     ┌───── refused, silent, or cut short twice ─────┐
                     │                                               v
    start ───> STREAMING                                          LISTING ──page──┐
      │         │    ^  └──all initial events have arrived──┐      │   ^ └─────────┘
      │         │    │                                      v      │   │ a page expired: in one piece
      │         │    └── expired (410), refused, ────── FOLLOWING <┘ ──┘ two fruitless streams
      │         │           too large twice              │      ^
      │         └─ 410, too large: any version will do   │drop  │the same server
      │                                                  v      │
      └── with a version (from a snapshot) ────────> VERIFYING ─┘
                                                         └─ another server ──> STREAMING, any version

After a request without any answer, a small request precedes the list::

    STREAMING, LISTING, FOLLOWING ──no response──> PROBING ──answered──> LISTING

The other policies have no VERIFYING. They leave FOLLOWING only to resume at the last version, or for DONE::

    STREAMING ──refused (400, 422) or silent──> LISTING ──last page──> FOLLOWING ──drop──> FOLLOWING
        └──────────────── 410, or another refusal ───────┴──────────────────┴──────────> DONE

The caller performs each step and reports its result; the machine returns the next step::

    step = machine.start()
    while True:                                   # wait for step.after seconds, then machine.begin(now), then:
        step = machine.page(...)                  # List: for each page
        machine.opened(); machine.event(...)      # Stream: for each event; then step = machine.closed(now)
        step = machine.verified(is_same=...)      # VerifyServer
        step = machine.answered()                 # Probe
        step = machine.failed(now, failure)       # any of them

The rules:

* A state is complete when the last page, or the bookmark that ends the initial events, has arrived. Until then it has
  no effect. A step with `restarts` voids the state collected so far.
* A stream resumes at the last version. The machine requests a new state only if the server cannot resume there. It must
  be no older than that version, so that time never goes back. If the server cannot provide one, it is another server or
  has lost its data, and any state is accepted.
* Initial events arrive in no order, so no stream can resume from one of them. The same holds for the ADDED events of a
  watch from version "" or "0", which start with the current state: a drop there starts over.
* Under VERIFY_SERVER, the server is verified after every stream that ends early, because the versions of another server
  are unrelated to ours. For the same reason no version and no continue token is used again after a wait: a verification
  or a new state follows every wait.
  differs from client-go: there, a server that came back without its data is followed from a version that is not its
  own.
* An accepted stream that lasted a second or had events is resumed without a delay, however it ended: load balancers
  close idle connections. Only refusals and shorter streams are followed by a delay.
* Delays are reset by such a stream, but not by a list, because a list without a watch behind it would be repeated
  without pause.
* A server that cannot be reached is tried about every second, because the attempt costs it nothing. The delays for
  servers that answer and refuse are longer, and grow.
* A request without an answer may be lost in a network that drops packets, or on a dead connection. So a verification is
  repeated after five seconds, on another connection, while the first one still waits: a server's priority and fairness
  may hold a request for a quarter of a minute. A list may take a minute before its response begins, and is not sent
  where the last request had no answer: a small request goes first.
* After an ERROR event other than 410 and 429, the machine requests a new state, because the server has lost track of
  the objects.
* After two fruitless streams in a row (refused, or dropped within a second without an event), the machine lists: lists
  may work where watches do not, and the store would go stale while verifications succeed.
* An idle stream has a short duration. The server ends it in order, with a bookmark just before, so that silence beyond
  its end means a dead connection. After a stream with events, the next one has the usual duration.
* Under VERIFY_SERVER a refusal is never final, because permissions and kinds come and go. It is reported, and retried
  after a delay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._sansio.backoff import Backoff
from masthead._sansio.listwatch_pacing import StreamPacing
from masthead._sansio.listwatch_steps import (
    REOPEN_INTERVAL,
    SILENCE_LIMIT,
    Fail,
    Failure,
    List,
    Phase,
    Policy,
    Probe,
    Role,
    Step,
    Stream,
    VerifyServer,
)
from masthead._sansio.versions import is_at_least
from masthead.errors import ClosedError, ProtocolError

if TYPE_CHECKING:
    from masthead._sansio.backoff import Random

__all__ = ["PAGE", "ListWatchMachine"]

PAGE: Final = 500
"""Objects per page, where pages make sense."""

_ANY: Final = ("", "0")
"""Versions that mean the current state: a watch from there starts with an ADDED for each object, in no order."""
_MAX_CUT_SHORT: Final = 2
"""Streams that may end amid their initial events before the machine lists."""
_MAX_FRUITLESS: Final = 2
"""Fruitless streams in a row before the machine lists."""
_MAX_LAGGING: Final = 2
"""Responses that the server has not reached our version, before we conclude that it never will."""
_FIRST_PHASES: Final = {
    Policy.FOLLOW_ONLY: Phase.FOLLOWING,
    Policy.STATE_FIRST: Phase.STREAMING,
    Policy.VERIFY_SERVER: Phase.VERIFYING,
}


class ListWatchMachine:
    """Decides how the objects of a resource are listed and watched.

    Args:
        random: Returns numbers in [0, 1).
        policy: The part of the machine that is used.
        version: Under FOLLOW_ONLY, the version to start from; otherwise the version of a seeded store, at which
            VERIFY_SERVER resumes. Empty for none.
        initial_events: Whether to request a watch-list before a plain list.
        page_size: Objects per page; 0 to request pages only where a server need not read them from its disk.
        backoff: The delays after refusals, and after streams that end within a second.
        silence_limit: Seconds without a byte after which the caller drops a stream.
    """

    def __init__(
        self,
        *,
        random: Random,
        policy: Policy = Policy.VERIFY_SERVER,
        version: str = "",
        initial_events: bool = True,
        page_size: int = 0,
        backoff: Backoff | None = None,
        silence_limit: float = SILENCE_LIMIT,
    ) -> None:
        self._pacing = StreamPacing(random, backoff or Backoff(), silence_limit)
        self._policy = policy
        self._version = version
        # A store may start with any state from the server's cache; a watch starts with the newest state.
        self._any_will_do = policy is not Policy.VERIFY_SERVER and not version
        self._initial_events = initial_events
        self._page_size = page_size
        self._is_paged = False
        self._step: Step = VerifyServer(version)
        self._probed_for = List("", 0)
        self._tokens: set[str] = set()
        self._cut_short = 0
        self._fruitless = 0
        self._lagging = 0
        self._expired_pages = 0
        self.phase = _FIRST_PHASES[policy]

    @property
    def version(self) -> str:
        """The version that the machine has reached; empty before the first complete state."""
        return self._version

    @property
    def initial_events(self) -> bool:
        """Whether watch-lists are still requested."""
        return self._initial_events

    @property
    def is_open(self) -> bool:
        """Whether the server has accepted the last request for a stream."""
        return self._pacing.is_open

    @property
    def is_well(self) -> bool:
        """Whether the last stream was accepted, and had events or lasted."""
        return self._pacing.is_well

    @property
    def expects_silence(self) -> bool:
        """Whether the last stream is longer than the silence limit, so that an idle server may send nothing in time."""
        return isinstance(self._step, Stream) and self._step.seconds > self._pacing.silence_limit

    def disable_initial_events(self) -> None:
        """Use plain lists from now on, because the server does not know watch-lists."""
        self._initial_events = False

    def start(self) -> Step:
        """Return the first step."""
        if self._policy is Policy.FOLLOW_ONLY:
            return self._become(self._stream(self._version))
        return self._become(self._anew() if self._policy is Policy.STATE_FIRST else self._verification())

    def begin(self, now: float) -> None:
        """Note that the caller begins to perform the last step."""
        self._pacing.begin(now)

    def opened(self) -> None:
        """Note that the server has accepted a stream: later errors are not about the request."""
        self._pacing.is_open = True

    def event(self, kind: str, version: str, *, ends_initial: bool = False) -> Role:
        """Report an event.

        Args:
            kind: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``.
            version: The object's resource version; empty if it cannot be decoded. No stream resumes at such an event:
                the last one before a drop arrives again.
            ends_initial: Whether this bookmark ends the initial events.
        """
        if self.phase is Phase.FOLLOWING:
            self._pacing.has_changes = self._pacing.has_changes or kind != "BOOKMARK"
            if self._advances(kind, version):
                self._version = version
                self._pacing.has_progressed = True
                self._lagging = 0
            return Role.CHANGE
        if not (ends_initial and version):
            # Without a version there is nothing to watch from, so the state is not complete.
            return Role.INITIAL
        self._complete(version)
        self._pacing.has_progressed = self._policy is not Policy.VERIFY_SERVER
        return Role.COMPLETE

    def _advances(self, kind: str, version: str) -> bool:
        """Whether a stream can resume from an event."""
        if kind == "BOOKMARK":  # a late or empty bookmark must not set us back
            return version != self._version and not is_at_least(self._version, version)
        # After a version that means the current state, the ADDED events have no order.
        return bool(version) and version != self._version and (kind != "ADDED" or self._version not in _ANY)

    def page(self, version: str, token: str) -> Step:
        """Report a page.

        Args:
            version: The list's resource version.
            token: The continue token; empty for the last page.

        Raises:
            ProtocolError: If the pages lead back to an earlier one.
        """
        request = self._list_step()
        if token:
            if token in self._tokens:
                raise ProtocolError("the list has no end: a page leads back to itself")
            self._tokens.add(token)
            # As client-go's paginatedResult: a server answers version 0 in pages only without a watch cache.
            self._is_paged = self._is_paged or request.version == "0"
            # No version: the token holds it, and the API server refuses both together.
            return self._become(List("", request.limit, token))
        self._complete(version)
        return self._become(self._stream(version))

    def verified(self, *, is_same: bool) -> Step:
        """Report the verification of the server."""
        if is_same:
            self.phase = Phase.FOLLOWING
            return self._become(self._stream(self._version))
        # Perhaps another server, whose resource versions have nothing to do with ours.
        self._any_will_do = True
        return self._become(self._anew())

    def answered(self) -> Step:
        """Report the answer to a probe; return the list that it preceded."""
        self.phase = Phase.LISTING
        return self._become(self._probed_for)

    def reselected(self, *, is_narrower: bool) -> Step:
        """Report a change of the selected objects, for which the caller has abandoned the step.

        Args:
            is_narrower: Whether the store has all selected objects, so that a stream can resume at its version.
        """
        if is_narrower and self.phase is Phase.FOLLOWING and self._version not in _ANY:
            return self._become(self._stream(self._version))
        return self._become(self._anew())

    def closed(self, now: float) -> Step:
        """Report the orderly end of a stream.

        Raises:
            ClosedError: If the machine has ended.
        """
        self._check_not_done()
        if self.phase is Phase.STREAMING:
            # The server has done much work for nothing, and would do so again.
            # differs from client-go: there, the state is requested again without a delay.
            return self.failed(now, Failure())
        self._end_stream(now)
        # A stream that ends as soon as it starts, without an event, is a failure. Any other early end may be a proxy's
        # habit, and is only kept from recurring without a pause.
        after = self._pacing.pause(now) if self._pacing.is_well else self._wait(now, Failure())
        if self._policy is not Policy.VERIFY_SERVER:
            return self._become(self._resumption(0.0 if self._pacing.has_progressed else after))
        if not self._pacing.is_well:
            return self._become(self._after_following(after))
        is_in_order = self._pacing.elapsed(now) >= self._stream_step().seconds - REOPEN_INTERVAL
        if is_in_order and not after and self._version not in _ANY:
            return self._become(self._stream(self._version))
        return self._become(self._verification(after))

    def failed(self, now: float, failure: Failure) -> Step:
        """Report a failed step: a failed request, a dropped stream, or an ERROR event.

        Raises:
            ClosedError: If the machine has ended.
        """
        self._check_not_done()
        self._end_stream(now, is_silent=failure.silent)
        if self._policy is not Policy.VERIFY_SERVER:
            return self._become(self._after_watch_failure(now, failure))
        if self.phase is Phase.STREAMING and self._pacing.is_open:
            self._cut_short += 1
        return self._become(self._after_failure(now, failure))

    def _after_watch_failure(self, now: float, failure: Failure) -> Step:
        """Under FOLLOW_ONLY and STATE_FIRST a lost version and a refusal are final; everything else is retried.

        A code below 500 refuses the request. In an ERROR event it is about the stream; if it is about the request as
        well, the next response will say so.
        """
        if self.phase is Phase.LISTING and self._list_step().token and failure.is_expired:
            return self._after_expired_page(now, failure)
        if failure.is_expired:
            return self._fail(is_expired=True)
        is_refused = failure.is_refusal and not self._pacing.is_open
        if self.phase is Phase.STREAMING and (failure.silent or (is_refused and failure.is_unknown_option)):
            # Plain lists from now on: a watch-list would fail again on each restart.
            self._initial_events = False
            return self._listing()
        if is_refused or failure.is_final:
            return self._fail(is_expired=False)
        if self.phase is not Phase.FOLLOWING:
            return self._anew(self._wait(now, failure))
        return self._resumption(self._pacing.pause(now) if self._is_resumable(failure) else self._wait(now, failure))

    def _after_failure(self, now: float, failure: Failure) -> Step:
        if failure.is_expired or failure.too_large:
            return self._after_loss(now, failure)
        if self.phase is Phase.STREAMING:
            return self._after_streaming(now, failure)
        if self.phase is Phase.FOLLOWING and self._pacing.is_open:
            return self._after_break(now, failure)
        after = self._wait(now, failure)
        if failure.is_refusal:
            # Forbidden, or not found. By the time that changes, the resource may be another one.
            return self._anew(after)
        if isinstance(self._step, Probe):
            return Probe(after)
        if self.phase is Phase.LISTING:
            request = self._list_step()
            retried = self._listing(after) if request.token else replace(request, after=after)
            return self._probe(retried) if failure.silent else retried
        # A busy server gets no further request.
        if self.phase is Phase.FOLLOWING and not failure.is_busy:
            return self._after_following(after, is_unanswered=failure.silent)
        return self._verification(after)

    def _after_break(self, now: float, failure: Failure) -> Step:
        """Choose the step after an accepted stream that broke or ended with an ERROR event."""
        if self._is_resumable(failure):
            return self._verification(self._pacing.pause(now))
        after = self._wait(now, failure)
        if failure.is_busy:
            return self._verification(after)
        # As in client-go: after an event that the server could not decode, the version proves nothing.
        return self._anew(after) if failure.code else self._after_following(after)

    def _is_resumable(self, failure: Failure) -> bool:
        """Whether to reopen the stream only; an idle resource is silent."""
        return self._pacing.is_open and not failure.code and (self._pacing.is_well or failure.silent)

    def _after_streaming(self, now: float, failure: Failure) -> Step:
        """Choose the step after an incomplete watch-list: in most cases the fallback to a plain list."""
        if failure.silent:
            return self._listing() if self._pacing.is_open else self._probe(self._listing())
        is_response = failure.code != 0 and not self._pacing.is_open
        if is_response and failure.is_unknown_option:
            self._initial_events = False
            return self._listing()
        after = self._wait(now, failure)
        return self._listing(after) if is_response and not failure.is_busy else self._anew(after)

    def _after_following(self, after: float, *, is_unanswered: bool = False) -> Step:
        """Choose the step after a stream that ended early or was not answered."""
        if not self._pacing.is_well:
            self._fruitless += 1
        if self._fruitless < _MAX_FRUITLESS:
            return self._verification(after)
        return self._probe(self._listing(after)) if is_unanswered else self._listing(after)

    def _after_loss(self, now: float, failure: Failure) -> Step:
        """Choose the step after the server has lost the version, or has not reached it."""
        if self.phase is Phase.LISTING and self._list_step().token:
            return self._after_expired_page(now, failure)
        is_following = self.phase is Phase.FOLLOWING
        if failure.too_large and self.phase in {Phase.FOLLOWING, Phase.VERIFYING}:
            self._lagging += 1
            if self._lagging < _MAX_LAGGING:
                return self._verification(self._wait(now, failure))
        # Without a delay, but only once: a server that loses even the newest version has a problem. A list may work.
        was_any = self._any_will_do
        self._any_will_do = was_any or failure.too_large or not is_following
        after = self._wait(now, failure) if is_following or was_any else 0.0
        must_list = self.phase is Phase.LISTING or was_any
        return self._listing(after) if must_list else self._anew(after)

    def _after_expired_page(self, now: float, failure: Failure) -> Step:
        """List in one piece after a page has expired, which cannot expire."""
        # Some servers send pages nevertheless, so that the next expiry is followed by a delay.
        self._expired_pages += 1
        after = self._wait(now, failure) if self._expired_pages > 1 else 0.0
        return replace(self._listing(after), limit=0)

    def _complete(self, version: str) -> None:
        self._version = version
        self._any_will_do = False
        self._cut_short = self._lagging = self._fruitless = self._expired_pages = 0
        self.phase = Phase.FOLLOWING

    def _fail(self, *, is_expired: bool) -> Fail:
        self.phase = Phase.DONE
        return Fail(is_expired)

    def _check_not_done(self) -> None:
        if self.phase is Phase.DONE:
            raise ClosedError("the watch has ended with an error; begin a new one")

    def _anew(self, after: float = 0.0) -> Step:
        """Request a new state."""
        # A state that is too large for one stream may arrive in pages.
        if not self._initial_events or self._cut_short >= _MAX_CUT_SHORT:
            return self._listing(after)
        self.phase = Phase.STREAMING
        version = "" if self._any_will_do else self._version
        # Never a short duration: all objects have to arrive before the end.
        return Stream(version, initial_events=True, seconds=self._pacing.long_duration(), after=after, restarts=True)

    def _listing(self, after: float = 0.0) -> List:
        """Request a new state, page by page."""
        self.phase = Phase.LISTING
        self._cut_short = 0
        self._tokens.clear()
        version = "" if self._any_will_do else self._version or "0"
        return List(version, self._limit(version), after=after, restarts=True)

    def _probe(self, request: List) -> Probe:
        """Send a small request before a list, which would wait much longer for an answer."""
        self.phase = Phase.PROBING
        self._probed_for = replace(request, after=0.0)
        return Probe(request.after)

    def _verification(self, after: float = 0.0) -> Step:
        """Verify the server before a stream resumes; without a version, request a new state."""
        if self._version in _ANY:
            return self._anew(after)
        self.phase = Phase.VERIFYING
        return VerifyServer(self._version, after)

    def _resumption(self, after: float) -> Stream:
        """Resume at the last version, or start over if no version is known yet."""
        return replace(self._stream(self._version), after=after, restarts=self._version in _ANY)

    def _stream(self, version: str) -> Stream:
        # A stream from any version starts with all objects, so it gets the long duration.
        return Stream(version, initial_events=False, seconds=self._pacing.duration(is_resumption=version not in _ANY))

    def _limit(self, version: str) -> int:
        """The number of objects per page.

        A server lists a version from its watch cache only in one piece. If it answers version 0 with pages, it has no
        watch cache.
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
        return self._pacing.delay(now, failure, is_small=self.phase in {Phase.VERIFYING, Phase.PROBING})

    def _end_stream(self, now: float, *, is_silent: bool = False) -> None:
        self._pacing.end(now, is_following=self.phase is Phase.FOLLOWING, is_silent=is_silent)
        if self._pacing.is_well:
            self._fruitless = 0
