"""Whether a request is tried again.

| what happened | which requests | after | attempts in all |
|---|---|---|---|
| 429 or 5xx with a readable ``Retry-After`` | all: the server asks for it | what it says | as the caller likes, 11 by default |
| 429, 502, 503, 504 without | GET and HEAD, no streams | 0.1 s, doubled each time | 4 |
| no connection was made | all: nothing was sent | 1 s, doubled each time | 4 |
| … and none ever was | all: nothing was sent | 0.1 s, doubled each time | 3 |
| the connection was lost | GET, HEAD and OPTIONS, no streams: anything else may have been done | 0.1 s, doubled | 4 |
| a certificate is not the right one | none: it stays what it is | | |
| no answer in time | none: the time is up | | |
| any other answer | none | | |

A server that was never reached is more likely to be the wrong address than to be starting up: who has mistyped it should
not wait for ten seconds to learn that.

Every wait is lengthened by chance, so that clients who were turned away together do not come back together.

differs from client-go: there, nothing without ``Retry-After`` is tried again, though a load balancer in front of the
server hardly ever sends one, and reading twice does no harm; a write whose connection was refused is not tried again
either, though nobody can have seen it; and dates in ``Retry-After`` are ignored. A plain 500 stays final, as there: it
comes from a fault that the next attempt meets again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._sansio.backoff import jittered
from masthead.errors import CertificateError, ConnectError, ProtocolError, TransportError

if TYPE_CHECKING:
    from masthead._sansio.backoff import Random

__all__ = ["LONGEST_WAIT", "Retry", "ResponseHead", "Decision", "GiveUp", "decide", "parse_retry_after"]

LONGEST_WAIT: Final = 300.0
"""The longest ``Retry-After`` that is waited for, in seconds.

API servers ask for 1 to 30. Whoever is told to come back in an hour should hear so at once, as an error, instead of
seeming to hang; and coming back earlier than asked would be rude.
"""

_TOO_MANY_REQUESTS: Final = 429
_PASSING: Final = frozenset({_TOO_MANY_REQUESTS, 502, 503, 504})
"""Codes that speak of the moment, not of the request."""

_READS: Final = frozenset({"GET", "HEAD"})
_HARMLESS: Final = _READS | {"OPTIONS"}

_ASKED_JITTER: Final = 0.1
_JITTER: Final = 0.5


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """An answer's head, as far as it matters here.

    Attributes:
        status: The HTTP code.
        retry_after: The ``Retry-After`` header; or ``details.retryAfterSeconds`` of the Status, where only that is
            there.
        date: The ``Date`` header. A ``Retry-After`` that is a date is read by the server's own clock, not by ours.
    """

    status: int
    retry_after: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again.

    Attributes:
        after: In how many seconds.
        why: What happened, for the log.
    """

    after: float
    why: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Let the caller have what came.

    Attributes:
        why: Why it is not tried again.
    """

    why: str


Decision: TypeAlias = "Retry | GiveUp"


@dataclass(frozen=True, slots=True)
class _Rule:
    """A row of the table above; None stands for all methods, or for no limit but the caller's."""

    why: str
    first: float
    methods: frozenset[str] | None = None
    takes_streams: bool = True
    attempts: int | None = 4
    jitter: float = _JITTER

    def covers(self, method: str, *, stream: bool) -> bool:
        return (self.methods is None or method in self.methods) and (self.takes_streams or not stream)


_ASKED: Final = _Rule("the server asked to come back later", first=0.1, attempts=None, jitter=_ASKED_JITTER)
_BUSY: Final = _Rule("the server was not ready", first=0.1, methods=_READS, takes_streams=False)
_UNREACHED: Final = _Rule("no connection was made", first=1.0)
_NEVER_REACHED: Final = _Rule("no connection was made", first=0.1, attempts=3)
_LOST: Final = _Rule("the connection was lost", first=0.1, methods=_HARMLESS, takes_streams=False)


def decide(
    method: str,
    outcome: ResponseHead | TransportError,
    *,
    attempt: int,
    random: Random,
    attempts: int = 11,
    remaining: float | None = None,
    stream: bool = False,
    has_reached: bool = True,
) -> Decision:
    """Decide whether an attempt is followed by another.

    Args:
        method: ``GET`` and so on.
        outcome: What came of the attempt.
        attempt: Which attempt it was; the first is 1.
        random: Gives numbers in [0, 1).
        attempts: How many attempts there may be in all; 1 for no second one.
        remaining: How many seconds the caller still has; None for no end. An attempt that would begin too late is
            not waited for.
        stream: Whether the answer's body is a stream that somebody else resumes, such as a watch, or that cannot be
            told twice, such as a log.
        has_reached: Whether this client has ever had an answer from the server.
    """
    asked = _asked(outcome)
    rule = _rule_for(outcome, has_reached=has_reached) if asked is None else _ASKED
    if rule is None:
        return GiveUp("another attempt would not help")
    if not rule.covers(method, stream=stream):
        return GiveUp(f"{rule.why}, and a {'stream' if stream else method} is not repeated for that")
    if attempt >= min(attempts, rule.attempts or attempts):
        return GiveUp(f"{rule.why}, {attempt} times in a row" if attempt > 1 else rule.why)
    if asked is not None and asked > LONGEST_WAIT:
        return GiveUp(f"{rule.why}, in {asked:.0f} seconds, which is too long to wait")
    base = rule.first * 2.0 ** (attempt - 1) if asked is None else max(asked, rule.first)
    after = jittered(base, rule.jitter, random)
    if remaining is not None and after >= remaining:
        return GiveUp(f"{rule.why}, and the time is up before the next attempt")
    return Retry(after, rule.why)


def _asked(outcome: ResponseHead | TransportError) -> float | None:
    """For how many seconds the server asked to be left alone."""
    if not isinstance(outcome, ResponseHead) or not (
        outcome.status == _TOO_MANY_REQUESTS or outcome.status >= 500
    ):
        return None
    return parse_retry_after(outcome.retry_after, date=outcome.date)


def _rule_for(outcome: ResponseHead | TransportError, *, has_reached: bool) -> _Rule | None:
    match outcome:
        case ResponseHead():
            return _BUSY if outcome.status in _PASSING else None
        case CertificateError():
            return None
        case ConnectError():
            return _UNREACHED if has_reached else _NEVER_REACHED
        case ProtocolError():
            return _LOST
        case _:
            return None


_DIGITS: Final = 9
_VERY_LONG: Final = 10.0**_DIGITS

_HTTP_DATE: Final = re.compile(
    r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT", re.ASCII
)
"""The one form of a date that HTTP still lets anybody send: ``Sun, 06 Nov 1994 08:49:37 GMT``."""

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def parse_retry_after(text: str, *, date: str = "") -> float | None:
    """Read a ``Retry-After`` header: the seconds to wait, or None if there is nothing to be read in it.

    Args:
        text: The header: seconds, or a date. What is longer than 31 years is that.
        date: The ``Date`` header of the same answer. Without it, a date says nothing about how long to wait.
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:_DIGITS]) if len(text) <= _DIGITS else _VERY_LONG
    until, since = _moment(text), _moment(date.strip())
    if until is None or since is None:
        return None
    return min(max(0.0, (until - since).total_seconds()), _VERY_LONG)


def _moment(text: str) -> datetime | None:
    match = _HTTP_DATE.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(match[group]) for group in (1, 3, 4, 5, 6))
    try:
        return datetime(year, _MONTHS.index(match[2]) + 1, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
