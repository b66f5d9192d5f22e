"""The steps of a list-watch, its phases, and the failures that decide the next step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from masthead._module import set_module
from masthead._sansio.backoff import MAX_RECONNECT_DELAY

__all__ = [
    "INITIAL_EVENTS_TIMEOUT",
    "REOPEN_INTERVAL",
    "REPEAT_INTERVAL",
    "SILENCE_LIMIT",
    "SMALL_REQUEST_TIMEOUT",
    "Fail",
    "Failure",
    "List",
    "Phase",
    "Policy",
    "Probe",
    "Role",
    "Step",
    "Stream",
    "VerifyServer",
    "is_worth_a_line",
]

REOPEN_INTERVAL: Final = 1.0
"""The shortest time, in seconds, between two requests for streams. An accepted stream that lasted as long is a sign of
health, whether it brought something or not; client-go's number."""

SILENCE_LIMIT: Final = 28.0
"""Seconds without a byte after which a stream counts as dead, unless the caller says otherwise."""

INITIAL_EVENTS_TIMEOUT: Final = 10.0
"""After this many seconds without an event a server has not understood ``sendInitialEvents``: one that has sends the
objects at once, and the bookmark right behind them."""

REPEAT_INTERVAL: Final = 5.0
"""Seconds after which a small request without an answer is repeated on another connection."""

SMALL_REQUEST_TIMEOUT: Final = 20.0
"""Seconds after which a small request has failed. API servers queue requests for up to 15 s (priority and fairness)."""

_EXPIRED: Final = 410
_EXPIRED_REASONS: Final = ("Expired", "Gone")
_NO_SUCH_OPTION: Final = frozenset({400, 422})
_BUSY: Final = 429
_TRANSIENT: Final = frozenset({408, _BUSY})
"""The codes below 500 that are about the moment, not about the request."""
_GATEWAY_ERRORS: Final = frozenset({502, 503, 504})
"""The codes of a load balancer without a server behind it, whose response holds no Status."""


class Policy(Enum):
    """How much of the machine is used; see the table in `masthead._sansio.listwatch`."""

    FOLLOW_ONLY = "follow only"
    STATE_FIRST = "state first"
    VERIFY_SERVER = "verify the server"


@set_module("masthead.aio.cache")
class Phase(Enum):
    """The phase of a list-watch; `masthead._sansio.listwatch` has the transitions."""

    STREAMING = "streaming"
    LISTING = "listing"
    FOLLOWING = "following"
    VERIFYING = "verifying"
    PROBING = "probing"
    DONE = "done"


class Role(Enum):
    """What an event means for the copy."""

    INITIAL = "initial"
    """Part of a new state, which is not complete yet."""
    COMPLETE = "complete"
    """The new state is complete, at this event's version."""
    CHANGE = "change"
    """A change of the state."""


@dataclass(frozen=True, slots=True)
class List:
    """Request a page.

    Attributes:
        version: The resource version to request; empty for the newest, ``0`` for any. Empty for all but the first
            page: the token holds it.
        limit: How many objects; 0 for all.
        token: Where the page starts; empty for the first.
        after: Seconds to wait first.
        restarts: Whether this starts a new state; what was collected before is void.
    """

    version: str
    limit: int
    token: str = ""
    after: float = 0.0
    restarts: bool = False

    @property
    def match(self) -> str:
        """The ``resourceVersionMatch`` of the request; empty for none."""
        return "NotOlderThan" if self.version else ""


@dataclass(frozen=True, slots=True)
class Stream:
    """Open a watch.

    Attributes:
        version: The version to start from; empty for none.
        initial_events: Whether to request initial events (``sendInitialEvents=true``).
        seconds: How long the server is to keep it open.
        after: Seconds to wait first.
        restarts: Whether this starts a new state; what was collected before is void.
    """

    version: str
    initial_events: bool
    seconds: int
    after: float = 0.0
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class VerifyServer:
    """Verify that the server is the one that the copy came from, and still has its data.

    Attributes:
        version: A version that the server must have reached.
        after: Seconds to wait first.
        repeat_after: Seconds without an answer after which the request is sent once more, and again.
        timeout: Seconds after which a request without an answer has failed.
    """

    version: str
    after: float = 0.0
    repeat_after: float = REPEAT_INTERVAL
    timeout: float = SMALL_REQUEST_TIMEOUT


@dataclass(frozen=True, slots=True)
class Probe:
    """Send a small request, to learn whether the server answers.

    Attributes:
        after: Seconds to wait first.
        repeat_after: Seconds without an answer after which the request is sent once more, and again.
        timeout: Seconds after which a request without an answer has failed.
    """

    after: float = 0.0
    repeat_after: float = REPEAT_INTERVAL
    timeout: float = SMALL_REQUEST_TIMEOUT


@dataclass(frozen=True, slots=True)
class Fail:
    """End with the error that occurred. Never under VERIFY_SERVER.

    Attributes:
        is_expired: Whether the server no longer has the version: list again, and watch from there.
        after: Always 0, as for every step that is due at once.
    """

    is_expired: bool
    after: float = 0.0


Step: TypeAlias = "List | Stream | VerifyServer | Probe | Fail"


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, as far as it decides the next step.

    Attributes:
        code: The code of the response, or of an ERROR event; 0 for a connection that was dropped or never made.
        reason: The Status' reason.
        retry_after: The server's ``Retry-After``, in seconds.
        too_large: Whether the server says that it has not reached the version yet.
        silent: Whether nothing arrived for too long.
        unreachable: Whether no connection could be made.
        is_final: Whether no retry can help, whatever the code is.
    """

    code: int = 0
    reason: str = ""
    retry_after: float | None = None
    too_large: bool = False
    silent: bool = False
    unreachable: bool = False
    is_final: bool = False

    @property
    def is_expired(self) -> bool:
        """Whether the server no longer has the version."""
        return self.code == _EXPIRED or self.reason in _EXPIRED_REASONS

    @property
    def is_unknown_option(self) -> bool:
        """Whether the server may refuse an option that it does not know, such as ``sendInitialEvents``."""
        return self.code in _NO_SUCH_OPTION

    @property
    def is_busy(self) -> bool:
        """Whether the server asks for fewer requests."""
        return self.code == _BUSY

    @property
    def is_refusal(self) -> bool:
        """Whether the server would respond the same to a retry."""
        return 0 < self.code < 500 and self.code not in _TRANSIENT

    @property
    def is_dropped(self) -> bool:
        """Whether the connection broke, or a load balancer had no server to pass the request to."""
        if self.code:
            return self.code in _GATEWAY_ERRORS and not self.reason
        return not self.silent


def is_worth_a_line(failures: int, after: float) -> bool:
    """Whether to log a failure: while a server is tried every second or two, ever more rarely."""
    return after > MAX_RECONNECT_DELAY or failures & (failures - 1) == 0
