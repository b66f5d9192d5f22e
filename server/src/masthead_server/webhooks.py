"""Webhooks: calls over HTTPS to servers that clients have configured, with the errors of Go's HTTP client."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from masthead._meta.quoting import quoted
from masthead._meta.tls import make_client_context
from masthead_server.web.client import MalformedResponseError, TruncatedResponseError, dial, encode_request, exchange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead_server.web.client import ClientResponse

__all__ = ["Webhook", "WebhookError", "call_webhook"]

_TIMEOUT: Final = 30.0
"""Seconds for a call, in real time whatever the server's clock: the other side lives in real time."""
_MAX_BYTES: Final = 64 * 1024 * 1024
"""The longest response that is read."""
_OK: Final = range(200, 207)
_SERVER_ERRORS: Final = 500
_MEANINGS: Final = {
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
"""Messages of Go's Kubernetes client for the codes of a response without a Status."""
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
        address: The host and port to connect to, if the URL's are those of a service; otherwise None.
    """

    url: str
    ca_bundle: str = ""
    address: tuple[str, int] | None = None


async def call_webhook(webhook: Webhook, body: bytes) -> bytes:
    """Post JSON to a webhook; returns the body of its response.

    Raises:
        WebhookError: If there is no response in time, or if it is an error or too long.
    """
    parts = urlsplit(webhook.url)
    query = "&".join(filter(None, (parts.query, f"timeout={_TIMEOUT:g}s")))
    url = urlunsplit(parts._replace(query=query))
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    # A service has an address here, but its certificate bears the name of the URL.
    address = webhook.address or (host, port)
    tls = _trust(webhook) if parts.scheme == "https" else None
    head = encode_request(
        "POST",
        urlunsplit(("", "", parts.path or "/", query, "")),
        [
            ("Host", parts.netloc.rpartition("@")[2]),
            *_HEADERS,
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ],
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            try:
                connection = await dial(*address, tls, host)
            except OSError as error:
                raise WebhookError(f'Post "{url}": {_explain_dial(error, *address)}') from None
            async with exchange(connection, "POST", head, _one_piece(body)) as response:
                return await _read(response)
    except TimeoutError:
        problem = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    except TruncatedResponseError:
        problem = "EOF"
    except MalformedResponseError as error:
        problem = f"net/http: HTTP/1.x transport connection broken: malformed HTTP response: {error}"
    raise WebhookError(f'Post "{url}": {problem}')


async def _one_piece(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _trust(webhook: Webhook) -> ssl.SSLContext:
    try:
        return make_client_context(webhook.ca_bundle or None)
    except ssl.SSLError:
        raise WebhookError("unable to load root certificates: unable to parse bytes as PEM block") from None


async def _read(response: ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response:
        body += chunk
        if len(body) > _MAX_BYTES:
            raise WebhookError(f"http: response body too large: more than {_MAX_BYTES} bytes")
    if response.code in _OK:
        return bytes(body)
    if meaning := _MEANINGS.get(response.code):
        raise WebhookError(meaning)
    if response.code >= _SERVER_ERRORS:
        # The message of a webhook goes into a Status.
        text = bytes(body[:2048]).decode("utf-8", "replace")
        raise WebhookError(f"an error on the server ({quoted(text)}) has prevented the request from succeeding")
    raise WebhookError(f"the server responded with the status code {response.code} but did not return more information")


def _explain_dial(error: OSError, host: str, port: int) -> str:
    """Explain as Go's client does why there is no connection."""
    if isinstance(error, ssl.SSLCertVerificationError):
        # Python reports a wrong name and an unknown authority with the same exception.
        is_unknown = "hostname" not in str(error).lower()
        detail = "certificate signed by unknown authority" if is_unknown else str(error)
        return f"tls: failed to verify certificate: x509: {detail}"
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, ssl.SSLError) or not error.errno:
        return str(error)
    return f"dial tcp {host}:{port}: connect: {os.strerror(error.errno).lower()}"
