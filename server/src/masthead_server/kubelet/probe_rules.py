"""The periods, thresholds and results of probes. Pure decisions."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from masthead_server.argument_checks import check_choice
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["PROBES", "ProbeCounter", "ProbeKind", "ProbeOutcome", "ProbeTiming", "check_probe_kind", "probe_of"]

ProbeKind: TypeAlias = Literal["startup", "readiness", "liveness"]
PROBES: Final[tuple[ProbeKind, ...]] = ("startup", "readiness", "liveness")
"""Every kind of probe, in the order in which they begin."""
_FIELDS: Final = {"startup": "startupProbe", "readiness": "readinessProbe", "liveness": "livenessProbe"}


def check_probe_kind(kind: str) -> None:
    """Check a kind of probe.

    Raises:
        ArgumentError: If there is no such kind.
    """
    check_choice("kind", kind, PROBES)


class ProbeOutcome(NamedTuple):
    """The outcome of a probe.

    Attributes:
        is_success: Whether it has succeeded.
        output: The message of a failure.
        rests: Whether the outcome stays the same until files, handlers or listeners change.
    """

    is_success: bool
    output: str = ""
    rests: bool = False


@dataclass(frozen=True, slots=True)
class ProbeTiming:
    """The times and thresholds of a probe, in seconds and runs."""

    delay: float
    period: float
    timeout: float
    successes: int
    failures: int

    @classmethod
    def of(cls, probe: Plain) -> ProbeTiming:
        """Read a probe, with defaults for missing fields."""
        return cls(
            delay=float(probe.get("initialDelaySeconds") or 0),
            period=float(probe.get("periodSeconds") or 10),
            timeout=float(probe.get("timeoutSeconds") or 1),
            successes=int(probe.get("successThreshold") or 1),
            failures=int(probe.get("failureThreshold") or 3),
        )

    def first_run(self, kind: ProbeKind) -> float:
        """Return the seconds from the start of the container to the first run of a probe of a kind."""
        # As in a kubelet, the first readiness probe is immediate, and the others wait for a tick of the period.
        ticks = ceil(self.delay / self.period)
        return self.period * (ticks if kind == "readiness" else max(1, ticks))

    def is_immediate(self, kind: ProbeKind) -> bool:
        """Tell whether a probe that cannot fail has succeeded when its container starts."""
        # Nothing needs time to start, so that the delay of a startup probe does not matter.
        return kind == "startup" or (not self.delay and self.successes == 1)


class ProbeCounter:
    """Counts equal outcomes in a row.

    Args:
        timing: The thresholds.
    """

    def __init__(self, timing: ProbeTiming) -> None:
        self._timing = timing
        self._last: bool | None = None
        self._run = 0

    def add(self, *, is_success: bool) -> bool | None:
        """Count an outcome; return it once its threshold is reached, and None before."""
        self._run = self._run + 1 if self._last is is_success else 1
        self._last = is_success
        threshold = self._timing.successes if is_success else self._timing.failures
        return is_success if self._run >= threshold else None


def probe_of(container: Plain, kind: ProbeKind) -> Plain:
    """Return a probe of a container; empty if it has none."""
    return part(container, _FIELDS[kind])
