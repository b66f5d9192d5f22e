"""The queue of a controller: requests with their reasons, failures and reruns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from masthead._controller.requests import Request
from masthead._controller.user_errors import RepeatedFailure, describe_error
from masthead._errors.base import counted
from masthead._sansio.key_order import key_order, make_chooser
from masthead._sansio.reruns import PROMPT_RERUNS, RerunDecisions
from masthead._workqueue.queue import WorkQueue
from masthead.errors import PermanentError, TemporaryError

if TYPE_CHECKING:
    import logging

    from masthead._controller.controller import Controller
    from masthead._controller.fights import WriteFights
    from masthead._controller.flight import Flight, HeldChanges
    from masthead._controller.invocation import ReconcileOutcome
    from masthead._controller.requests import Result
    from masthead._sansio.own_writes import ObjectChange
    from masthead.metrics import Metrics

__all__ = ["ReconcileQueue"]

_MAX_REASONS: Final = 5
"""Maximum number of reasons per request."""
_NO_LEASE_REQUEUE: Final = 1.0
"""Requeue delay, in seconds, for a key taken after the lease expired."""
_LIMITER_FAILURE_REQUEUE: Final = 60.0
"""Requeue delay, in seconds, for a key whose rate limiter failed."""
_MIN_REQUEUE: Final = 0.1
"""Minimum requeue delay in seconds; 0 asks for the rate limiter's delay."""
_WARN_AFTER_REQUEUES: Final = 10
"""Number of immediate requeues in a row between two warnings."""
_NO_FAILURE: Final = RepeatedFailure()


