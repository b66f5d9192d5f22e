"""How a server is to be run."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead.errors import ConfigError
from masthead.server.clock import SystemClock
from masthead.server.sqlite import DataFileError, SqliteJournal

if TYPE_CHECKING:
    from masthead.server.clock import Clock

__all__ = ["Settings"]

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `masthead.server.run` takes; see there."""

    host: str = "127.0.0.1"
    port: int = 0
    data: str | Path | None = None
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(24))
    tls: bool = False
    controllers: bool = True
    clock: Clock = field(default_factory=SystemClock)
    bookmark_every: float = 60.0
    watch_timeout: float = 1800.0
    watch_list: bool = True
    history: int = 10_000
    backlog: int = 10_000
    seed: int | None = None
    allow_remote: bool = False

    def check(self) -> None:
        """Refuse what would let strangers in.

        Raises:
            ConfigError: The server would listen to other machines, and nobody said that it may.
        """
        if self.host not in _LOOPBACK and not self.allow_remote:
            raise ConfigError(
                f"{self.host} can be reached from other machines; to want that, say allow_remote=True"
            )

    def journal(self) -> SqliteJournal | None:
        """Open the data file, if there is to be one.

        Raises:
            ConfigError: It cannot be used.
        """
        if self.data is None:
            return None
        try:
            return SqliteJournal(Path(self.data))
        except DataFileError as error:
            raise ConfigError(str(error)) from None
