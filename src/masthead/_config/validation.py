"""Validation of a configuration: reports all problems together, without secrets in the messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from masthead._config.address import Address, split_address
from masthead._meta.names import problem_with_dns1123_label, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead._config.model import Config

__all__ = [
    "EXEC_VERSIONS",
    "EXPOSED_CREDENTIALS",
    "INTERACTIVE_MODES",
    "PROXY_SCHEMES",
    "exposes_credentials",
    "find_problems",
]

EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
INTERACTIVE_MODES: Final = ("Never", "IfAvailable", "Always")
EXPOSED_CREDENTIALS: Final = (
    "server: uses plain HTTP and is not on this machine, so that anyone on the network could read the credentials; use "
    "https, or pass allow_plain_http=True"
)
PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")
_SERVER_SCHEMES: Final = ("https", "http")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")

# Mutually exclusive fields.
_EITHER_OR: Final = (
    ("ca_file", "ca_data"),
    ("client_certificate_file", "client_certificate_data"),
    ("client_key_file", "client_key_data"),
)


def find_problems(config: Config) -> list[str]:
    """Return all problems of a configuration, each prefixed with the name of the field."""
    return [problem for check in _CHECKS for problem in check(config)]


def _server(config: Config) -> Iterator[str]:
    if not config.server:
        yield "server: is missing; give the API server's address, such as https://10.0.0.1:6443"
        return
    try:
        address = split_address(config.server)
    except ValueError as error:
        yield f"server: {error}"
        return
    if address.scheme not in _SERVER_SCHEMES:
        yield f"server: the scheme must be https or http, not {quote(address.scheme)}"
    if problem := _problem_behind_host(config.server):
        yield f"server: {problem}"


def _tls(config: Config) -> Iterator[str]:
    for file, data in _EITHER_OR:
        if getattr(config, file) and getattr(config, data):
            yield f"{file}: given together with {data}; keep one of them"
    if config.insecure and (config.ca_file or config.ca_data):
        yield "insecure: given together with an authority to trust; keep one of them"
    has_certificate = bool(config.client_certificate_file or config.client_certificate_data)
    has_key = bool(config.client_key_file or config.client_key_data)
    if has_certificate and not has_key:
        yield "client_key_file: is missing; a client certificate needs its key"
    if has_key and not has_certificate:
        yield "client_certificate_file: is missing; a client key needs its certificate"
    # Not if a token is sent as well, which then authenticates the request.
    if has_certificate and config.speaks_plain_http and not config.sends_authorization:
        yield (
            "server: uses plain HTTP, but client certificates are sent in TLS only, so that requests would be "
            "anonymous; use https, or leave the certificate out"
        )


def _credentials(config: Config) -> Iterator[str]:
    has_token = bool(config.token or config.token_file)
    has_password = bool(config.username or config.password)
    if has_token and has_password:
        yield "token: given together with username and password; keep one of them"
    if config.exec is not None and config.oidc is not None:
        yield "exec: given together with oidc; keep one of them"
    # Tokens are often pasted with a line break, which cannot be part of a header.
    if _CONTROL.search(config.token.reveal()):
        yield "token: contains a line break or another control character; strip it"
    if ":" in config.username:
        yield "username: contains a colon, which basic authentication does not allow"


def exposes_credentials(config: Config) -> bool:
    """Whether credentials would be sent in plain text over a network."""
    if config.allow_plain_http:
        return False
    # A proxy on this machine forwards to the server over the network, so both must be local.
    hops = [hop for hop in (_address(config.server), _address(config.proxy_url)) if hop is not None]
    return config.speaks_plain_http and not all(hop.is_loopback for hop in hops)


def _secrecy(config: Config) -> Iterator[str]:
    """Refuse to send credentials in plain text.

    differs from client-go, which silently omits them over plain HTTP, wherever the server is.
    """
    if config.sends_authorization and exposes_credentials(config):
        yield EXPOSED_CREDENTIALS


def _exec(config: Config) -> Iterator[str]:
    plugin = config.exec
    if plugin is None:
        return
    if not plugin.command:
        yield "exec.command: is missing; name the program that prints the credentials"
    if plugin.api_version not in EXEC_VERSIONS:
        actual = f"not {quote(plugin.api_version)}" if plugin.api_version else "and is missing"
        yield f"exec.api_version: must be {' or '.join(EXEC_VERSIONS)}, {actual}"
    if plugin.interactive_mode not in INTERACTIVE_MODES:
        actual = quote(plugin.interactive_mode)
        yield f"exec.interactive_mode: must be one of {', '.join(INTERACTIVE_MODES)}, not {actual}"


def _oidc(config: Config) -> Iterator[str]:
    oidc = config.oidc
    if oidc is None:
        return
    if not oidc.client_id:
        yield "oidc.client_id: is missing"
    if oidc.ca_file and oidc.ca_data:
        yield "oidc.ca_file: given together with ca_data; keep one of them"
    if not oidc.issuer:
        yield "oidc.issuer: is missing"
        return
    try:
        address = split_address(oidc.issuer)
    except ValueError as error:
        yield f"oidc.issuer: {error}"
        return
    if address.scheme not in _SERVER_SCHEMES:
        yield f"oidc.issuer: the scheme must be https, not {quote(address.scheme)}"
    if address.scheme == "http" and not address.is_loopback and not config.allow_plain_http:
        yield "oidc.issuer: uses plain HTTP and is not on this machine; use https, or pass allow_plain_http=True"


def _impersonation(config: Config) -> Iterator[str]:
    other = config.impersonate
    # The API server rejects groups without a user.
    if other is not None and not other.user:
        yield "impersonate.user: is missing; uid, groups and extra need a user"


def _proxy(config: Config) -> Iterator[str]:
    if not config.proxy_url:
        return
    try:
        address = split_address(config.proxy_url)
    except ValueError as error:
        yield f"proxy_url: {error}"
        return
    if address.scheme not in PROXY_SCHEMES:
        yield f"proxy_url: the scheme must be one of {', '.join(PROXY_SCHEMES)}, not {quote(address.scheme)}"
    if problem := _problem_behind_host(config.proxy_url):
        yield f"proxy_url: {problem}"


def _namespace(config: Config) -> Iterator[str]:
    if problem := problem_with_dns1123_label(config.namespace):
        yield f"namespace: {quote(config.namespace)} {problem}"


def _problem_behind_host(url: str) -> str:
    """Check path, query and fragment of a URL: a password with special characters ends up there."""
    parts = urlsplit(url)
    # An unescaped slash in the password ends the host early; the message must not repeat it.
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return "has an @ behind the host; if a password contains / ? or #, write them as %2F %3F %23"
    return "must end with its path; take away what begins with ? or #" if parts.query or parts.fragment else ""


def _address(url: str) -> Address | None:
    try:
        return split_address(url)
    except ValueError:
        return None


_CHECKS: Final[tuple[Callable[[Config], Iterator[str]], ...]] = (
    _server,
    _tls,
    _credentials,
    _secrecy,
    _exec,
    _oidc,
    _impersonation,
    _proxy,
    _namespace,
)
