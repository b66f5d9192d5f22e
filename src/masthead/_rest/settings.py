"""The settings of a REST client."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead._rest.rate_limiter import RateLimit
from masthead._transport.http import MAX_RESPONSE_BYTES
from masthead._version import __version__
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sansio.warnings import ServerWarning
    from masthead.metrics import Metrics

__all__ = ["RestSettings", "default_user_agent"]


_NUMBERS: Final = ("timeout", "read_timeout", "attempts", "rate", "burst", "max_response_bytes")


@set_module("masthead.rest")
@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    """The settings of a REST client.

    Attributes:
        timeout: The default timeout of a call in seconds, retries included.
        read_timeout: Seconds without a byte after which a stream is considered dead; a watch after at most 28.
        attempts: The maximum number of attempts of a call, the first included; 1 for no retries.
        rate: Client-side rate limit in calls per second, or a `RateLimit` that several clients share; None for no
            limit, since servers have priority and fairness.
        burst: The number of calls that may be sent before a `rate` in calls per second applies.
        user_agent: The ``User-Agent`` header; empty for masthead and its version.
        max_response_bytes: The maximum size of a response that is read whole, compressed and decompressed;
            ``math.inf`` for no limit.
        on_warning: Called with each warning of the server; None to log each text once.
        metrics: Where to count requests; None for nowhere.

    Raises:
        ArgumentError: If a setting is invalid.
    """

    timeout: float = 60.0
    read_timeout: float = 90.0
    attempts: int = 11
    rate: float | RateLimit | None = None
    burst: int = 10
    user_agent: str = ""
    max_response_bytes: float = MAX_RESPONSE_BYTES
    on_warning: Callable[[ServerWarning], None] | None = None
    metrics: Metrics | None = None

    def __post_init__(self) -> None:
        # Types first: the comparisons below raise TypeError for other types.
        for name in _NUMBERS:
            given: object = getattr(self, name)
            # A RateLimit has been checked when it was created.
            is_limit = name == "rate" and isinstance(given, RateLimit | None)
            if not isinstance(given, int | float) and not is_limit:
                raise ArgumentError(f"{name} must be a number, not {given!r}", value=given)
        rules = {
            "timeout": (self.timeout > 0, "more than 0 seconds; math.inf for no limit"),
            "read_timeout": (self.read_timeout > 0, "more than 0 seconds; math.inf for no limit"),
            "attempts": (self.attempts >= 1, "1 or more"),
            "rate": (
                isinstance(self.rate, RateLimit | None) or self.rate > 0,
                "more than 0 calls per second; None for no limit",
            ),
            "burst": (self.burst >= 1, "1 or more"),
            "max_response_bytes": (self.max_response_bytes > 0, "more than 0; math.inf for no limit"),
            "user_agent": (self.user_agent.isprintable(), "one line of text"),
        }
        for name, (is_met, wanted) in rules.items():
            if not is_met:
                value: object = getattr(self, name)
                raise ArgumentError(f"{name} must be {wanted}, not {value!r}", value=value)

    def rate_limit(self) -> RateLimit | None:
        """The client-side rate limit; None for no limit."""
        rate = self.rate
        return RateLimit(rate, self.burst) if isinstance(rate, int | float) else rate


def default_user_agent() -> str:
    """The default ``User-Agent`` header."""
    system, machine = platform.system().lower(), platform.machine()
    return f"masthead/{__version__} ({system}/{machine}) python/{platform.python_version()}"
