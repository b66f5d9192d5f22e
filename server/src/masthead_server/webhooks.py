"""Webhooks: calls over HTTPS to servers that clients have configured, with the errors of Go's HTTP client."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from masthead._meta.quoting import quoted
from masthead._meta.tls import make_client_context

if TYPE_CHECKING:
    from aiohttp import ClientResponse

__all__ = ["Webhook", "WebhookError", "call_webhook"]

_TIMEOUT: Final = 30.0
"""Seconds for a call, in real time whatever the server's clock: the other side lives in real time."""
_MOST_BYTES: Final = 64 * 1024 * 1024
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
"""What a client of Kubernetes says about the codes of a response that has no Status."""
_HEADERS: Final = {
    "User-Agent": "kube-apiserver-admission",
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
}


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
    # Imported with the first call: the client side of aiohttp is large.
    import aiohttp

    parts = urlsplit(webhook.url)
    query = "&".join(filter(None, (parts.query, f"timeout={_TIMEOUT:g}s")))
    url = urlunsplit(parts._replace(query=query))
    target, name = url, None
    if webhook.address is not None:
        host, port = webhook.address
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        target, name = urlunsplit(parts._replace(netloc=place, query=query)), parts.hostname
    try:
        async with (
            asyncio.timeout(_TIMEOUT),
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=_trust(webhook))) as session,
            session.post(target, data=body, headers=_HEADERS, server_hostname=name) as response,
        ):
            return await _read(response)
    except TimeoutError:
        problem = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
        problem = _problem(error)
    raise WebhookError(f'Post "{url}": {problem}')


def _trust(webhook: Webhook) -> ssl.SSLContext:
    try:
        return make_client_context(webhook.ca_bundle or None)
    except ssl.SSLError:
        raise WebhookError("unable to load root certificates: unable to parse bytes as PEM block") from None


async def _read(response: ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise WebhookError(f"http: response body too large: more than {_MOST_BYTES} bytes")
    if response.status in _OK:
        return bytes(body)
    if meaning := _MEANINGS.get(response.status):
        raise WebhookError(meaning)
    if response.status >= _SERVER_ERRORS:
        said = bytes(body[:2048]).decode("utf-8", "replace")
        raise WebhookError(f"an error on the server ({quoted(said)}) has prevented the request from succeeding")
    raise WebhookError(
        f"the server responded with the status code {response.status} but did not return more information"
    )


def _problem(error: Exception) -> str:
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = error.certificate_error
        is_unknown = isinstance(reason, ssl.SSLCertVerificationError) and "hostname" not in str(reason).lower()
        detail = "certificate signed by unknown authority" if is_unknown else str(reason)
        return f"tls: failed to verify certificate: x509: {detail}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        code = error.os_error.errno
        reason_text = os.strerror(code).lower() if code else str(error.os_error)
        return f"dial tcp {error.host}:{error.port}: connect: {reason_text}"
    return "EOF" if isinstance(error, aiohttp.ServerDisconnectedError) else str(error)
