"""Network checks: name, port and certificate of the server, separately."""

from __future__ import annotations

import asyncio
import ssl
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from masthead._cli import diagnosis
from masthead._cli.certificates import expiry_of_der
from masthead._cli.diagnosis import Diagnosis
from masthead._config.address import as_ip, split_address
from masthead._rest.connect import tls_of

if TYPE_CHECKING:
    from masthead._config.address import Address
    from masthead._config.model import Config

__all__ = ["check_dns", "check_tcp", "check_tls"]

_PORTS: Final = {"https": 443, "http": 80, "socks5": 1080, "socks5h": 1080}


def _first_hop(config: Config) -> tuple[Address, str]:
    """The peer of the connection: the server, or the proxy in front of it."""
    # With a proxy, the name of the server may be known to the proxy only.
    if config.proxy_url:
        return split_address(config.proxy_url), "the proxy "
    return split_address(config.server), ""


def _port(address: Address) -> int:
    return address.port or _PORTS.get(address.scheme, 443)


async def check_dns(config: Config) -> Diagnosis:
    """Whether the host has an address.

    Raises:
        OSError: If it cannot be looked up.
    """
    address, who = _first_hop(config)
    if as_ip(address.host) is not None:
        return Diagnosis("dns", "ok", f"{who}{address.host} is an address")
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, _port(address), type=1)
    except OSError as error:
        hint = "check the name, the VPN and the DNS server; for a new cluster, the name may not be there yet"
        return Diagnosis("dns", "fail", f"{who}{address.host} is not known: {error.strerror or error}", hint)
    addresses = sorted({str(info[4][0]) for info in found})
    line = f"{who}{address.host} is {', '.join(addresses[:3])}{' ...' if len(addresses) > 3 else ''}"
    return Diagnosis("dns", "ok", line, "", {"addresses": addresses})


async def check_tcp(config: Config) -> Diagnosis:
    """Whether the port can be connected to."""
    address, who = _first_hop(config)
    begin = time.perf_counter()
    place = f"{who}{address.host}:{_port(address)}"
    try:
        _, writer = await asyncio.open_connection(address.host, _port(address))
    except ConnectionRefusedError:
        hint = "check that the server runs there, and the port; a local cluster may have been restarted on another one"
        return Diagnosis("tcp", "fail", f"{place} refuses connections", hint)
    except OSError as error:
        hint = "check the network, the VPN and firewalls"
        return Diagnosis("tcp", "fail", f"{place} cannot be reached: {error.strerror or error}", hint)
    writer.close()
    took = 1000 * (time.perf_counter() - begin)
    return Diagnosis("tcp", "ok", f"{place} accepts connections, after {took:.0f} ms")


async def check_tls(config: Config) -> Diagnosis:
    """Check whether the server's certificate is trusted, and for how long."""
    server = split_address(config.server)
    if config.speaks_plain_http:
        if server.is_loopback:
            return Diagnosis("tls", "skip", "plain HTTP to this machine")
        return Diagnosis("tls", "warn", "plain HTTP: credentials can be read on the way", "use https")
    # The handshake with the server runs inside a tunnel, which the check of HTTP opens.
    if config.proxy_url:
        return Diagnosis("tls", "skip", "behind a proxy; http covers it")
    name = config.tls_server_name or server.host
    try:
        _, writer = await asyncio.open_connection(
            server.host, _port(server), ssl=await tls_of(config).context(), server_hostname=name
        )
    except ssl.SSLCertVerificationError as error:
        return Diagnosis("tls", "fail", f"the certificate is not trusted: {error.verify_message}", _tls_hint(error))
    except ssl.SSLError as error:
        hint = "check that this is the port of an API server, and https its scheme"
        return Diagnosis("tls", "fail", f"no TLS connection: {error.reason or error}", hint)
    connection = writer.get_extra_info("ssl_object")
    shown, version = connection.getpeercert(binary_form=True), connection.version()
    writer.close()
    what = f"{version}, the server's certificate"
    renewal = "renew the certificate of the API server"
    # After the handshake: even without verification, its version is reported.
    if config.insecure:
        return Diagnosis("tls", "warn", f"{version}, but certificates are not verified", "give the CA certificate")
    return diagnosis.judge_expiry("tls", what, expiry_of_der(shown), datetime.now(UTC), renewal=renewal)


def _tls_hint(error: ssl.SSLCertVerificationError) -> str:
    if "expired" in error.verify_message:
        return "renew the certificate of the API server, or set the clock of this machine"
    if "mismatch" in error.verify_message or "not valid for" in error.verify_message:
        return "use a name of the certificate in the address, or set tls-server-name in the kubeconfig"
    return "check certificate-authority in the kubeconfig: it may be that of another, or of an older, cluster"
