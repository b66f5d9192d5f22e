"""How a client behaves towards the server, whatever it asks."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import masthead
from masthead._transport.http import MAX_RESPONSE_BYTES
from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sansio.warnings import ServerWarning

__all__ = ["RestSettings", "default_user_agent"]


_NUMBERS: Final = ("timeout", "read_timeout", "retries", "rate", "burst", "max_response_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    """How a client behaves towards the server.

    Attributes:
        timeout: Seconds that a call may take, its repetitions included, unless it says otherwise.
        read_timeout: Seconds without a byte after which a stream that should have bookmarks counts as dead. Servers send
            one about once a minute.
        retries: How often a call is repeated at most where the server, or the network, asks for it.
        rate: Calls a second that the client allows itself; None for no limit. Servers protect themselves nowadays.
        burst: How many calls may come at once before `rate` holds them back.
        user_agent: Who is asking, for the server's logs; empty for masthead and its version.
        max_response_bytes: How long an answer that is read at once may be, packed and unpacked; ``math.inf`` for any length.
        on_warning: Is told of each warning that the server sends along; None to log each text once.

    Raises:
        InvalidValueError: if nothing could ever be asked, or answered, that way.
    """

    timeout: float = 60.0
    read_timeout: float = 90.0
    retries: int = 10
    rate: float | None = None
    burst: int = 10
    user_agent: str = ""
    max_response_bytes: float = MAX_RESPONSE_BYTES
    on_warning: Callable[[ServerWarning], None] | None = None

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            given: object = getattr(self, name)
            if not isinstance(given, int | float) and not (given is None and name == "rate"):
                raise InvalidValueError(f"{name} must be a number, not {given!r}", value=given)
        rules = {
            "timeout": (self.timeout > 0, "more than 0 seconds; math.inf for no limit"),
            "read_timeout": (self.read_timeout > 0, "more than 0 seconds; math.inf for no limit"),
            "retries": (self.retries >= 0, "0 or more"),
            "rate": (self.rate is None or self.rate > 0, "more than 0 calls a second; None for no limit"),
            "burst": (self.burst >= 1, "1 or more"),
            "max_response_bytes": (self.max_response_bytes > 0, "more than 0; math.inf for no limit"),
            "user_agent": (self.user_agent.isprintable(), "one line of text"),
        }
        for name, (is_met, wanted) in rules.items():
            if not is_met:
                value: object = getattr(self, name)
                raise InvalidValueError(f"{name} must be {wanted}, not {value!r}", value=value)


def default_user_agent() -> str:
    """Who is asking, unless the user says otherwise."""
    system, machine = platform.system().lower(), platform.machine()
    return f"masthead/{masthead.__version__} ({system}/{machine}) python/{platform.python_version()}"
