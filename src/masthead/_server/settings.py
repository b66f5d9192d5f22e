"""The settings of a server."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from masthead._module import set_module
from masthead._server.clock import SystemClock
from masthead._server.hosts import ANY, AllowedHosts, is_loopback
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from masthead._server.clock import Clock
    from masthead._server.sqlite import SqliteJournal
    from masthead._server.tls import Certificates

__all__ = ["Settings", "Token"]

_LAST_PORT: Final = 65_535
_AUTHORITY: Final = ".authority.pem"
"""Appended to the name of the data file: the certificate authority and its key."""
_TYPES: Final = {
    "host": (str, "text"),
    "port": (int, "a whole number"),
    "token": (str | None, "text, or None"),
    "bookmark_every": (int | float, "a number"),
    "watch_timeout": (int | float, "a number"),
    "event_ttl": (int | float, "a number"),
    "history": (int, "a whole number"),
    "history_bytes": (int, "a whole number"),
    "backlog": (int, "a whole number"),
}
"""The type of each value, and its name in messages."""


@set_module("masthead.server")
class Token(Enum):
    """A token that is not given as text."""

    RANDOM = "random"
    """A new random token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of `masthead.server.run`; see there."""

    host: str = "127.0.0.1"
    port: int = 0
    data: str | Path | None = None
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    tls: bool = False
    controllers: bool | Collection[str] = True
    bootstrap: bool = True
    workloads: bool = False
    kubelet: bool = False
    clock: Clock = field(default_factory=SystemClock)
    bookmark_every: float = 60.0
    watch_timeout: float = 1800.0
    watch_list: bool = True
    sharded_list_and_watch: bool = False
    event_ttl: float = 3600.0
    history: int = 10_000
    history_bytes: int = 64 * 1024 * 1024
    backlog: int = 10_000
    seed: int | None = None
    allow_remote: bool = False
    allowed_hosts: Sequence[str] = ()

    def check(self) -> None:
        """Validate the settings.

        Raises:
            ConfigError: If a value is invalid, or if other machines could reach the server and that is not
                allowed.
        """
        # Types first: the comparisons below would raise a TypeError that names no setting.
        for name, (kind, expected) in _TYPES.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise ConfigError(f"{name} must be {expected}, not {value!r}")
        if not self.allow_remote and not is_loopback(self.host):
            raise ConfigError(
                f"{self.host} can be reached from other machines, where the token is the only protection; "
                "to allow that, set allow_remote=True (--allow-remote)"
            )
        if not 0 <= self.port <= _LAST_PORT:
            raise ConfigError(f"there is no port {self.port}; use one up to {_LAST_PORT}, or 0 for any")
        if self.token is not None and not self.token.strip():
            raise ConfigError("the token is empty: set one, or token=None to accept every request")
        for name in ("bookmark_every", "watch_timeout"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} is a time in seconds, and must be more than 0")
        if not self.event_ttl > 0:
            raise ConfigError("event_ttl is a time in seconds, and must be more than 0")
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
        """Return the host names that requests without the token may use."""
        return AllowedHosts((self.host, *self.allowed_hosts), allows_addresses=self.allow_remote)

    def names(self) -> tuple[str, ...]:
        """Return the names and addresses for a certificate."""
        chosen = [each for each in (self.host, *self.allowed_hosts) if each != ANY]
        return ("localhost", "127.0.0.1", "::1", *chosen)

    def certificates(self) -> Certificates:
        """Issue certificates: by an authority that is kept beside the data file, if there is one.

        Raises:
            ConfigError: If trustme is not installed, or the file of the authority cannot be used.
        """
        from masthead._server.tls import Certificates, shared_certificates

        if self.data is not None:
            return Certificates(self.names(), Path(f"{self.data}{_AUTHORITY}"))
        return Certificates(self.names()) if self.tls else shared_certificates(self.names())

    def journal(self) -> SqliteJournal | None:
        """Open the data file, if there is one.

        Raises:
            ConfigError: If it cannot be used.
        """
        if self.data is None:
            return None
        from masthead._server.sqlite import SqliteJournal, is_json_object

        return SqliteJournal(Path(self.data), is_json_object)


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(each, str) for each in cast("Collection[object]", value)
    )
