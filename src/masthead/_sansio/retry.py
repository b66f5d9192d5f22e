"""The retry policy: whether a request is retried, and after which delay.

| outcome | requests | delay | attempts |
|---|---|---|---|
| 429 or 5xx with a valid ``Retry-After`` | all: the server asks for it | that delay | the caller's, 11 by default |
| 429, 502, 503, 504 without | GET and HEAD, no streams | 0.1 s, doubled each time | 4 |
| connecting failed | all: nothing was sent | 1 s, doubled each time | 4 |
| … and the server was never reached before | all: nothing was sent | 0.1 s, doubled each time | 3 |
| the connection was lost | GET, HEAD and OPTIONS, no streams: a write may have been done | 0.1 s, doubled | 4 |
| the server's certificate is invalid | none: it would not change | | |
| the deadline expired | none | | |
| any other response | none | | |

If the server was never reached, the address is more likely wrong than the server starting up: a mistyped
address should fail sooner than after ten seconds.

Every delay has jitter, so that clients that were rejected at the same time do not return at the same time.

differs from client-go: there, nothing without ``Retry-After`` is retried, though a load balancer in front of
the server hardly ever sends one, and a read is safe to repeat; a write whose connection was refused is not
retried either, though no server can have seen it; and dates in ``Retry-After`` are ignored. A plain 500 stays
final, as there: it comes from a fault that the next attempt meets again.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._sansio.backoff import jittered
from masthead._value import Value
from masthead.errors import CertificateError, ConnectError, ProtocolError, TransportError

if TYPE_CHECKING:
    from masthead._sansio.backoff import Random

__all__ = [
    "MAX_WAIT",
    "Decision",
    "GiveUp",
    "Outcome",
    "ResponseHead",
    "Retry",
    "decide",
    "parse_retry_after",
]

MAX_WAIT: Final = 300.0
"""The maximum ``Retry-After`` that is respected, in seconds.

API servers ask for 1 to 30. With a delay of an hour, the caller should get the error instead of a hanging call; an
earlier retry would disregard the server.
"""

_TOO_MANY_REQUESTS: Final = 429
_TRANSIENT: Final = frozenset({_TOO_MANY_REQUESTS, 502, 503, 504})
"""Status codes of transient failures."""

_READS: Final = frozenset({"GET", "HEAD"})
_SAFE: Final = _READS | {"OPTIONS"}

_RETRY_AFTER_JITTER: Final = 0.1
_JITTER: Final = 0.5


class ResponseHead(Value):
    """The part of a response's head that the policy uses.

    Attributes:
        status: The HTTP status code.
        retry_after: The ``Retry-After`` header; or ``details.retryAfterSeconds`` of the Status, if the header
            is absent.
        date: The ``Date`` header. A ``Retry-After`` date is relative to the server's clock, not to ours.
    """

    status: int
    retry_after: str = ""
    date: str = ""


class Retry(Value):
    """Retry the request.

    Attributes:
        after: The delay in seconds.
        why: The reason, for the log.
    """

    after: float
    why: str


class GiveUp(Value):
    """Do not retry; the caller gets the outcome.

    Attributes:
        why: The reason.
    """

    why: str


Decision: TypeAlias = "Retry | GiveUp"
Outcome: TypeAlias = "ResponseHead | TransportError"
"""The outcome of an attempt."""


class _Rule(Value):
    """A row of the table above. None stands for all methods, or for the caller's limit alone."""

    why: str
    first: float
    methods: frozenset[str] | None = None
    takes_streams: bool = True
    attempts: int | None = 4
    jitter: float = _JITTER

    def covers(self, method: str, *, stream: bool) -> bool:
        return (self.methods is None or method in self.methods) and (self.takes_streams or not stream)


