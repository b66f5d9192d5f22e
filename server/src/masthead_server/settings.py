"""The settings of a server."""

from __future__ import annotations

import math
import re
import secrets
import sys
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead.errors import ArgumentError, ConfigError
from masthead_server.authorization_modes import parse_modes
from masthead_server.clock import SystemClock
from masthead_server.files import write_private
from masthead_server.hosts import ANY, AllowedHosts, is_loopback
from masthead_server.option_conflicts import check_conflicts
from masthead_server.setting_checks import (
    are_delays,
    are_names,
    are_paths,
    are_switches,
    check_allowed_hosts,
    check_delays,
    check_host_name,
    check_path,
    check_seconds,
    check_token,
    check_type,
    is_clock,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from types import UnionType

    from masthead._recording.recording import RecordedMoment, Recording
    from masthead_server.authorization_modes import AuthorizationMode
    from masthead_server.clock import Clock
    from masthead_server.node_templates import NodeSettings
    from masthead_server.snapshot import Snapshot
    from masthead_server.storage import Journal
    from masthead_server.tls import Certificates

__all__ = ["Settings", "Token"]

_LAST_PORT: Final = 65_535
_AUTHORITY: Final = ".authority.pem"
"""Appended to the name of the data file: the certificate authority and its key."""
_TOKEN: Final = ".token"
"""Appended to the name of the data file: the random token."""
_SIGNING_KEY: Final = ".serviceaccounts.key"
"""Appended to the name of the data file: the key of service-account tokens."""
_ALWAYS_ALLOW: Final = "always-allow"
_TOKEN_BYTES: Final = 24
_RANDOM_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,}")


@set_module("masthead.server")
class Token(Enum):
    """A token that is not given as text."""

    RANDOM = "random"
    """A random token: a new one, or with `data` the one of earlier runs."""


