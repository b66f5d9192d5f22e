"""The ports and addresses of a port-forward, as callers give them."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ForwardedPort", "ListenAddress", "PortSpec", "check_port", "parse_addresses", "parse_port"]

_MAX_PORT: Final = 65535
_MAX_DIGITS: Final = 5


class PortSpec(msgspec.Struct, frozen=True):
    """A port that is to be forwarded.

    Attributes:
        remote: The port of the pod or the service: its number, or its name.
        local: The local port; 0 for any free one, None for the number of the remote name.
    """

    remote: int | str
    local: int | None = 0


@set_module("masthead.streams")
class ForwardedPort(msgspec.Struct, frozen=True):
    """A forwarded port.

    Attributes:
        local: The local port; 0 for a Unix socket.
        remote: The port of the pod.
    """

    local: int
    remote: int


class ListenAddress(msgspec.Struct, frozen=True):
    """An IP address to listen on.

    Attributes:
        host: The address.
        is_optional: Whether it may fail, as long as another one does not: 127.0.0.1 or ::1 of localhost.
    """

    host: str
    is_optional: bool = False


def parse_port(given: int | str) -> PortSpec:
    """Read a port: a number of the pod, or a text in kubectl's form.

    ======================  =======================================
    ``8080``                from any free port to 8080
    ``":8080"``             the same
    ``"8080"``              from 8080 to 8080
    ``"8888:8080"``         from 8888 to 8080
    ``"8443:https"``        from 8443 to the port of that name
    ======================  =======================================

    Raises:
        ArgumentError: If it is neither.
    """
    if not isinstance(given, str):
        return PortSpec(check_port(given, least=1))
    local, colon, remote = given.rpartition(":")
    if not remote or ":" in local:
        raise _invalid(given)
    target = _number(remote, given, least=1) if _is_number(remote) else remote
    if not colon:
        return PortSpec(target, target if isinstance(target, int) else None)
    return PortSpec(target, _number(local or "0", given, least=0))


def check_port(given: object, *, least: int) -> int:
    """A port number, from `least` on.

    Raises:
        ArgumentError: If it is not a port.
    """
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= _MAX_PORT:
        raise _invalid(given)
    return given


def parse_addresses(given: str | Sequence[str]) -> list[ListenAddress]:
    """The addresses to listen on; ``localhost`` is 127.0.0.1 and ::1.

    Raises:
        ArgumentError: If the list is empty, or an address is neither an IP address nor ``localhost``.
    """
    hosts = [given] if isinstance(given, str) else list(given)
    if not hosts:
        raise ArgumentError("give at least one address to listen on", value=given)
    found: dict[str, ListenAddress] = {}
    for host in hosts:
        if host == "localhost":
            for loopback in ("127.0.0.1", "::1"):
                found.setdefault(loopback, ListenAddress(loopback, is_optional=True))
        else:
            found[host] = ListenAddress(_checked_ip(host))
    return list(found.values())


def _checked_ip(host: str) -> str:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        raise ArgumentError(
            f"{host!r} is no address to listen on; give an IP address or 'localhost'", value=host
        ) from None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _number(text: str, given: str, *, least: int) -> int:
    # Longer ones are no ports, and could take long to read.
    if not _is_number(text) or len(text) > _MAX_DIGITS:
        raise _invalid(given)
    try:
        return check_port(int(text), least=least)
    except ArgumentError:
        raise _invalid(given) from None


def _invalid(given: object) -> ArgumentError:
    return ArgumentError(
        f"{given!r} is no port to forward; give a number from 1 to {_MAX_PORT}, or local and remote port as "
        "'8888:8080'",
        value=given,
    )
