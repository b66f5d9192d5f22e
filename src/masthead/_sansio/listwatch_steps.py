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
"""Minimum seconds between two requests for streams, as in client-go. An accepted stream that lasts as long is healthy,
with or without events."""

SILENCE_LIMIT: Final = 28.0
"""Default for the seconds without a byte after which a stream counts as dead."""

INITIAL_EVENTS_TIMEOUT: Final = 10.0
"""Seconds without an event after which a server is assumed not to know ``sendInitialEvents``: a server that does sends
the objects without a pause, and the bookmark right after them."""

REPEAT_INTERVAL: Final = 5.0
"""Seconds after which a small request without an answer is repeated on another connection."""

SMALL_REQUEST_TIMEOUT: Final = 20.0
"""Seconds after which a small request has failed. API servers queue requests for up to 15 s (priority and fairness)."""

_EXPIRED: Final = 410
_EXPIRED_REASONS: Final = ("Expired", "Gone")
_NO_SUCH_OPTION: Final = frozenset({400, 422})
_BUSY: Final = 429
_TRANSIENT: Final = frozenset({408, _BUSY})
"""The codes below 500 that describe a temporary condition, and not the request."""
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
    """The meaning of an event for the store."""

    INITIAL = "initial"
    """Part of a new state that is not complete yet."""
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
        limit: The maximum number of objects; 0 for all.
        token: The continue token; empty for the first page.
        after: Seconds to wait first.
        restarts: Whether this begins a new state, which voids the one collected so far.
    """

    version: str
    limit: int
    token: str = ""
    after: float = 0.0
    restarts: bool = False

    @property
    def match(self) -> str:
        """The ``resourceVersionMatch`` of the request; empty for none."""
        # The API server refuses a match without a version.
        return "NotOlderThan" if self.version else ""


@dataclass(frozen=True, slots=True)
class Stream:
    """Open a watch.

    Attributes:
        version: The version to start from; empty for none.
        initial_events: Whether to request initial events (``sendInitialEvents=true``).
        seconds: The requested duration of the stream (``timeoutSeconds``).
        after: Seconds to wait first.
        restarts: Whether this begins a new state, which voids the one collected so far.
    """

    version: str
    initial_events: bool
    seconds: int
    after: float = 0.0
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class VerifyServer:
    """Verify that the server is the one that the store was filled from, and still has its data.

    Attributes:
        version: A version that the server must have reached.
        after: Seconds to wait first.
        repeat_after: Seconds without an answer between repetitions of the request.
        timeout: Seconds after which a request without an answer has failed.
    """

    version: str
    after: float = 0.0
    repeat_after: float = REPEAT_INTERVAL
    timeout: float = SMALL_REQUEST_TIMEOUT


@dataclass(frozen=True, slots=True)
class Probe:
    """Send a small request, to find out whether the server answers.

    Attributes:
        after: Seconds to wait first.
        repeat_after: Seconds without an answer between repetitions of the request.
        timeout: Seconds after which a request without an answer has failed.
    """

    after: float = 0.0
    repeat_after: float = REPEAT_INTERVAL
    timeout: float = SMALL_REQUEST_TIMEOUT


@dataclass(frozen=True, slots=True)
class Fail:
    """End with the error. Never under VERIFY_SERVER.

    Attributes:
        is_expired: Whether the server no longer has the version: the caller lists again, and watches from there.
        after: Always 0.
    """

    is_expired: bool
    after: float = 0.0


Step: TypeAlias = "List | Stream | VerifyServer | Probe | Fail"


@dataclass(frozen=True, slots=True)
class Failure:
    """The properties of an error that decide the next step.

    Attributes:
        code: The code of the response, or of an ERROR event; 0 for a dropped or failed connection.
        reason: The Status' reason.
        retry_after: The server's ``Retry-After``, in seconds.
        too_large: Whether the server has not reached the requested version yet.
        silent: Whether nothing arrived before the timeout.
        unreachable: Whether the connection failed.
        is_final: Whether no retry can help, whatever the code.
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
        # By reason as well, because not every server sends the code 410 with it.
        return self.code == _EXPIRED or self.reason in _EXPIRED_REASONS

    @property
    def is_unknown_option(self) -> bool:
        """Whether the server may have refused an unknown option, such as ``sendInitialEvents``."""
        return self.code in _NO_SUCH_OPTION

    @property
    def is_busy(self) -> bool:
        """Whether the server asks for fewer requests."""
        return self.code == _BUSY

    @property
    def is_refusal(self) -> bool:
        """Whether a retry would get the same response."""
        # 0 is a failed connection, and codes from 500 are the server's own problems.
        return 0 < self.code < 500 and self.code not in _TRANSIENT

    @property
    def is_dropped(self) -> bool:
        """Whether the connection broke, or a load balancer had no server for the request."""
        # An API server explains a 503 with a Status; a load balancer does not.
        if self.code:
            return self.code in _GATEWAY_ERRORS and not self.reason
        return not self.silent


def is_worth_a_line(failures: int, after: float) -> bool:
    """Whether to log a failure: with attempts about every second, only the first, second, fourth and so on."""
    # Powers of two.
    return after > MAX_RECONNECT_DELAY or failures & (failures - 1) == 0