_RETRY_AFTER: Final = _Rule("the server asked to retry later", first=0.1, attempts=None, jitter=_RETRY_AFTER_JITTER)
_BUSY: Final = _Rule("the server was not ready", first=0.1, methods=_READS, takes_streams=False)
_UNREACHED: Final = _Rule("connecting failed", first=1.0)
_NEVER_REACHED: Final = _Rule("connecting failed", first=0.1, attempts=3)
_LOST: Final = _Rule("the connection was lost", first=0.1, methods=_SAFE, takes_streams=False)


def decide(
    method: str,
    outcome: Outcome,
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
        method: The HTTP method.
        outcome: The outcome of the attempt.
        attempt: The number of the attempt, from 1.
        random: Returns numbers in [0, 1).
        attempts: The maximum number of attempts; 1 for no retry.
        remaining: Seconds left until the deadline; None for no deadline. A retry after the deadline is not
            started.
        stream: Whether the response is a stream, which its reader resumes, such as a watch, or which cannot
            be repeated, such as a log.
        has_reached: Whether the client has ever had a response from the server.
    """
    retry_after = _retry_after(outcome)
    rule = _rule_for(outcome, has_reached=has_reached) if retry_after is None else _RETRY_AFTER
    # No rule: an error that a retry meets again.
    if rule is None:
        return GiveUp("another attempt would not help")
    if not rule.covers(method, stream=stream):
        return GiveUp(f"{rule.why}, and a {'stream' if stream else method} is not retried for that")
    if attempt >= min(attempts, rule.attempts or attempts):
        return GiveUp(f"{rule.why}, {attempt} times in a row" if attempt > 1 else rule.why)
    if retry_after is not None and retry_after > MAX_WAIT:
        return GiveUp(f"{rule.why}, in {retry_after:.0f} seconds, which is too long to wait")
    # The server's delay is not doubled, but is never shorter than the rule's first one.
    base = rule.first * 2.0 ** (attempt - 1) if retry_after is None else max(retry_after, rule.first)
    after = jittered(base, rule.jitter, random)
    # A wait beyond the deadline would only delay the error.
    if remaining is not None and after >= remaining:
        return GiveUp(f"{rule.why}, and the deadline is before the next attempt")
    return Retry(after, rule.why)


def _retry_after(outcome: Outcome) -> float | None:
    """The delay in seconds that the server asks for."""
    if not isinstance(outcome, ResponseHead) or not (outcome.status == _TOO_MANY_REQUESTS or outcome.status >= 500):
        return None
    return parse_retry_after(outcome.retry_after, date=outcome.date)


def _rule_for(outcome: Outcome, *, has_reached: bool) -> _Rule | None:
    match outcome:
        case ResponseHead():
            return _BUSY if outcome.status in _TRANSIENT else None
        case CertificateError():
            # A ConnectError, too, but the next attempt would meet the same certificate.
            return None
        case ConnectError():
            # An address that never answered may be wrong; one that did will most likely answer again.
            return _UNREACHED if has_reached else _NEVER_REACHED
        case ProtocolError():
            return _LOST
        case _:
            return None


_DIGITS: Final = 9
_VERY_LONG: Final = 10.0**_DIGITS

_HTTP_DATE: Final = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT", re.ASCII)
"""The only date format that HTTP allows senders: ``Sun, 06 Nov 1994 08:49:37 GMT``."""

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def parse_retry_after(text: str, *, date: str = "") -> float | None:
    """Parse a ``Retry-After`` header: the seconds to wait, or None if it is absent or invalid.

    Args:
        text: The header: seconds, or a date. Longer delays than 31 years are cut to that.
        date: The ``Date`` header of the same response. Without it, a date cannot be turned into a delay.
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:_DIGITS]) if len(text) <= _DIGITS else _VERY_LONG
    # Relative to the server's own Date, because the clocks may differ.
    until, since = _parse_date(text), _parse_date(date.strip())
    if until is None or since is None:
        return None
    return min(max(0.0, (until - since).total_seconds()), _VERY_LONG)


def _parse_date(text: str) -> datetime | None:
    match = _HTTP_DATE.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(match[group]) for group in (1, 3, 4, 5, 6))
    try:
        return datetime(year, _MONTHS.index(match[2]) + 1, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
