"""How a server is to be run."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from masthead._server.clock import SystemClock
from masthead._server.hosts import ANY, AllowedHosts, is_loopback
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from masthead._server.clock import Clock
    from masthead._server.sqlite import SqliteJournal

__all__ = ["Settings", "Token"]

_LAST_PORT: Final = 65_535
_TYPES: Final = {
    "host": (str, "text"),
    "port": (int, "a whole number"),
    "token": (str | None, "text, or None"),
    "bookmark_every": (int | float, "a number"),
    "watch_timeout": (int | float, "a number"),
    "history": (int, "a whole number"),
    "history_bytes": (int, "a whole number"),
    "backlog": (int, "a whole number"),
}
"""What each must be before it can be looked at, and how that is said."""


class Token(Enum):
    """What can be said of a token without naming one."""

    RANDOM = "random"
    """A new one, which nobody can guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `masthead.server.run` takes; see there."""

    host: str = "127.0.0.1"
    port: int = 0
    data: str | Path | None = None
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    tls: bool = False
    controllers: bool | Collection[str] = True
    clock: Clock = field(default_factory=SystemClock)
    bookmark_every: float = 60.0
    watch_timeout: float = 1800.0
    watch_list: bool = True
    history: int = 10_000
    history_bytes: int = 64 * 1024 * 1024
    backlog: int = 10_000
    seed: int | None = None
    allow_remote: bool = False
    allowed_hosts: Sequence[str] = ()

    def check(self) -> None:
        """Refuse what would let strangers in, and what no server can do.

        Raises:
            ConfigError: The server would listen to other machines, and nobody said that it may; or a value makes no
                sense.
        """
        for name, (kind, said) in _TYPES.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise ConfigError(f"{name} must be {said}, not {value!r}")
        if not self.allow_remote and not is_loopback(self.host):
            raise ConfigError(
                f"{self.host} can be reached from other machines, which would be let in with the token alone; "
                "to want that, say allow_remote=True (--allow-remote)"
            )
        if not 0 <= self.port <= _LAST_PORT:
            raise ConfigError(f"there is no port {self.port}; name one up to {_LAST_PORT}, or 0 for any")
        if self.token is not None and not self.token.strip():
            raise ConfigError("an empty token is none: name one, or say token=None to let everybody in")
        for name in ("bookmark_every", "watch_timeout"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} is a time in seconds, and must be more than 0")
        for name in ("history", "backlog"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is a number of changes, and must be at least 1")
        if self.history_bytes < 1:
            raise ConfigError("history_bytes is a number of bytes, and must be at least 1")
        self._check_names()

    def _check_names(self) -> None:
        if not _are_names(self.allowed_hosts):
            raise ConfigError(f"allowed_hosts must be a list of names, not {self.allowed_hosts!r}")
        if not isinstance(self.controllers, bool) and not _are_names(self.controllers):
            raise ConfigError(f"controllers must be a bool or a list of names, not {self.controllers!r}")

    def hosts(self) -> AllowedHosts:
        """The names that the server may be reached by without its token."""
        return AllowedHosts((self.host, *self.allowed_hosts), allows_addresses=self.allow_remote)

    def names(self) -> tuple[str, ...]:
        """The names and addresses that a certificate is to be for."""
        chosen = [each for each in (self.host, *self.allowed_hosts) if each != ANY]
        return ("localhost", "127.0.0.1", "::1", *chosen)

    def journal(self) -> SqliteJournal | None:
        """Open the data file, if there is to be one.

        Raises:
            ConfigError: It cannot be used.
        """
        if self.data is None:
            return None
        from masthead._server.sqlite import SqliteJournal

        return SqliteJournal(Path(self.data))


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(each, str) for each in cast("Collection[object]", value)
    )
