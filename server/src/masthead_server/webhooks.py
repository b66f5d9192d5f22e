"""Webhooks: calls over HTTPS to servers that clients have configured, with the errors of Go's HTTP client."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit, urlunsplit

import msgspec

from masthead._meta.quoting import quoted
from masthead._meta.tls import NO_CHECK_TIME, make_client_context
from masthead_server.web.client import MalformedResponseError, TruncatedResponseError, dial, encode_request, exchange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime
    from urllib.parse import SplitResult

    from masthead_server.web.byte_stream import TargetConnection
    from masthead_server.web.client import ClientResponse

__all__ = ["Webhook", "WebhookError", "call_webhook"]

_TIMEOUT: Final = 30.0
"""Seconds for a call, in real time whatever the server's clock: the other side lives in real time."""
_MAX_BYTES: Final = 64 * 1024 * 1024
"""The longest response that is read."""
_MAX_TOTAL_BYTES: Final = 4 * _MAX_BYTES
"""Bytes of all responses that are being read at the same time."""
_MAX_QUOTED_BYTES: Final = 2048
"""Bytes of a response that a message quotes."""
_OK: Final = range(200, 207)
_MAX_REDIRECTS: Final = 10
_MAX_RETRIES: Final = 10
"""Further attempts, if the responses ask for them with a Retry-After header."""
_MAX_DELAY_DIGITS: Final = 6
_TOO_MANY_REQUESTS: Final = 429
_KEEPING_REDIRECTS: Final = frozenset({307, 308})
_REDIRECTS: Final = frozenset({301, 302, 303, *_KEEPING_REDIRECTS})
"""Codes of redirects that Go's client follows; most of them make a GET of the request."""
_SERVER_ERRORS: Final = 500
_UNKNOWN: Final = "unknown"
_NOT_ACCEPTABLE: Final = 406
_MEANINGS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
"""Messages of Go's Kubernetes client for the codes of a response without a Status."""
_QUOTING: Final = frozenset({403, 415})
"""Codes for which the message is the text of the response."""
_HOSTNAME_MISMATCH: Final = 62
_IP_MISMATCH: Final = 64
_EXPIRED: Final = 10
_CERTIFICATE_PROBLEMS: Final = {
    9: "certificate is not yet valid",
    _EXPIRED: "certificate has expired or is not yet valid",
}
"""Messages by the codes of OpenSSL's verification; for all others, the authority is unknown."""
_BODY_PROBLEM: Final = "unexpected error when reading response body. Please retry. Original error: "
_HEADERS: Final = (
    ("User-Agent", "kube-apiserver-admission"),
    ("Accept", "application/json, */*"),
    ("Content-Type", "application/json"),
)


class WebhookError(Exception):
    """A call has failed; the message is that of Go's HTTP client."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where a webhook is.

    Attributes:
        url: Its URL.
        ca_bundle: The certificates to trust, in PEM; empty for those of the system.
        resolve: Returns the host and port to connect to, if the URL's are those of a Service; raises LookupError if
            there is no such Service.
        now: The time of a virtual clock, which decides whether a certificate has expired; None for the real time.
    """

    url: str
    ca_bundle: str = ""
    resolve: Callable[[], tuple[str, int]] | None = None
    now: Callable[[], datetime] | None = None


async def call_webhook(
    webhook: Webhook, body: bytes, *, seconds: float = _TIMEOUT, max_bytes: int = _MAX_BYTES
) -> bytes:
    """Post JSON to a webhook; return the body of its response.

    Args:
        webhook: The webhook.
        body: The body of the request.
        seconds: The timeout of the whole call.
        max_bytes: The size limit of the response.

    Raises:
        WebhookError: If there is no response in time, or if it is an error or too long.
    """
    try:
        parts = urlsplit(webhook.url)
    except ValueError:  # characters that no name of a host has
        raise WebhookError(f"Post {quoted(webhook.url)}: dial tcp: lookup: no such host") from None
    query = "&".join(filter(None, (parts.query, f"timeout={seconds:g}s")))
    call = _Call(webhook, "POST", urlunsplit(parts._replace(query=query)), body, max_bytes)
    try:
        async with asyncio.timeout(seconds):
            while isinstance(outcome := await call.send(), _Call):
                call = outcome
            return outcome
    except TimeoutError:
        problem = "context deadline exceeded"
    except TruncatedResponseError:
        problem = "unexpected EOF" if call.is_reading else "EOF"
    except MalformedResponseError as error:
        broken = "net/http: HTTP/1.x transport connection broken: malformed HTTP response"
        problem = f"{broken} {quoted(error.line)}" if error.line else f"{broken}: {error}"
    raise WebhookError(f"{_BODY_PROBLEM}{problem}" if call.is_reading else call.explain(problem))


