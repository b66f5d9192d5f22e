"""Campaigns and terms of one elector; both façades' `LeaderElector` stand on it."""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from masthead._leaderelection.callbacks import CallbackQueue
from masthead._leaderelection.candidate import Candidate
from masthead._leaderelection.leadership import FencingToken, TermState, WorkAbandonedError
from masthead._leaderelection.lease_lock import LeaseLock
from masthead._leaderelection.own_clock import OwnClock
from masthead._leaderelection.term import Term
from masthead._meta import names
from masthead._sansio.lease_records import LeaseTiming, TryOutcome
from masthead._sansio.leases import Election
from masthead.errors import ArgumentError, LeadershipLostError, NameFormatError
from masthead.metrics import (
    LEADER_ELECTION_MASTER_STATUS,
    LEADER_ELECTION_OVERDUE,
    LEADER_ELECTION_SLOWPATH,
    NO_METRICS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._client.client import Client
    from masthead._meta.unstructured import Unstructured
    from masthead.errors import MastheadError
    from masthead.metrics import Metrics

__all__ = ["ElectionOptions", "Elections", "default_identity", "utc_now"]

_log: Final = logging.getLogger("masthead.leaderelection")
_EVENT_REASON: Final = "LeaderElection"


def utc_now() -> datetime:
    """The wall-clock time."""
    return datetime.now(UTC)


def default_identity() -> str:
    """The host name, for people, and a UUID, so that it is unique even among processes of one host."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def _no_labels() -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions:
    """The options of an elector; `LeaderElector` describes them."""

    timing: LeaseTiming
    identity: str | None = None
    release_on_exit: bool = True
    recampaign: bool = True
    labels: Mapping[str, str] = field(default_factory=_no_labels)
    clock: Callable[[], datetime] = utc_now
    metrics: Metrics = NO_METRICS
    on_started_leading: Callable[[], object] | None = None
    on_stopped_leading: Callable[[], object] | None = None
    on_new_leader: Callable[[str], object] | None = None
    on_overdue: Callable[[], object] | None = None
    record: Callable[[Unstructured, str, str, str], None] | None = None


class Elections:
    """The elections of one elector at one lease, one term at a time.

    Raises:
        NameFormatError: If the name or the namespace is invalid.
        ArgumentError: If the identity is empty, or a label is invalid.

    Threads: belongs to the client's event loop; its properties may be read from any thread.
    """

    def __init__(self, client: Client, name: str, namespace: str, options: ElectionOptions) -> None:
        _check_names(name, namespace, options.labels)
        self.options: Final = options
        self.timing: Final = options.timing
        identity = default_identity() if options.identity is None else options.identity
        self.election: Final = Election(identity, options.timing)
        self.lock: Final = LeaseLock(
            client, name, namespace, labels=options.labels, timeout=options.timing.request_timeout
        )
        self.callbacks: Final = CallbackQueue(f"lease {self.lock}")
        self._urgent = CallbackQueue(f"lease {self.lock}")
        self.term: Term | None = None
        self._candidate: Candidate | None = None
        self._is_running = False
        metrics = options.metrics
        self._status = metrics.gauge(LEADER_ELECTION_MASTER_STATUS, name=name)
        self._overdue = metrics.gauge(LEADER_ELECTION_OVERDUE, name=name)
        self._slowpath = metrics.counter(LEADER_ELECTION_SLOWPATH, name=name)
        self._status.set(0)

    @property
    def is_leader(self) -> bool:
        """Whether it leads now, by the own clock."""
        return self.term is not None and self.term.state.remaining > 0

    @property
    def is_overdue(self) -> bool:
        """Whether its work still runs though the lease has expired."""
        return self.term is not None and self.term.is_overdue

    @property
    def last_error(self) -> MastheadError | None:
        """The error of the last request; None if it succeeded."""
        return self._candidate.failures.last if self._candidate is not None else None

    def health_check(self, tolerance: float) -> None:
        """Check that no work runs for longer than this after its lease has expired.

        Raises:
            LeadershipLostError: If it does.
        """
        term = self.term
        if term is not None and term.overdue_seconds > tolerance:
            raise LeadershipLostError(
                f"lease {self.lock}: the work has not ended {term.overdue_seconds:.0f} s after its lease expired; "
                "restart the process"
            )

    def enter(self) -> None:
        """Begin to run.

        Raises:
            RuntimeError: If it runs already.
        """
        if self._is_running:
            raise RuntimeError(f"the elector of lease {self.lock} runs already; make another one to run it twice")
        self._is_running = True

    async def leave(self) -> None:
        """End the run, when all callbacks have returned."""
        try:
            await self.callbacks.drain(self.timing.renew_deadline)
        finally:
            self._is_running = False

    async def campaign(self) -> Term:
        """Wait for the leadership, however long it takes.

        Raises:
            ClosedError: If the client is closed.
        """
        candidate = self._candidate = self._candidate or self._new_candidate()
        _log.info("lease %s: campaigning as %s", self.lock, self.election.identity)
        try:
            return await self._acquire(candidate)
        except asyncio.CancelledError:
            # A write whose response was not awaited may have acquired it; then others would wait until it expires.
            if self.options.release_on_exit and self.election.may_hold:
                await candidate.release_quietly()
            raise

    async def _acquire(self, candidate: Candidate) -> Term:
        while True:
            result = await candidate.attempt()
            now = candidate.clock.now()
            is_held = result.outcome is TryOutcome.HELD
            if is_held and self.election.valid_from <= now < self.election.valid_until:
                return self._begin_term(candidate)
            # Lost while it could not work yet; or the response took too long, or the process was paused, so that it may
            # be another's already.
            if result.outcome is TryOutcome.LOST or (is_held and now >= self.election.valid_until):
                self.election.end_term()
            await asyncio.sleep(candidate.delay())

    async def end_term(self, term: Term, error: BaseException | None, *, is_lost: bool, is_stopped: bool) -> bool:
        """End a term after its work has ended, and decide whether the elector campaigns again.

        Args:
            term: The term.
            error: What the work has raised.
            is_lost: Whether its leadership was over before it ended.
            is_stopped: Whether the elector is to end in any case.

        Returns:
            Whether that was the last term, so that the caller gets the work's result or error.

        Raises:
            LeadershipLostError: If the leadership was lost, and it does not campaign again.
            Exception: What has ended the renewals, if that was neither time nor another holder.
        """
        if is_lost:  # by the clock, if nothing else has noticed
            term.state.revoke("the lease was not renewed in time")
        # Who leads again must not work beside what goes on of the last term.
        abandoned = error if isinstance(error, WorkAbandonedError) else None
        is_last = is_stopped or not is_lost or abandoned is not None
        releases = self.options.release_on_exit and (is_last or not self.options.recampaign)
        if releases and abandoned is not None and abandoned.may_act:
            _log.warning("lease %s: not released, so that it has to expire: work of it goes on", self.lock)
            releases = False
        await self._end(term, releases=releases)
        if is_last:
            return True
        if error is not None and not isinstance(error, LeadershipLostError | asyncio.CancelledError):
            _log.error("lease %s: the work failed after its leadership was lost", self.lock, exc_info=error)
        if term.error is not None:
            raise term.error
        if not self.options.recampaign:
            raise LeadershipLostError(f"lease {self.lock}: {term.state.reason}")
        return False

    async def _end(self, term: Term, *, releases: bool) -> None:
        term.note_work_ended()
        self._status.set(0)
        self._overdue.set(0)
        try:
            await term.end(releases=releases)
        finally:
            self.term = None
            self.election.end_term()
            self._call("on_stopped_leading", self.options.on_stopped_leading)
            self._record("stopped leading")

    def _new_candidate(self) -> Candidate:
        return Candidate(
            self.election,
            self.lock,
            OwnClock(asyncio.get_running_loop()),
            wall_clock=self.options.clock,
            slowpath=self._slowpath,
            on_new_leader=self._on_new_leader,
        )

    def _begin_term(self, candidate: Candidate) -> Term:
        lease, transitions = self.election.observed, self.election.transitions
        assert lease is not None
        assert transitions is not None
        state = TermState(
            f"lease {self.lock}, held as {self.election.identity}",
            FencingToken(transitions, lease.uid),
            candidate.clock,
            self.election.valid_until,
        )
        state.on_revoked.append(lambda: self._status.set(0))
        self.term = Term(candidate, state, self._on_overdue)
        self._status.set(1)
        _log.info("lease %s: leading as %s, term %d", self.lock, self.election.identity, transitions)
        self._record("became leader")
        self._call("on_started_leading", self.options.on_started_leading)
        return self.term

    def _on_new_leader(self, identity: str) -> None:
        call = self.options.on_new_leader
        if call is not None:
            self.callbacks.put("on_new_leader", lambda: call(identity))

    def _on_overdue(self) -> None:
        self._overdue.set(1)
        # At once, and not behind other callbacks: it may be the one that exits the process.
        if self.options.on_overdue is not None:
            self._urgent.put("on_overdue", self.options.on_overdue)

    def _call(self, name: str, call: Callable[[], object] | None) -> None:
        if call is not None:
            self.callbacks.put(name, call)

    def _record(self, text: str) -> None:
        record = self.options.record
        if record is not None:
            subject, message = self.lock.reference, f"{self.election.identity} {text}"
            self.callbacks.put("recorder", lambda: record(subject, "Normal", _EVENT_REASON, message))


def _check_names(name: str, namespace: str, labels: Mapping[str, str]) -> None:
    if problem := names.problem_with_dns1123_subdomain(name):
        raise NameFormatError(f"the name of the lease: {names.quote(name)} {problem}", value=name)
    if problem := names.problem_with_dns1123_label(namespace):
        raise NameFormatError(f"the namespace of the lease: {names.quote(namespace)} {problem}", value=namespace)
    for key, value in labels.items():
        if problem := names.problem_with_qualified_name(key) or names.problem_with_label_value(value):
            raise ArgumentError(f"the label {names.quote(key)}: {problem}", value=key)
