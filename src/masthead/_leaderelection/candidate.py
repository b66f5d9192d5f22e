"""Attempts to acquire, renew and release a lease: the I/O of `masthead._sansio.leases`."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from masthead._leaderelection.failures import Failures
from masthead._sansio.lease_records import Read, TryOutcome, TryResult
from masthead._sansio.randomness import random
from masthead.errors import ClosedError, MastheadError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead._leaderelection.lease_lock import LeaseLock
    from masthead._leaderelection.own_clock import OwnClock
    from masthead._sansio.lease_records import Step
    from masthead._sansio.leases import Election
    from masthead.metrics import Counter

__all__ = ["Candidate"]

_log: Final = logging.getLogger("masthead.leaderelection")


class Candidate:
    """One elector of one lease.

    Args:
        election: Makes the decisions.
        lock: Sends the requests.
        clock: The clock of all decisions.
        wall_clock: The clock of the times in the lease.
        slowpath: Counts renewals that had to read the lease.
        on_new_leader: Called with the identity of each new holder.
    """

    def __init__(
        self,
        election: Election,
        lock: LeaseLock,
        clock: OwnClock,
        *,
        wall_clock: Callable[[], datetime],
        slowpath: Counter,
        on_new_leader: Callable[[str], object],
    ) -> None:
        self.election: Final = election
        self.lock: Final = lock
        self.clock: Final = clock
        self.failures: Final = Failures(lock, election.timing.retry_period)
        self._wall_clock = wall_clock
        self._slowpath = slowpath
        self._on_new_leader = on_new_leader
        self._began = 0.0
        self._reported_leader = ""
        self._warned_of_identity = False

    async def attempt(self) -> TryResult:
        """Try once to acquire or to renew the lease.

        Raises:
            ClosedError: If the client is closed.
        """
        is_renewal = self.election.transitions is not None
        self._began = now = self.clock.now()
        result = await self._perform(self.election.begin(now, self._wall_clock(), random))
        # The fast path of a renewal updates the lease from memory, without reading it.
        if is_renewal and result.was_read and result.outcome is TryOutcome.HELD:
            self._slowpath.inc()
        if result.outcome is not TryOutcome.FAILED:
            self.failures.note_success()
        self._report(result)
        return result

    async def release(self) -> TryResult:
        """Release the lease if we hold it. Call this after the work has ended.

        Raises:
            ClosedError: If the client is closed.
        """
        return await self._perform(self.election.begin_release(self.clock.now(), self._wall_clock(), random))

    async def release_quietly(self) -> None:
        """Release the lease if we hold it. Failures are logged."""
        deadline = self.election.timing.renew_deadline
        try:
            # A release that hangs would keep the process from exiting.
            async with asyncio.timeout(deadline):
                result = await self.release()
        except (ClosedError, TimeoutError) as error:
            reason = str(error) or f"no response in {deadline:g} s"
            _log.warning("lease %s: not released, so that it has to expire: %s", self.lock, reason)
            return
        is_released = result.outcome is TryOutcome.RELEASED
        # A lease that is not released delays the next leader, which is worth a warning.
        text = "lease %s: %s" if is_released else "lease %s: not released, so that it has to expire: %s"
        _log.log(logging.INFO if is_released else logging.WARNING, text, self.lock, result.reason)

    def delay(self) -> float:
        """Seconds until the next attempt."""
        now = self.clock.now()
        usual = self.election.next_try(now, self._began, random)
        # A leader renews at its usual pace whatever fails: a longer delay would cost it the lease.
        return usual if self.election.transitions is not None else self.failures.delay(usual, now, random)

    async def _perform(self, step: Step) -> TryResult:
        while not isinstance(step, TryResult):
            # Read before the request is sent: the server may start the lease duration as early as this.
            sent = self.clock.now()
            try:
                lease = await self.lock.perform(step)
            except ClosedError:  # final: no further attempt can succeed
                raise
            except MastheadError as error:
                self.failures.note(step, error)
                step = self.election.failed(str(error))
            else:
                if lease is None or isinstance(step, Read):
                    now = self.clock.now()
                    step = self.election.read(lease, now, self._wall_clock(), random)
                else:
                    step = self.election.written(lease, sent, self.clock.now())
        return step

    def _report(self, result: TryResult) -> None:
        """Log changes, and report a new leader."""
        holder = self.election.holder
        # A released lease has no holder: the last leader stays the reported one until another leads.
        if holder and holder != self._reported_leader:
            self._reported_leader = holder
            self._on_new_leader(holder)
            if holder != self.election.identity:
                _log.info("lease %s: %s", self.lock, result.reason or f"{holder} holds it")
        if self.election.is_impersonated and not self._warned_of_identity:
            _log.error(
                "lease %s: held by our own identity %s, but not by us: another process uses it, or did so before a "
                "restart. Identities must be unique; we wait until the lease expires.",
                self.lock,
                self.election.identity,
            )
        self._warned_of_identity = self.election.is_impersonated