class _Call:
    """One request to a webhook, or to where it redirects.

    Args:
        webhook: The webhook.
        method: The method.
        url: The URL, with the timeout in its query.
        body: The body; empty after a redirect that drops it.
        max_bytes: The size limit of the response.
        redirects: How many further redirects are followed.

    Attributes:
        is_reading: Whether the head of the response has arrived.
    """

    def __init__(
        self,
        webhook: Webhook,
        method: str,
        url: str,
        body: bytes,
        max_bytes: int,
        *,
        redirects: int = _MAX_REDIRECTS,
    ) -> None:
        self.is_reading = False
        self._redirects = redirects
        self._retries = _MAX_RETRIES
        self._webhook = webhook
        self._method = method
        self._url = url
        self._body = body
        self._max_bytes = max_bytes

    def explain(self, problem: str) -> str:
        """Return the message of Go's client about a request without a response."""
        return f'{self._method.capitalize()} "{self._url}": {problem}'

    async def send(self) -> bytes | _Call:
        """Send it; return the body of the response, or the next request: a redirect, or another attempt.

        Raises:
            WebhookError: If there is no connection, or if the response is an error or too long.
        """
        parts = urlsplit(self._url)
        head = encode_request(
            self._method,
            urlunsplit(("", "", parts.path or "/", parts.query, "")),
            [
                ("Host", parts.netloc.rpartition("@")[2]),
                *_HEADERS,
                ("Content-Length", str(len(self._body))),
                ("Connection", "close"),
            ],
        )
        connection = await self._connect()
        async with exchange(connection, self._method, head, _one_piece(self._body)) as response:
            self.is_reading = True
            location = response.headers.get("location")
            if response.code in _REDIRECTS and location:
                return self._follow(response.code, location)
            delay = _read_retry_after(response)
            if delay is None or not self._retries:
                return await _read(response, self._max_bytes)
        self.is_reading = False
        self._retries -= 1
        await asyncio.sleep(delay)
        return self

    def _follow(self, code: int, location: str) -> _Call:
        if not self._redirects:
            raise WebhookError(self.explain(f"stopped after {_MAX_REDIRECTS} redirects"))
        keeps_method = code in _KEEPING_REDIRECTS
        method, body = (self._method, self._body) if keeps_method else ("GET", b"")
        # Bytes that are no UTF-8 fit into no message.
        location = location.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        try:
            url = urljoin(self._url, location)
            urlsplit(url).port  # noqa: B018 - raises if there is no such port
        except ValueError as error:
            raise WebhookError(self.explain(f"failed to parse Location header {quoted(location)}: {error}")) from None
        return _Call(self._webhook, method, url, body, self._max_bytes, redirects=self._redirects - 1)

    async def _connect(self) -> TargetConnection:
        webhook, parts = self._webhook, urlsplit(self._url)
        host, port = parts.hostname or "", _port_of(parts)
        tls = _trust(webhook) if parts.scheme == "https" else None
        address = host, port
        try:
            # A Service has an address here, but its certificate bears the name of the URL.
            if webhook.resolve and parts.netloc == urlsplit(webhook.url).netloc:
                address = webhook.resolve()
        except LookupError as error:
            raise WebhookError(self.explain(error.args[0])) from None
        try:
            connection = await dial(*address, tls, host)
            if webhook.now is None or not _has_expired(connection, webhook.now()):
                return connection
            connection.release()
            problem = f"tls: failed to verify certificate: x509: {_CERTIFICATE_PROBLEMS[_EXPIRED]}"
        except ssl.SSLCertVerificationError as error:
            problem = await _explain_certificate(error, address, webhook, host)
        except OSError as error:
            problem = _explain_dial(error, *address)
        except UnicodeError:  # a name that no resolver can be asked for
            problem = f"dial tcp: lookup {host}: no such host"
        raise WebhookError(self.explain(problem))


def _port_of(parts: SplitResult) -> int:
    """Return the port of a URL; 0, on which nothing listens, for an invalid port."""
    try:
        return parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return 0


def _read_retry_after(response: ClientResponse) -> int | None:
    """Return the seconds after which to try again; None if a response does not ask for it."""
    if response.code != _TOO_MANY_REQUESTS and response.code < _SERVER_ERRORS:
        return None
    value = response.headers.get("retry-after") or ""
    # A longer delay than any timeout is no attempt at all.
    return int(value) if value.isascii() and value.isdigit() and len(value) < _MAX_DELAY_DIGITS else None


