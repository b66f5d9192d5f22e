"""A time of leading: renews the lease, and notices when the leadership is over.

::

    sent ──────────── renew deadline ───────────────── lease duration ──────>  by the own clock, from the last renewal
          may work    │ must stop: revoked, work cancelled │ overdue: another may lead

Renewals go on until the work has ended, even if it must stop: as long as they succeed, nobody else leads.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from masthead._sansio.lease_records import TryOutcome
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._leaderelection.candidate import Candidate
    from masthead._leaderelection.leadership import TermState

__all__ = ["Term"]

_log: Final = logging.getLogger("masthead.leaderelection")
_EARLY: Final = 0.001
"""Seconds by which the renew deadline counts as reached before its time, because timers may be early, too."""


class Term:
    """One term of an elector.

    Args:
        candidate: Renews.
        state: What the work sees.
        on_overdue: Called if the work has not ended when the lease expires.

    Attributes:
        state: What the work sees.
        error: The defect, or the closed client, that has ended the renewals.
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
        """For how long it is overdue; 0 if it is not."""
        left = self._candidate.election.lease_until - self._candidate.clock.now()
        return max(0.0, -left) if not self._has_ended else 0.0

    def note_work_ended(self) -> None:
        """Note that the work has ended, so that another may lead."""
        self._has_ended = True
        if self._timer is not None:
            self._timer.cancel()

    async def end(self, *, releases: bool) -> None:
        """Stop renewing after the work has ended, and release the lease if asked to."""
        self.note_work_ended()
        self._renewals.cancel()
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
            # Cancelled by others than `end`: the event loop is being closed.
            self.state.revoke("renewals were cancelled")

    def _watch_deadlines(self) -> None:
        """Revoke the leadership at the renew deadline, and report work that has not ended when the lease expires."""
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
        next_at = lease_until if self.state.reason else self.state.until - _EARLY
        wait = next_at - now if next_at > now else candidate.election.timing.retry_period
        self._timer = self._loop.call_later(max(wait, _EARLY), self._watch_deadlines)

    def _miss_renewal(self) -> None:
        deadline, error = self._candidate.election.timing.renew_deadline, self._candidate.failures.last
        cause = f": {error}" if error is not None else ""
        _log.error("lease %s: not renewed for %g s; the work is stopped%s", self._candidate.lock, deadline, cause)
        self.state.revoke(f"the lease was not renewed for {deadline:g} s")
