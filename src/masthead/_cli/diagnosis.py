"""What the facts that ``doctor`` has gathered mean: a mark, a line, and what to do. Pure: ``now`` is an argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead._errors.base import counted
from masthead._printers.ages import human_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

__all__ = [
    "Diagnosis",
    "Mark",
    "judge_access",
    "judge_clock",
    "judge_expiry",
    "judge_latency",
    "judge_throttling",
    "judge_version",
    "judge_watch",
]

Mark: TypeAlias = Literal["ok", "warn", "fail", "skip"]

_SKEW: Final = timedelta(seconds=5)
_BAD_SKEW: Final = timedelta(minutes=2)
_SOON: Final = timedelta(days=7)
_FOR_EVER: Final = timedelta(days=100 * 365)
_SLOW: Final = 0.5
_VERY_SLOW: Final = 5.0
TESTED: Final = (1, 36)
"""The Kubernetes version that the types are of, and that is tested; see docs/versions.md."""
OLDEST: Final = (1, 30)
"""The oldest version that works but for what it does not serve."""
MAX_NEWER: Final = 2
"""How many minor versions newer than `TESTED` a server may be."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check.

    Attributes:
        check: The name of the check.
        mark: ``ok``, ``warn``, ``fail``, or ``skip`` if there is nothing to check.
        line: The finding.
        hint: The remedy; empty if nothing has to be done.
        facts: The same for programs.
    """

    check: str
    mark: Mark
    line: str
    hint: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])


def judge_expiry(check: str, what: str, expires: datetime | None, now: datetime, *, renewal: str) -> Diagnosis:
    """Check whether a credential is valid, and for how long.

    Args:
        check: The name of the check.
        what: The credential.
        expires: When it expires; None if that is not known, or never.
        now: The time.
        renewal: The remedy for an expired one.
    """
    if expires is None:
        return Diagnosis(check, "ok", f"{what}; it does not say when it expires")
    facts = {"expires": expires.isoformat()}
    left = expires - now
    when = human_duration(abs(left.total_seconds()))
    # RFC 5280 writes "no expiration date" as the year 9999.
    if left > _FOR_EVER:
        return Diagnosis(check, "ok", f"{what} does not expire", "", facts)
    if left <= timedelta():
        return Diagnosis(check, "fail", f"{what} expired {when} ago", renewal, facts)
    # Short-lived tokens are renewed automatically; a long-lived certificate needs a person who renews it.
    if left < _SOON and what.startswith("client certificate"):
        return Diagnosis(check, "warn", f"{what} expires in {when}", renewal, facts)
    return Diagnosis(check, "ok", f"{what} expires in {when}", "", facts)


def judge_clock(server: datetime | None, sent: datetime, received: datetime) -> Diagnosis:
    """Whether the clocks of server and client agree.

    Args:
        server: The server's time, to the second; None if it does not say.
        sent: When the request was sent, by the client's clock.
        received: When its response came.
    """
    if server is None:
        return Diagnosis("clock", "skip", "the server does not say what time it is")
    # The header has whole seconds, so it may be one behind.
    early, late = sent - server - timedelta(seconds=1), server - received
    skew = max(early, late, timedelta())
    facts = {"skewSeconds": round(skew.total_seconds(), 3)}
    if skew <= _SKEW:
        return Diagnosis("clock", "ok", "the clocks agree to the second", "", facts)
    ahead = "this machine" if early > late else "the server"
    line = f"{ahead} is {human_duration(skew.total_seconds())} ahead"
    hint = "set the clock (NTP): tokens and certificates may count as expired, or not yet as valid"
    return Diagnosis("clock", "fail" if skew > _BAD_SKEW else "warn", line, hint, facts)


def judge_version(version: str, number: tuple[int, int]) -> Diagnosis:
    """Check whether this package supports the server's version.

    Args:
        version: The version, such as ``v1.36.4``.
        number: Its major and minor.
    """
    facts = {"server": version, "tested": ".".join(map(str, TESTED))}
    tested = f"{TESTED[0]}.{TESTED[1]}"
    if number < OLDEST:
        line = f"Kubernetes {version} is much older than {tested}, which this masthead is made for"
        hint = f"expect missing kinds and fields; upgrade to {OLDEST[0]}.{OLDEST[1]} or newer (docs/versions.md)"
        return Diagnosis("version", "warn", line, hint, facts)
    if number[0] != TESTED[0] or number > (TESTED[0], TESTED[1] + MAX_NEWER):
        line = f"Kubernetes {version} is newer than {tested}, which this masthead is made for"
        hint = "upgrade masthead for its new kinds; all others work (docs/versions.md)"
        return Diagnosis("version", "warn", line, hint, facts)
    skew = abs(number[1] - TESTED[1])
    direction = "newer" if number > TESTED else "older"
    difference = "" if not skew else f", {skew} minor version{'s' if skew > 1 else ''} {direction}"
    return Diagnosis("version", "ok", f"Kubernetes {version}; types are of {tested}{difference}", "", facts)


def judge_latency(seconds: Sequence[float]) -> Diagnosis:
    """Whether the server answers quickly.

    Args:
        seconds: How long some small requests took, one after the other.
    """
    # The median: a single slow answer may be chance.
    middle, worst = sorted(seconds)[len(seconds) // 2], max(seconds)
    facts = {"medianMs": round(1000 * middle, 1), "maxMs": round(1000 * worst, 1), "samples": len(seconds)}
    line = f"{1000 * middle:.1f} ms for a small request; {1000 * worst:.1f} ms for the slowest of {len(seconds)}"
    if middle < _SLOW:
        return Diagnosis("latency", "ok", line, "", facts)
    hint = "the network or the server is slow: masthead bench measures more"
    return Diagnosis("latency", "fail" if middle > _VERY_SLOW else "warn", line, hint, facts)


def judge_throttling(refusals: int, requests: int, flow_schemas: int) -> Diagnosis:
    """Whether the server turns requests away because there are too many.

    Args:
        refusals: How many responses were 429.
        requests: How many responses there were.
        flow_schemas: How many responses named the flow schema that they were counted to.
    """
    facts = {"refused": refusals, "requests": requests, "priorityAndFairness": flow_schemas > 0}
    if refusals:
        hint = "others use the server a lot: look at its flow schemas and priority levels, and at who sends so much"
        return Diagnosis("throttling", "warn", f"{refusals} of {counted(requests, 'request')} got a 429", hint, facts)
    how = "with" if flow_schemas else "without"
    return Diagnosis(
        "throttling",
        "ok",
        f"no 429 in {counted(requests, 'request')} ({how} priority and fairness)",
        "",
        facts,
    )


def judge_access(allowed: Mapping[str, bool], namespace: str) -> Diagnosis:
    """What of the usual verbs is not allowed.

    Args:
        allowed: Whether each verb on a resource is allowed, such as ``list pods``.
        namespace: Where.
    """
    denied = [what for what, is_allowed in allowed.items() if not is_allowed]
    facts = {"namespace": namespace, "allowed": dict(allowed)}
    if not denied:
        return Diagnosis("access", "ok", f"all that was asked for is allowed in {namespace}", "", facts)
    hint = f"if it is needed, grant it by a Role in {namespace}; masthead manifests writes those of an operator"
    if len(denied) == len(allowed):
        return Diagnosis("access", "fail", f"nothing that was asked for is allowed in {namespace}", hint, facts)
    return Diagnosis("access", "warn", f"not allowed in {namespace}: {', '.join(denied)}", hint, facts)


def judge_watch(seconds: float | None, problem: str, hint: str = "") -> Diagnosis:
    """Whether a watch delivers.

    Args:
        seconds: How long it took until the first event or bookmark; None if none came.
        problem: Why none came; empty if there is no reason but silence.
        hint: What to do about the problem.
    """
    if seconds is not None:
        return Diagnosis("watch", "ok", f"a watch delivers, after {1000 * seconds:.0f} ms")
    if problem:
        return Diagnosis("watch", "fail", problem, hint)
    buffered = "a proxy or load balancer may buffer responses: let it pass streams on at once"
    return Diagnosis("watch", "fail", "a watch was opened, but nothing came", buffered)