async def _one_piece(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _trust(webhook: Webhook) -> ssl.SSLContext:
    try:
        return _client_context(webhook.ca_bundle, checks_time=webhook.now is None)
    except ssl.SSLError:
        raise WebhookError("unable to load root certificates: unable to parse bytes as PEM block") from None


@functools.lru_cache(maxsize=64)
def _client_context(bundle: str, *, checks_time: bool) -> ssl.SSLContext:
    # Cached, because every request to a webhook needs one, and parsing certificates takes longer than a handshake.
    context = make_client_context(bundle or None)
    if not checks_time:
        context.verify_flags |= NO_CHECK_TIME
    return context


def _has_expired(connection: TargetConnection, now: datetime) -> bool:
    """Whether the certificate of the other side has expired at a virtual time.

    The beginning of its validity does not count, as webhooks that run outside of the virtual time have certificates of
    the real one.
    """
    end = connection.peer_certificate.get("notAfter")
    return end is not None and ssl.cert_time_to_seconds(end) <= now.timestamp()


class _ReadBudget:
    """Counts the bytes of the responses that are being read, of all calls together."""

    def __init__(self) -> None:
        self.used = 0


_budget: Final = _ReadBudget()


async def _read(response: ClientResponse, max_bytes: int) -> bytes:
    body = bytearray()
    try:
        async for chunk in response:
            body += chunk
            _budget.used += len(chunk)
            if len(body) > max_bytes or _budget.used > _MAX_TOTAL_BYTES:
                raise WebhookError(f"http: response body too large: more than {max_bytes} bytes")
    finally:
        _budget.used -= len(body)
    media_type = (response.headers.get("content-type") or "").partition(";")[0].strip()
    if response.code not in _OK:
        raise WebhookError(_explain_code(response.code, media_type, bytes(body)))
    if not body:
        # Go's client assumes the media type of its request.
        found = f"{response.code} and content type: {media_type or 'application/json'}"
        raise WebhookError(f"0-length response with status code: {found}")
    return bytes(body)


def _explain_code(code: int, media_type: str, body: bytes) -> str:
    """Explain an error as Go's Kubernetes client does: by the Status in the body, or by the code."""
    message = _read_status(body)
    if message is not None:
        return message
    is_text = not media_type or media_type.startswith("text/")
    text = body[:_MAX_QUOTED_BYTES].decode("utf-8", "replace").strip() if is_text else _UNKNOWN
    if code in _QUOTING or (code == _NOT_ACCEPTABLE and text not in {"", _UNKNOWN}):
        return text
    if meaning := _MEANINGS.get(code):
        return meaning
    if code >= _SERVER_ERRORS:
        return f"an error on the server ({quoted(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"


def _read_status(body: bytes) -> str | None:
    """Return the message of a Status; None if a body is no failed one."""
    try:
        found = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_failure = found.kind == "Status" and found.apiVersion == "v1" and found.status != "Success"
    return found.message if is_failure else None


class _Status(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""  # noqa: N815 - as in JSON
    status: str = ""
    message: str = ""


async def _explain_certificate(
    error: ssl.SSLCertVerificationError, address: tuple[str, int], webhook: Webhook, host: str
) -> str:
    """Explain as Go's client does why a certificate is refused."""
    if error.verify_code not in {_HOSTNAME_MISMATCH, _IP_MISMATCH}:
        detail = _CERTIFICATE_PROBLEMS.get(error.verify_code, "certificate signed by unknown authority")
        return f"tls: failed to verify certificate: x509: {detail}"
    names = await _fetch_names(address, webhook, host)
    kind = "IP Address" if error.verify_code == _IP_MISMATCH else "DNS"
    fitting = [value for name, value in names if name == kind]
    if kind == "IP Address":
        # OpenSSL writes out all groups of an IPv6 address.
        fitting = [str(ipaddress.ip_address(value)) for value in fitting]
    detail = f"certificate is valid for {', '.join(fitting)}, not {host}"
    if not fitting and kind == "IP Address":
        detail = f"cannot validate certificate for {host} because it doesn't contain any IP SANs"
    elif not fitting:
        detail = f"certificate is not valid for any names, but wanted to match {host}"
    return f"tls: failed to verify certificate: x509: {detail}"


async def _fetch_names(address: tuple[str, int], webhook: Webhook, host: str) -> list[tuple[str, str]]:
    """Return the names of a certificate for another host, which only a second connection can tell."""
    context = make_client_context(webhook.ca_bundle or None)
    context.check_hostname = False
    if webhook.now is not None:
        context.verify_flags |= NO_CHECK_TIME
    try:
        connection = await dial(*address, context, host)
    except OSError:
        return []
    certificate = connection.peer_certificate
    connection.release()
    return [(str(kind), str(value)) for kind, value in certificate.get("subjectAltName", ())]


def _explain_dial(error: OSError, host: str, port: int) -> str:
    """Explain as Go's client does why there is no connection."""
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, ssl.SSLError):
        # OpenSSL's reason for bytes that are no record of TLS.
        is_plain = error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"}
        return "tls: first record does not look like a TLS handshake" if is_plain else str(error)
    if not error.errno:
        return "EOF" if isinstance(error, ConnectionError) else str(error)
    return f"dial tcp {host}:{port}: connect: {os.strerror(error.errno).lower()}"