_SWITCHES: Final = (
    "tls",
    "bootstrap",
    "watch_list",
    "sharded_list_and_watch",
    "record_changes",
    "allow_remote",
)
_TYPES: Final[Mapping[str, tuple[type | UnionType, str]]] = {
    "host": (str, "text"),
    "port": (int, "a whole number"),
    "token": (str | Token | None, "text, or None"),
    "like": (str | None, "the name of a profile, such as 'kind'"),
    "authorization": (str | None, "text, such as 'rbac' or 'node,rbac', or None"),
    "data": (str | Path | None, "a path, or None"),
    "token_file": (str | Path | None, "a path, or None"),
    **dict.fromkeys(("anonymous", "workloads", "kubelet"), (bool | None, "a bool, or None")),
    **dict.fromkeys(_SWITCHES, (bool, "a bool")),
    "bookmark_every": (int | float, "a number"),
    "watch_timeout": (int | float, "a number"),
    "event_ttl": (int | float, "a number"),
    "at": (datetime | timedelta | int | str | None, "a time, an offset, a version, or None"),
    "speed": (int | float | None, "a number, or None"),
    "history": (int, "a whole number"),
    "history_bytes": (int, "a whole number"),
    "backlog": (int, "a whole number"),
    "seed": (int | None, "a whole number, or None"),
}
"""The type of each value, and its name in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The arguments of `masthead.server.run`; see there."""

    host: str = "127.0.0.1"
    port: int = 0
    data: str | Path | None = None
    snapshot: Snapshot | None = None
    load: str | Path | Sequence[str | Path] = ()
    recording: str | Path | Recording | None = None
    at: RecordedMoment | None = None
    speed: float | None = None
    token: str | Token | None = field(default=Token.RANDOM, repr=False)
    token_file: str | Path | None = None
    anonymous: bool | None = None
    tls: bool = False
    like: str | None = None
    authorization: str | None = None
    admission: bool | Collection[str] | Mapping[str, bool] = True
    controllers: bool | Collection[str] = True
    controller_delays: Mapping[str, float] = field(default_factory=dict[str, float])
    bootstrap: bool = True
    workloads: bool | None = None
    kubelet: bool | None = None
    nodes: NodeSettings | None = None
    has_own_nodes: bool = True
    """Whether the nodes were chosen by the user, and not by a profile."""
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
    record_changes: bool = False
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
            check_type(name, getattr(self, name), kind, expected)
        check_host_name("host", self.host)
        if not self.allow_remote and not is_loopback(self.host):
            raise ConfigError(
                f"{self.host} can be reached from other machines, where the token is the only protection; "
                "to allow that, set allow_remote=True (--allow-remote)"
            )
        if not 0 <= self.port <= _LAST_PORT:
            raise ConfigError(f"there is no port {self.port}; use one up to {_LAST_PORT}, or 0 for any")
        if isinstance(self.token, str):
            check_token(self.token)
        for name in ("bookmark_every", "watch_timeout"):
            check_seconds(name, getattr(self, name))
        check_seconds("event_ttl", self.event_ttl, may_be_endless=True)
        for name in ("history", "backlog"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is a number of changes, and must be at least 1")
        if self.history_bytes < 1:
            raise ConfigError("history_bytes is a number of bytes, and must be at least 1")
        if isinstance(self.clock, type) or not is_clock(self.clock):
            raise ConfigError(f"clock must be a clock, such as masthead.server.VirtualClock, not {self.clock!r}")
        self._check_contents()
        self._check_choices()
        check_conflicts(self)
        self.authorization_modes()

    def authorization_modes(self) -> tuple[AuthorizationMode, ...]:
        """Return the authorizers, in their order.

        Raises:
            ConfigError: If there is no such mode.
        """
        try:
            return parse_modes(_ALWAYS_ALLOW if self.authorization is None else self.authorization)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def _check_contents(self) -> None:
        for name in ("data", "token_file"):
            if (path := getattr(self, name)) is not None:
                check_path(name, path)
        if self.snapshot is not None:
            _check_snapshot(self.snapshot)
        if self.snapshot is not None and self.data is not None:
            raise ConfigError("a server has its objects from a data file or from a snapshot: give one of them")
        if not are_paths(self.load):
            raise ConfigError(f"load must be a path or a list of paths, not {self.load!r}")
        for path in self.dumps():
            check_path("load", path)
        if self.snapshot is not None and self.dumps():
            raise ConfigError("a server has its objects from a snapshot or from a dump: give one of them")
        if self.recording is not None:
            _check_recording(self.recording)
        if self.speed is not None and not self.speed >= 0:
            raise ConfigError(f"speed is a factor, or 0 for as fast as possible, not {self.speed}")

    def _check_choices(self) -> None:
        # Few servers have other nodes than the default.
        if self.nodes is not None:
            from masthead_server.node_templates import plan_nodes

            plan_nodes(self.nodes)
        if not are_names(self.allowed_hosts):
            raise ConfigError(f"allowed_hosts must be a list of names, not {self.allowed_hosts!r}")
        check_allowed_hosts(self.allowed_hosts)
        if not isinstance(self.controllers, bool) and not are_names(self.controllers):
            raise ConfigError(f"controllers must be a bool or a list of names, not {self.controllers!r}")
        if not are_delays(self.controller_delays):
            raise ConfigError(
                f"controller_delays must be a mapping of names to seconds, not {self.controller_delays!r}"
            )
        check_delays(self.controller_delays)
        if not isinstance(self.admission, bool) and not are_names(self.admission) and not are_switches(self.admission):
            raise ConfigError(
                f"admission must be a bool, names, or a mapping of names to bools, not {self.admission!r}"
            )

    @property
    def runs_pods(self) -> bool:
        """Whether there is a kubelet; configured nodes imply one."""
        return bool(self.kubelet) or self.nodes is not None

    def for_replay(self) -> Settings:
        """Return the settings without what would change recorded objects: controllers, and the expiry of Events.

        Controllers that the user has listed stay. `history_bytes` alone limits the history, because versions of a
        cluster are far apart: a few changes may be thousands of revisions.
        """
        controllers = False if self.controllers is True else self.controllers
        return replace(self, controllers=controllers, bootstrap=False, event_ttl=math.inf, history=sys.maxsize)

    def dumps(self) -> tuple[str | Path, ...]:
        """Return the files and folders to load."""
        return (self.load,) if isinstance(self.load, str | Path) else tuple(self.load)

    def hosts(self) -> AllowedHosts:
        """Return the host names that requests without the token may use."""
        return AllowedHosts((self.host, *self.allowed_hosts), allows_addresses=self.allow_remote)

    def names(self) -> tuple[str, ...]:
        """Return the names and addresses for a certificate."""
        chosen = [name.strip("[]").rstrip(".") for name in (self.host, *self.allowed_hosts) if name != ANY]
        return ("localhost", "127.0.0.1", "::1", *chosen)

    def certificates(self) -> Certificates:
        """Issue certificates, by an authority that is stored with the data file, if any.

        Raises:
            ConfigError: If trustme is not installed, or the file of the authority cannot be used.
        """
        from masthead_server.tls import Certificates, shared_certificates

        if self.data is not None:
            return Certificates(self.names(), Path(f"{self.data}{_AUTHORITY}"))
        return Certificates(self.names()) if self.tls else shared_certificates(self.names())

    def resolve_token(self) -> str | None:
        """Return the bearer token. A random one is stored with the data file, if any, so that kubeconfigs stay valid.

        Raises:
            ConfigError: If the file of the token cannot be used.
        """
        if not isinstance(self.token, Token):
            return self.token
        return _random_token() if self.data is None else _load_or_create_token(Path(f"{self.data}{_TOKEN}"))

    @property
    def signing_key_file(self) -> Path | None:
        """The file of the key of service-account tokens, which is stored with the data file, if any."""
        return None if self.data is None else Path(f"{self.data}{_SIGNING_KEY}")

    def journal(self) -> Journal | None:
        """Open the data file, if there is one.

        Raises:
            ConfigError: If it cannot be used.
        """
        if self.data is None:
            return None
        from masthead_server.sqlite import SqliteJournal, is_json_object

        return SqliteJournal(Path(self.data), is_json_object)


def _check_snapshot(snapshot: Snapshot) -> None:
    from masthead_server.snapshot import read_snapshot  # which few servers need

    try:
        read_snapshot(snapshot)
    except ArgumentError as error:
        raise ConfigError(str(error)) from None


def _check_recording(recording: object) -> None:
    if isinstance(recording, str | Path):
        check_path("recording", recording)
        return
    from masthead._recording.recording import Recording  # which few servers need

    if not isinstance(recording, Recording):
        raise ConfigError(f"recording must be a path or a masthead.recording.Recording, not {recording!r}")


def _random_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


def _load_or_create_token(file: Path) -> str:
    """The token in a file; a new one if there is no file.

    Raises:
        ConfigError: If the file cannot be read or written, or holds something else.
    """
    try:
        token = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        token = _random_token()
        try:
            write_private(file, f"{token}\n")
        except OSError as error:
            raise ConfigError(f"cannot keep the token in {file}: {error.strerror}") from None
        return token
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the token {file}: {error}") from None
    if not _RANDOM_TOKEN.fullmatch(token):
        raise ConfigError(f"{file} holds no token; delete it, and a new one is made, which clients need")
    return token
