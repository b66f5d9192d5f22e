"""The elector of both façades: campaigns for a lease, renews it, and enforces the renew deadline.

::

    sent ──────────── renew deadline ───────────────── lease duration ──────>  own clock, since the last renewal
          may work    │ must stop: revoked, work cancelled │ overdue: another may lead

Renewals continue until the work has ended, even after its leadership: while they succeed, no other replica leads.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from masthead._leaderelection.callbacks import CallbackQueue
from masthead._leaderelection.candidate import Candidate
from masthead._leaderelection.election_options import default_identity
from masthead._leaderelection.leadership import FencingToken, TermState, WorkAbandonedError
from masthead._leaderelection.lease_lock import LeaseLock
from masthead._leaderelection.own_clock import OwnClock
from masthead._meta import names
from masthead._sansio.lease_records import TryOutcome
from masthead._sansio.leases import Election
from masthead.errors import ArgumentError, ClosedError, LeadershipLostError, NameFormatError
from masthead.metrics import (
    LEADER_ELECTION_MASTER_STATUS,
    LEADER_ELECTION_OVERDUE,
    LEADER_ELECTION_SLOWPATH,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._client.client import Client
    from masthead._leaderelection.election_options import ElectionOptions
    from masthead.errors import MastheadError

__all__ = ["Elector", "Term"]

_log: Final = logging.getLogger("masthead.leaderelection")
_EVENT_REASON: Final = "LeaderElection"


_EARLY: Final = 0.001
"""Tolerance for timers that fire early, in seconds."""


class Elector:
    """The campaigns and terms of one elector, for one lease.

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
        # A second queue, because a callback may block the first.
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
        """Whether this replica leads now, by the own clock."""
        return self.term is not None and self.term.state.remaining > 0

    @property
    def is_overdue(self) -> bool:
        """Whether the work still runs after the lease has expired."""
        return self.term is not None and self.term.is_overdue

    @property
    def last_error(self) -> MastheadError | None:
        """The error of the last request; None if it succeeded."""
        return self._candidate.failures.last if self._candidate is not None else None

    def health_check(self, tolerance: float) -> None:
        """Check that no work outlives its lease by more than the tolerance, in seconds.

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
        """Mark the elector as running.

        Raises:
            RuntimeError: If it runs already.
        """
        if self._is_running:
            raise RuntimeError(f"the elector of lease {self.lock} runs already; make another one to run it twice")
        self._is_running = True

    async def leave(self) -> None:
        """Wait for all callbacks, and mark the elector as stopped."""
        try:
            await self.callbacks.drain(self.timing.renew_deadline)
        finally:
            self._is_running = False

    async def campaign(self) -> Term:
        """Wait for the leadership, however long it takes.

        Raises:
            ClosedError: If the client is closed.
        """
        # Reused by later campaigns, with its observations and failures.
        candidate = self._candidate = self._candidate or self._new_candidate()
        _log.info("lease %s: campaigning as %s", self.lock, self.election.identity)
        try:
            return await self._acquire(candidate)
        except asyncio.CancelledError:
            # The cancelled request may have acquired the lease; others would wait for its expiry.
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
            # Lost before the work could start; or the response came so late that another replica may lead already.
            if result.outcome is TryOutcome.LOST or (is_held and now >= self.election.valid_until):
                self.election.end_term()
            await asyncio.sleep(candidate.delay())

    async def end_term(self, term: Term, error: BaseException | None, *, is_lost: bool, is_stopped: bool) -> bool:
        """End a term after its work has ended, and decide whether the elector campaigns again.

        Args:
            term: The term.
            error: The error of the work.
            is_lost: Whether the leadership ended before the work.
            is_stopped: Whether the elector stops in any case.

        Returns:
            Whether this was the last term, so that the caller gets the work's result or error.

        Raises:
            LeadershipLostError: If the leadership was lost, and the elector does not campaign again.
            Exception: The error that ended the renewals, if that was neither time nor another holder.
        """
        if is_lost:  # by the clock, before the timer has noticed
            term.state.revoke("the lease was not renewed in time")
        # A new term must not run in parallel with abandoned work of the last one.
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
        # The metric follows the leadership, and not the end of the work.
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
        # A separate queue, because this callback may exit the process, and must not wait for others.
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


class Term:
    """One term of an elector.

    Args:
        candidate: Renews the lease.
        state: The state that the work sees.
        on_overdue: Called if the work has not ended when the lease expires.

    Attributes:
        state: The state that the work sees.
        error: The error that ended the renewals: a defect, or a closed client.
    """

    def __init__(self, candidate: Candidate, state: TermState, on_overdue: Callable[[], object]) -> None:
        self.state: Final = state
        self.error: Exception | None = None
        self._candidate = candidate
        self._on_overdue = on_overdue
        self._loop = asyncio.get_running_loop()
        self._has_ended = False
        self._is_overdue_reported = False
        self._timer: asyncio.TimerHandle | None = None
        self._renewals = self._loop.create_task(self._renew(), name=f"renewals of lease {candidate.lock}")
        self._watch_deadlines()

    @property
    def is_overdue(self) -> bool:
        """Whether the work still runs though the lease has expired."""
        return not self._has_ended and self._candidate.clock.now() >= self._candidate.election.lease_until

    @property
    def overdue_seconds(self) -> float:
        """Seconds since the lease expired under running work; 0 otherwise."""
        left = self._candidate.election.lease_until - self._candidate.clock.now()
        return max(0.0, -left) if not self._has_ended else 0.0

    def note_work_ended(self) -> None:
        """Record the end of the work, so that another replica may lead."""
        self._has_ended = True
        if self._timer is not None:
            self._timer.cancel()

    async def end(self, *, releases: bool) -> None:
        """Stop the renewals after the work has ended, and release the lease on request."""
        self.note_work_ended()
        self._renewals.cancel()
        # A renewal in flight could take the lease back after its release.
        await asyncio.wait({self._renewals})
        self.state.revoke("its work has ended")
        if releases:
            await self._candidate.release_quietly()
        self._candidate.election.end_term()

    async def _renew(self) -> None:
        candidate, election = self._candidate, self._candidate.election
        try:
            while True:
                await asyncio.sleep(candidate.delay())
                result = await candidate.attempt()
                if result.outcome is TryOutcome.HELD:
                    # Renewals also count after a revocation: they keep other replicas from leading in parallel.
                    self.state.until = election.valid_until
                    self._is_overdue_reported = False
                elif result.outcome is TryOutcome.LOST:
                    _log.error("lease %s: lost: %s", candidate.lock, result.reason)
                    self.state.revoke(result.reason)
                    return
        except ClosedError as error:
            self.error = error
            self.state.revoke("the client was closed")
        except Exception as error:  # noqa: BLE001 - a defect, which `run` raises after the work has ended
            self.error = error
            self.state.revoke(f"renewals failed: {error!r}")
        finally:
            # Also if the closing event loop has cancelled the renewals, so that the work learns of it.
            self.state.revoke("renewals were cancelled")

    def _watch_deadlines(self) -> None:
        """Revoke the leadership at the renew deadline, and report work that outlives the lease."""
        candidate = self._candidate
        now = candidate.clock.now()
        lease_until = candidate.election.lease_until
        if now + _EARLY >= self.state.until and not self.state.reason:
            self._miss_renewal()
        if now >= lease_until and not self._is_overdue_reported:
            self._is_overdue_reported = True
            _log.error(
                "lease %s: the work has not ended though its lease has expired; another replica may lead now. Work "
                "must stop when it is cancelled or its leadership is over.",
                candidate.lock,
            )
            self._on_overdue()
        # Renewals move both deadlines, so that the timer is set again each time.
        next_at = lease_until if self.state.reason else self.state.until - _EARLY
        wait = next_at - now if next_at > now else candidate.election.timing.retry_period
        self._timer = self._loop.call_later(max(wait, _EARLY), self._watch_deadlines)

    def _miss_renewal(self) -> None:
        deadline, error = self._candidate.election.timing.renew_deadline, self._candidate.failures.last
        cause = f": {error}" if error is not None else ""
        _log.error("lease %s: not renewed for %g s; the work is stopped%s", self._candidate.lock, deadline, cause)
        self.state.revoke(f"the lease was not renewed for {deadline:g} s")


def _check_names(name: str, namespace: str, labels: Mapping[str, str]) -> None:
    if problem := names.problem_with_dns1123_subdomain(name):
        raise NameFormatError(f"the name of the lease: {names.quote(name)} {problem}", value=name)
    if problem := names.problem_with_dns1123_label(namespace):
        raise NameFormatError(f"the namespace of the lease: {names.quote(namespace)} {problem}", value=namespace)
    for key, value in labels.items():
        if problem := names.problem_with_qualified_name(key) or names.problem_with_label_value(value):
            raise ArgumentError(f"the label {names.quote(key)}: {problem}", value=key)
