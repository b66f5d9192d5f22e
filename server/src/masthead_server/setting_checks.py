"""Checks of the values of settings, each with a message that says what to write instead."""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Final, TypeAlias, cast, get_args

from masthead.errors import ConfigError
from masthead_server.hosts import ANY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = [
    "are_delays",
    "are_names",
    "are_paths",
    "are_switches",
    "check_allowed_hosts",
    "check_delays",
    "check_host_name",
    "check_path",
    "check_seconds",
    "check_token",
    "check_type",
    "is_clock",
]

Kind: TypeAlias = type | UnionType
_MAX_SECONDS: Final = 10**9
"""About 30 years: later times have no date."""
_MAX_HOST: Final = 253
_HOST: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[!-~]([ -~]*[!-~])?")


def check_type(name: str, value: object, kind: Kind, expected: str) -> None:
    """Check the type of a setting.

    Raises:
        ConfigError: If the value has another type.
    """
    kinds: tuple[object, ...] = get_args(kind) or (kind,)
    # To Python, True is a number.
    if not isinstance(value, kind) or (isinstance(value, bool) and bool not in kinds):
        raise ConfigError(f"{name} must be {expected}, not {value!r}")


def check_seconds(name: str, value: float, *, may_be_endless: bool = False) -> None:
    """Check a time in seconds.

    Raises:
        ConfigError: If it is not positive, or too long.
    """
    if not value > 0:
        raise ConfigError(f"{name} is a time in seconds, and must be more than 0")
    if value > _MAX_SECONDS and not (may_be_endless and value == math.inf):
        endless = ", or math.inf" if may_be_endless else ""
        raise ConfigError(f"{name} is a time in seconds, and must be at most {_MAX_SECONDS:,}{endless}")


def check_path(name: str, value: str | Path) -> None:
    """Check a path, which need not exist.

    Raises:
        ConfigError: If no file can have it.
    """
    if not str(value):
        raise ConfigError(f"{name} is empty: name a file, or leave it out")
    try:
        is_possible = b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise ConfigError(f"{name} must be a path, and {str(value)!r} has a character that no path has")


def check_host_name(name: str, value: str) -> None:
    """Check a host name or an address.

    Raises:
        ConfigError: If no client can use it.
    """
    if not value.strip():
        raise ConfigError(f"{name} is empty: name a host or an address, such as localhost or 127.0.0.1")
    if not _is_address(value.removeprefix("[").removesuffix("]")) and not _is_host(value.removesuffix(".")):
        raise ConfigError(
            f"{name}: {value!r} is neither a host name nor an address; write it without scheme, port and path, and an "
            "international name as xn--..."
        )


def _is_host(value: str) -> bool:
    return len(value) <= _MAX_HOST and _HOST.fullmatch(value) is not None


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def check_allowed_hosts(values: Iterable[str]) -> None:
    """Check the further host names of a server.

    Raises:
        ConfigError: If no client can use one of them.
    """
    for value in values:
        if value != ANY:
            check_host_name("allowed_hosts (--allow-host)", value)


def check_token(token: str) -> None:
    """Check a bearer token.

    Raises:
        ConfigError: If it cannot be sent in a header.
    """
    if not token.strip():
        raise ConfigError("the token is empty: set one, or token=None to accept every request")
    if not _TOKEN.fullmatch(token):
        raise ConfigError("the token cannot be sent in a header: use printable ASCII characters, without spaces around")


def check_delays(delays: Mapping[str, float]) -> None:
    """Check the delays of controllers.

    Raises:
        ConfigError: If one is negative, or too long.
    """
    for controller, seconds in delays.items():
        if not 0 <= seconds <= _MAX_SECONDS:
            raise ConfigError(
                f"controller_delays: {controller} acts after 0 to {_MAX_SECONDS:,} seconds, not after {seconds}"
            )


def is_clock(value: object) -> bool:
    """Tell whether a value, or the instances of a class, tell the time and call later."""
    return all(callable(getattr(value, name, None)) for name in ("now", "call_later"))


def are_switches(value: object) -> bool:
    """Tell whether a value maps names to bools."""
    if not isinstance(value, Mapping):
        return False
    return all(
        isinstance(name, str) and isinstance(switch, bool)
        for name, switch in cast("Mapping[object, object]", value).items()
    )


def are_delays(value: object) -> bool:
    """Tell whether a value maps names to numbers."""
    if not isinstance(value, Mapping):
        return False
    return all(
        isinstance(name, str) and isinstance(seconds, int | float) and not isinstance(seconds, bool)
        for name, seconds in cast("Mapping[object, object]", value).items()
    )


def are_names(value: object) -> bool:
    """Tell whether a value is a collection of texts, and not a text."""
    return isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(each, str) for each in cast("Collection[object]", value)
    )


def are_paths(value: object) -> bool:
    """Tell whether a value is a path, or a list of paths."""
    if isinstance(value, str | Path):
        return True
    return isinstance(value, list | tuple) and all(
        isinstance(path, str | Path) for path in cast("Collection[object]", value)
    )
