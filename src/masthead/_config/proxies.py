"""Proxy variables of the environment, with the semantics of Go."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

from masthead._config.address import Address, as_ip, split_address
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["proxy_for"]

_VARIABLES: Final = {"https": ("HTTPS_PROXY", "ALL_PROXY"), "http": ("HTTP_PROXY", "ALL_PROXY")}
_PORTS: Final = {"https": 443, "http": 80}


@set_module("masthead.config")
def proxy_for(server: str, environ: Mapping[str, str]) -> str:
    """Return the URL of the proxy for a server; empty for none.

    ``HTTPS_PROXY`` or ``HTTP_PROXY`` is used, by the server's scheme, then ``ALL_PROXY``; each also in lower case,
    which comes second. ``NO_PROXY`` lists the hosts that are reached directly, separated by commas:

    =====================  ==========================================================
    ``*``                  every host
    ``example.com``        the host and its subdomains
    ``.example.com``       its subdomains; same as ``*.example.com``
    ``10.1.2.3``           the IP address
    ``10.0.0.0/8``         the network
    ``example.com:6443``   any of them, on that port
    =====================  ==========================================================

    A server on this machine is always reached directly.
    """
    try:
        address = split_address(server)
    except ValueError:
        return ""  # an invalid URL is reported by the validation of the configuration
    if address.is_loopback or _is_exempt(address, _read(environ, "NO_PROXY")):
        return ""
    for name in _VARIABLES.get(address.scheme, ()):
        # In a CGI program, the "Proxy" header of any request becomes HTTP_PROXY.
        is_forged = name == "HTTP_PROXY" and bool(environ.get("REQUEST_METHOD"))
        found = "" if is_forged else _read(environ, name)
        if found:
            return found if "://" in found else f"http://{found}"
    return ""


def _read(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip() or environ.get(name.lower(), "").strip()


def _is_exempt(address: Address, no_proxy: str) -> bool:
    return any(_fits(rule.strip().lower(), address) for rule in no_proxy.split(","))


def _fits(rule: str, address: Address) -> bool:
    if rule in {"", "*"}:
        return rule == "*"
    number = as_ip(address.host)
    # Names are not resolved for it: Go does not do that, either.
    if "/" in rule:
        return number is not None and _holds(rule, number)
    host, port = _split_port(rule)
    if port and port != str(address.port or _PORTS.get(address.scheme)):
        return False
    if (wanted := as_ip(host)) is not None:
        return wanted == number
    return number is None and _is_below(address.host.rstrip("."), host)


def _holds(network: str, number: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return number in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _split_port(rule: str) -> tuple[str, str]:
    """Split the port from a rule; an IPv6 address has brackets if a port follows."""
    if rule.startswith("["):
        host, _, rest = rule[1:].partition("]")
        return host, rest.removeprefix(":")
    # More colons are an IPv6 address without a port.
    if rule.count(":") == 1:
        host, _, port = rule.partition(":")
        return host, port
    return rule, ""


def _is_below(host: str, domain: str) -> bool:
    domain = domain.removeprefix("*").rstrip(".")
    # With a dot, subdomains only; without one, the domain itself, too.
    if domain.startswith("."):
        return host.endswith(domain)
    return host == domain or host.endswith(f".{domain}")
