"""The rules for a recommendation: stabilization window, rate limits and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

__all__ = ["Bounds", "Outcome", "ScalingHistory", "normalize"]

_DOWN_WINDOW: Final = 300
"""The default stabilization window for scaling down, in seconds."""
_FREE_UP_TO: Final = 4
_DOUBLE: Final = 2


class Bounds(NamedTuple):
    """The bounds of an autoscaler, and the current replicas."""

    least: int
    most: int
    current: int


class Outcome(NamedTuple):
    """The replicas after all rules.

    Attributes:
        replicas: The replicas.
        able: Reason and message of the condition ``AbleToScale``.
        is_limited: Whether a rule changed the recommendation: the condition ``ScalingLimited``.
        limited: Its reason and message.
    """

    replicas: int
    able: tuple[str, str]
    is_limited: bool
    limited: tuple[str, str]


class _Moment(NamedTuple):
    """A number with its time."""

    value: int
    time: datetime


_READY: Final = ("ReadyForNewScale", "recommended size matches current size")
_STABILIZED_UP: Final = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
_STABILIZED_DOWN: Final = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_UP_LIMIT: Final = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT: Final = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_IN_RANGE: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")


@dataclass
class ScalingHistory:
    """Earlier recommendations and changes of an autoscaler, for as long as a rule needs them."""

    recommendations: list[_Moment] = field(default_factory=list[_Moment])
    ups: list[_Moment] = field(default_factory=list[_Moment])
    downs: list[_Moment] = field(default_factory=list[_Moment])

    def begin(self, replicas: int, now: datetime) -> None:
        """Record the initial replicas as the first recommendation."""
        if not self.recommendations:
            self.recommendations.append(_Moment(replicas, now))

    def recommend(self, replicas: int, now: datetime, window: int) -> None:
        """Record a recommendation, and drop those before the window."""
        since = now - timedelta(seconds=window)
        self.recommendations = [moment for moment in self.recommendations if moment.time >= since]
        self.recommendations.append(_Moment(replicas, now))

    def note_change(self, before: int, after: int, behavior: Plain, now: datetime) -> None:
        """Record a change of the replicas, if policies limit the rate."""
        if not behavior:
            return
        name, moments = ("scaleUp", self.ups) if after > before else ("scaleDown", self.downs)
        longest = max((rule["periodSeconds"] for rule in items(part(behavior, name), "policies")), default=0)
        since = now - timedelta(seconds=longest)
        moments[:] = [moment for moment in moments if moment.time >= since]
        moments.append(_Moment(abs(after - before), now))


def normalize(behavior: Plain, desired: int, bounds: Bounds, history: ScalingHistory, now: datetime) -> Outcome:
    """Apply the rules to a recommendation, and record it in the history.

    Args:
        behavior: The rules of the autoscaler, with their defaults; empty for none.
        desired: The recommendation.
        bounds: The bounds, and the current replicas.
        history: Earlier recommendations and changes.
        now: The time.
    """
    if behavior:
        stable, able = _stabilize_by_rules(behavior, desired, bounds, history, now)
        replicas, limited = _limit_by_rules(behavior, stable, bounds, history, now)
    else:
        stable, able = _stabilize(desired, history, now)
        replicas, limited = _limit(stable, bounds)
    return Outcome(replicas, _READY if stable == desired else able, replicas != stable, limited)


def _stabilize(desired: int, history: ScalingHistory, now: datetime) -> tuple[int, tuple[str, str]]:
    since = now - timedelta(seconds=_DOWN_WINDOW)
    recent = [moment.value for moment in history.recommendations if moment.time >= since]
    history.recommend(desired, now, _DOWN_WINDOW)
    return max([desired, *recent]), _STABILIZED_DOWN


def _stabilize_by_rules(
    behavior: Plain, desired: int, bounds: Bounds, history: ScalingHistory, now: datetime
) -> tuple[int, tuple[str, str]]:
    up = part(behavior, "scaleUp").get("stabilizationWindowSeconds", 0)
    down = part(behavior, "scaleDown").get("stabilizationWindowSeconds")
    # The default is a flag of kube-controller-manager, and so not part of the object.
    down = _DOWN_WINDOW if down is None else down
    lowest = min([desired, *_since(history.recommendations, up, now)])
    highest = max([desired, *_since(history.recommendations, down, now)])
    history.recommend(desired, now, max(up, down))
    stable = min(max(bounds.current, lowest), highest)
    return stable, _STABILIZED_UP if desired >= bounds.current else _STABILIZED_DOWN


def _limit(desired: int, bounds: Bounds) -> tuple[int, tuple[str, str]]:
    """Apply the limits of an autoscaler without behavior: at most double, within the bounds."""
    fastest = max(_DOUBLE * bounds.current, _FREE_UP_TO)
    most, reason = (fastest, _UP_LIMIT) if bounds.most > fastest else (bounds.most, _TOO_MANY)
    if desired < bounds.least:
        return bounds.least, _TOO_FEW
    return (most, reason) if desired > most else (desired, _IN_RANGE)


def _limit_by_rules(
    behavior: Plain, desired: int, bounds: Bounds, history: ScalingHistory, now: datetime
) -> tuple[int, tuple[str, str]]:
    if desired > bounds.current:
        fastest = max(
            _limit_by_policies(part(behavior, "scaleUp"), bounds.current, history, now, sign=1), bounds.current
        )
        most, reason = (fastest, _UP_LIMIT) if bounds.most > fastest else (bounds.most, _TOO_MANY)
        if desired > most:
            return most, reason
    elif desired < bounds.current:
        fastest = min(
            _limit_by_policies(part(behavior, "scaleDown"), bounds.current, history, now, sign=-1), bounds.current
        )
        least, reason = (fastest, _DOWN_LIMIT) if bounds.least < fastest else (bounds.least, _TOO_FEW)
        if desired < least:
            return least, reason
    return desired, _IN_RANGE


def _limit_by_policies(rules: Plain, current: int, history: ScalingHistory, now: datetime, *, sign: int) -> int:
    """Return the replicas that the policies of one direction allow."""
    chosen = text(rules, "selectPolicy")
    if chosen == "Disabled":
        return current
    proposals: list[int] = []
    for policy in items(rules, "policies"):
        period, value = policy["periodSeconds"], policy["value"]
        started_with = current - sum(_since(history.ups, period, now)) + sum(_since(history.downs, period, now))
        if policy["type"] == "Pods":
            proposals.append(started_with + sign * value)
        else:
            grown = started_with * (1 + sign * value / 100)
            # Round up, or a small target would never grow.
            proposals.append(math.ceil(grown) if sign > 0 else int(grown))
    # The largest change is the maximum for scaling up, and the minimum for scaling down.
    is_highest = (chosen != "Min") == (sign > 0)
    return max(proposals) if is_highest else min(proposals)


def _since(moments: Sequence[_Moment], seconds: int, now: datetime) -> list[int]:
    since = now - timedelta(seconds=seconds)
    return [moment.value for moment in moments if moment.time > since]
