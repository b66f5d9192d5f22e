"""A probe of a running container, which runs periodically and rests while its outcome cannot change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.kubelet.probe_rules import ProbeCounter

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead_server.clock import Clock, Timer
    from masthead_server.kubelet.probe_rules import ProbeOutcome, ProbeTiming

__all__ = ["ProbeWorker"]


class ProbeWorker:
    """Runs a probe until it is closed.

    Args:
        timing: Its times and thresholds.
        clock: The server's clock.
        check: Starts a run that reports its outcome to the callback; returns a function that cancels it.
        on_outcome: Called with each outcome, and with the result if a threshold is reached.
    """

    def __init__(
        self,
        timing: ProbeTiming,
        clock: Clock,
        check: Callable[[Callable[[ProbeOutcome], None]], Callable[[], object]],
        on_outcome: Callable[[ProbeOutcome, bool | None], object],
    ) -> None:
        self._timing = timing
        self._clock = clock
        self._check = check
        self._on_outcome = on_outcome
        self._counter = ProbeCounter(timing)
        self._timer: Timer | None = None
        self._cancel: Callable[[], object] | None = None
        self._last: datetime = clock.now()
        self._is_closed = False

    def begin(self, delay: float) -> None:
        """Run the probe after a delay; 0 for immediately."""
        if delay > 0:
            self._timer = self._clock.call_later(delay, self._tick)
        else:
            self._tick()

    def wake(self) -> None:
        """Run a resting probe again, at the next multiple of its period."""
        if self._timer is None and not self._is_closed:
            passed = (self._clock.now() - self._last).total_seconds() % self._timing.period
            self._timer = self._clock.call_later(self._timing.period - passed, self._tick)

    def close(self) -> None:
        """Stop the probe."""
        self._is_closed = True
        self._stop_timer()
        if self._cancel is not None:
            self._cancel()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._last = self._clock.now()
        # Scheduled before the run, so that a slow run does not delay the next.
        self._timer = self._clock.call_later(self._timing.period, self._tick)
        if self._cancel is None:
            is_over = False

            def report(outcome: ProbeOutcome) -> None:
                nonlocal is_over
                is_over = True
                self._cancel = None
                self._end(outcome)

            cancel = self._check(report)
            # Nearly every run has completed by now.
            if not is_over:
                self._cancel = cancel

    def _end(self, outcome: ProbeOutcome) -> None:
        if self._is_closed:
            return
        result = self._counter.add(is_success=outcome.is_success)
        if outcome.rests and result is not None:
            self._stop_timer()
        self._on_outcome(outcome, result)