class ReconcileQueue:
    """Decides when requests are reconciled: after changes, failures, requeues and own writes.

    Args:
        controller: The controller.
        metrics: The metrics of its work queue.
        fights: The fights of its reconciles, which delay them.
        log: Its logger.

    Attributes:
        keys: The work queue.
    """

    def __init__(self, controller: Controller[Any], metrics: Metrics, fights: WriteFights, log: logging.Logger) -> None:
        self.keys: Final = WorkQueue[Request](
            controller.name, rate_limiter=controller.make_rate_limiter(), metrics=metrics
        )
        self.keys.choose_by(make_chooser(key_order.get()))
        self._name = controller.name
        self._fights = fights
        self._log = log
        self._reruns = RerunDecisions[Request](ignores_own=controller.ignore_own_writes)
        self._reasons: dict[Request, list[str]] = {}
        self._failures: dict[Request, RepeatedFailure] = {}
        self._requeued_at_once: set[Request] = set()

    def drops(self, request: Request, change: ObjectChange, *, always_counts: bool) -> bool:
        """Whether a change is an own write that the last reconcile has seen already."""
        return self._reruns.drops(request, change, always_counts=always_counts)

    def add(self, request: Request, change: ObjectChange | None, reason: str, priority: int) -> None:
        """Enqueue a request that is not in flight, immediately or after the delay of a rerun."""
        self._note(request, reason)
        delay = 0.0 if change is None else self._reruns.follow(request, change)
        if delay:
            self._delay_rerun(request, delay)
        elif delay is not None:
            self._add(request, priority)

    def postpone(self, request: Request) -> None:
        """Put back a request that was taken after the lease expired; the term is about to end."""
        self.keys.add_after(request, _NO_LEASE_REQUEUE)
        self.keys.done(request)

    def put_back(self, request: Request) -> None:
        """Put back a request that was taken while the workers paused."""
        self.keys.add_after(request, 0.0)
        self.keys.done(request)

    def begin(self, request: Request) -> tuple[int, tuple[str, ...]]:
        """Begin the reconcile of a request.

        Returns:
            The number of failures since the last success, and the reasons to reconcile.
        """
        self._reruns.begin(request)
        self._requeued_at_once.discard(request)
        return self._failures.get(request, _NO_FAILURE).times, tuple(self._reasons.pop(request, ()))

    def follow_up(self, request: Request, outcome: ReconcileOutcome) -> None:
        """Enqueue the requeue or the retry that an outcome calls for."""
        try:
            self._follow_up(request, outcome)
        except Exception:  # noqa: BLE001 - the rate limiter is the user's; the key must not stay in flight, nor be lost
            self._log.exception(
                "controller %s: the rate limiter failed for %s, which is reconciled again in %g s",
                self._name,
                request,
                _LIMITER_FAILURE_REQUEUE,
            )
            self.keys.add_after(request, _LIMITER_FAILURE_REQUEUE)

    def complete(self, flight: Flight, changes: HeldChanges) -> bool:
        """End the processing of a request, and enqueue the rerun that its held changes call for.

        Returns:
            Whether a rerun follows.
        """
        request = flight.request
        # The strongest reasons only: foreign changes explain the rerun better than own ones.
        for reason in changes.foreign or changes.likely or changes.proven:
            self._note(request, reason)
        delay = self._reruns.end(
            request,
            flight.writes,
            is_failed=flight.is_failed,
            has_proven=bool(changes.proven),
            has_likely=bool(changes.likely),
            has_foreign=bool(changes.foreign),
        )
        if delay:
            self._delay_rerun(request, delay)
        elif delay is not None:
            self._add(request)
        self.keys.done(request)
        return delay is not None

    def pending(self, retries_within: float) -> list[str]:
        """Describe the requests that are ready, or due soon.

        Args:
            retries_within: Retries and immediate requeues count if they are due within this number of seconds.
        """
        lines: list[str] = []
        oldest = self.keys.stats().oldest
        if oldest is not None:
            lines.append(f"{counted(len(self.keys), 'key')} in the queue, {oldest[0]} first")
        lines += [
            f"{request} is due in {delay:g} s"
            for request, delay in self.keys.delays().items()
            if delay <= 0 or self._is_rerun(request) or (delay <= retries_within and self._is_retry(request))
        ]
        return lines

    def waiting(self) -> dict[str, tuple[str, ...]]:
        """Return the reasons of enqueued and delayed keys."""
        return {request.key: tuple(reasons) for request, reasons in self._reasons.items()}

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the failures of keys whose last reconcile failed."""
        return {request.key: failure for request, failure in self._failures.items()}

    def _add(self, request: Request, priority: int = 0) -> None:
        """Enqueue a request; later, if others change back the writes of its reconciles."""
        delay = self._fights.delay(request)
        if delay:
            self.keys.add_after(request, delay, priority=priority)
        else:
            self.keys.add(request, priority=priority)

    def _is_rerun(self, request: Request) -> bool:
        # The requests of a fight count, or a test environment would be idle between two writes.
        return self._reruns.is_pending(request) or bool(self._fights.delay(request))

    def _is_retry(self, request: Request) -> bool:
        return request in self._failures or request in self._requeued_at_once

    def _note(self, request: Request, reason: str) -> None:
        reasons = self._reasons.setdefault(request, [])
        # Thousands of changes may arrive for one key, but a few reasons are enough for a log line.
        if reason not in reasons:
            reasons.append(reason)
            del reasons[:-_MAX_REASONS]

    def _delay_rerun(self, request: Request, delay: float) -> None:
        """Slow down a reconcile that changes something in every run."""
        # In a fight, others changed the objects as well, and the delay of the fight is the shorter one.
        if held := self._fights.delay(request):
            self.keys.add_after(request, held)
            return
        count = self._reruns.count(request)
        # The first delayed rerun, and then every tenth.
        if (count - PROMPT_RERUNS) % 10 == 1:
            self._log.warning(
                "controller %s: the reconcile of %s has changed objects %d times in a row, each time because it had "
                "changed them (%s); it runs again in %g s. Write only what differs, or ignore_own_writes=True",
                self._name,
                request,
                count,
                "; ".join(self._reasons.get(request, ())),
                delay,
            )
        self.keys.add_after(request, delay)

    def _follow_up(self, request: Request, outcome: ReconcileOutcome) -> None:
        error = outcome.error
        if error is None:
            self._failures.pop(request, None)
            self._requeue(request, outcome.result)
            return
        self._failures[request] = self._failures.get(request, _NO_FAILURE).followed_by(error)
        # A retry would not help, so the key waits for the next change, without earlier failures.
        if isinstance(error, PermanentError):
            self.keys.forget(request)
        # A requested delay does not count as a failure of the rate limiter.
        elif isinstance(error, TemporaryError) and error.delay:
            self._note(request, f"retry after {describe_error(error)}")
            self.keys.add_after(request, max(error.delay, _MIN_REQUEUE))
        else:
            self._note(request, f"retry after {type(error).__name__}: {describe_error(error)}")
            self.keys.add_rate_limited(request)

    def _requeue(self, request: Request, result: Result) -> None:
        after = result.requeue_after
        if after is None:
            self.keys.forget(request)
            return
        self._note(request, f"requeued after {after:g} s")
        # A periodic requeue is a success and resets the backoff.
        if after:
            self.keys.forget(request)
            self.keys.add_after(request, max(after, _MIN_REQUEUE), priority=result.priority)
            return
        # Remembered, so that test environments wait for the next run as they wait for a retry.
        self._requeued_at_once.add(request)
        self.keys.add_rate_limited(request, priority=result.priority)
        count = self.keys.num_requeues(request)
        if count and count % _WARN_AFTER_REQUEUES == 0:
            self._log.warning(
                "controller %s: the reconcile of %s has returned requeue_after=0 %d times in a row, and runs again in "
                "%g s; wait for a change with owns= or watches=, or say in how many seconds",
                self._name,
                request,
                count,
                self.keys.delays().get(request, 0.0),
            )
