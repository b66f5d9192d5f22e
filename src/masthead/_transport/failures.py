"""Faults of exchanges, and the errors that explain them.

Only errors of the operating system and of OpenSSL become causes. The parser's may repeat sent bytes,
and that may hold credentials.
"""

from __future__ import annotations

import enum
import errno
import os
import socket
import ssl
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._errors.base import format_seconds
from masthead.errors import (
    CertificateError,
    ConnectError,
    DeadlineError,
    ProtocolError,
    ResponseTooLargeError,
    TransportError,
)

if TYPE_CHECKING:
    import zlib

    from masthead._transport.contract import TransportRequest
    from masthead._transport.proxy import Proxy

__all__ = [
    "MAX_PAUSE",
    "DialError",
    "ErrorFactory",
    "TransportFault",
    "detail",
    "format_seconds",
    "unreachable",
]

_ErrorT = TypeVar("_ErrorT", bound=TransportError)

MAX_PAUSE: Final = 600.0
"""Seconds for which a live peer may read nothing behind an upgrade."""
_BROKE_OFF: Final = "closed the connection during the handshake; check that the API server listens on that port"
_BY_ERRNO: Final = {
    errno.ECONNREFUSED: "refused the connection; check that the API server runs there and that the port is right",
    errno.ECONNRESET: _BROKE_OFF,
    errno.EHOSTUNREACH: "cannot be reached; check the network, a VPN, or whether a proxy is needed",
    errno.ENETUNREACH: "cannot be reached; check the network, a VPN, or whether a proxy is needed",
    errno.ETIMEDOUT: "does not respond; check the network, a VPN, or whether a proxy is needed",
    errno.EMFILE: "was not tried: this process has too many open files; raise its limit (ulimit -n)",
}

# OpenSSL's X509_V_ERR_* numbers.
_UNKNOWN_AUTHORITY: Final = (
    "is signed by an authority that is not trusted; set certificate-authority (ca_file, ca_data) to the cluster's"
)
_OTHER_NAME: Final = (
    "is for another name; use one of its names as the address, or set tls-server-name. If it has only a common name, "
    "which does not count, have it reissued with a subject alternative name (SAN)"
)
_BY_VERIFY_CODE: Final = {
    9: "is not valid yet; check this machine's clock",
    10: "has expired; have it renewed, or check this machine's clock",
    18: _UNKNOWN_AUTHORITY,
    19: _UNKNOWN_AUTHORITY,
    20: _UNKNOWN_AUTHORITY,
    21: _UNKNOWN_AUTHORITY,
    62: _OTHER_NAME,
    64: _OTHER_NAME,
}

# Parts of OpenSSL's reasons; the first match counts.
_OUR_CERTIFICATE: Final = (
    "does not accept our client certificate, or requires one; check client-certificate and client-key"
)
_BY_TLS_REASON: Final = {
    "WRONG_VERSION_NUMBER": "does not speak TLS; perhaps its address begins with http://",
    "CERTIFICATE_REQUIRED": _OUR_CERTIFICATE,
    "BAD_CERTIFICATE": _OUR_CERTIFICATE,
    "CERTIFICATE_EXPIRED": _OUR_CERTIFICATE,
    "UNKNOWN_CA": _OUR_CERTIFICATE,
    "ALERT_HANDSHAKE_FAILURE": _OUR_CERTIFICATE,
    "PROTOCOL_VERSION": "supports no version of TLS that we do",
}


class TransportFault(enum.Enum):
    """Why an exchange failed after it had begun."""

    CLOSED = enum.auto()
    """We closed it ourselves."""
    HUNG_UP = enum.auto()
    """The peer closed the connection before the end of the head."""
    LOST = enum.auto()
    """The connection broke before the end of the head."""
    NOT_HTTP = enum.auto()
    """The bytes are not the head of a response."""
    CUT_SHORT = enum.auto()
    """The connection ended after the head, and before the end of the body."""
    READ_TIMEOUT = enum.auto()
    """The read timeout expired."""
    UNREAD = enum.auto()
    """The peer is alive, but reads nothing behind an upgrade."""
    LATE = enum.auto()
    """The timeout of the whole exchange expired."""
    TOO_LARGE = enum.auto()
    """The body exceeds the limit."""


class DialError(Exception):
    """Connecting failed. The message is ours, and holds no password.

    Attributes:
        cause: The error of the operating system or of OpenSSL, if there is one.
    """

    def __init__(self, problem: str, cause: OSError | None = None) -> None:
        super().__init__(problem)
        self.cause = cause


class ErrorFactory:
    """Creates the errors for one server.

    Args:
        server: The server's ``host:port``.
        proxy: The proxy; None for a direct connection.
        connect_timeout: The connect timeout in seconds.
        max_response_bytes: The maximum size of a body.
    """

    def __init__(self, server: str, proxy: Proxy | None, connect_timeout: float, max_response_bytes: float) -> None:
        self.server = server
        self.max_response_bytes = max_response_bytes
        self._via = f" through the proxy {proxy.place}" if proxy is not None else ""
        self._connect_timeout = connect_timeout
        self._explanations = {
            TransportFault.HUNG_UP: self._hung_up,
            TransportFault.LOST: self._lost,
            TransportFault.NOT_HTTP: self._not_http,
            TransportFault.CUT_SHORT: self._cut_short,
            TransportFault.READ_TIMEOUT: self._read_timeout,
            TransportFault.UNREAD: self._unread,
            TransportFault.LATE: self._late,
            TransportFault.TOO_LARGE: self._too_large,
        }

    def what(self, request: TransportRequest) -> str:
        """The request's name in messages."""
        return f"{request.method} {_path(request)}"

    def broken(self, fault: TransportFault, cause: OSError | None, request: TransportRequest) -> TransportError:
        """The error for a fault other than CLOSED."""
        return self._explanations[fault](request, cause)

    def not_dialled(self, error: DialError, request: TransportRequest) -> ConnectError:
        """The error for a failed dial."""
        is_certificate = isinstance(error.cause, ssl.SSLCertVerificationError)
        return self._make(CertificateError if is_certificate else ConnectError, str(error), request, error.cause)

    def not_connected(self, request: TransportRequest) -> ConnectError:
        """The connect timeout expired."""
        waited = f"no connection to {self.server}{self._via} within {self._connect_timeout:g} s"
        advice = "check the network, a VPN, or whether a proxy is needed; if the port is open, its TLS does not respond"
        return self._make(ConnectError, f"{waited}; {advice}", request)

    def pool_exhausted(self, request: TransportRequest, connections: int) -> ConnectError:
        """The connect timeout expired while waiting for the pool."""
        return self._make(
            ConnectError,
            f"all {connections} connections to {self.server} were in use until the connect timeout; "
            "make fewer concurrent calls, or allow more connections",
            request,
        )

    def out_of_time(self, request: TransportRequest) -> DeadlineError:
        """The deadline was over before anything was sent."""
        return self._make(DeadlineError, "not sent: its deadline is over", request)

    def unknown_encoding(self, encoding: str, request: TransportRequest) -> ProtocolError:
        """The response has a content encoding that was not requested."""
        problem = f"{self.server} responded in the encoding {encoding!r}, which was not requested"
        return self._make(ProtocolError, f"{problem}; look for a proxy that changes responses", request)

    def not_decompressed(self, error: zlib.error, request: TransportRequest) -> ProtocolError:
        """The body cannot be decompressed."""
        problem = f"the response of {self.server} cannot be decompressed ({error})"
        return self._make(ProtocolError, f"{problem}; disable-compression may help", request)

    def _make(
        self, kind: type[_ErrorT], problem: str, request: TransportRequest, cause: BaseException | None = None
    ) -> _ErrorT:
        made = kind(f"{self.what(request)}: {problem}", verb=request.method, url=_path(request))
        made.__cause__ = cause
        return made

    def _hung_up(self, request: TransportRequest, cause: OSError | None) -> ProtocolError:
        problem = f"{self.server}{self._via} closed the connection without a response"
        return self._make(ProtocolError, f"{problem}; check whether the request was carried out", request, cause)

    def _lost(self, request: TransportRequest, cause: OSError | None) -> ProtocolError:
        # OpenSSL reports an alert of the server, such as a rejected certificate, as a lost connection.
        refused = _by_reason(str(cause))
        problem = (
            f"{self.server} {refused}"
            if refused
            else (
                f"the connection to {self.server}{self._via} was lost{detail(cause)}"
                "; check whether the request was carried out"
            )
        )
        return self._make(ProtocolError, problem, request, cause)

    def _not_http(self, request: TransportRequest, cause: OSError | None) -> ProtocolError:
        problem = f"the response of {self.server}{self._via} is not HTTP, or its header is too long"
        return self._make(ProtocolError, f"{problem}; check that an API server listens there", request, cause)

    def _cut_short(self, request: TransportRequest, cause: OSError | None) -> ProtocolError:
        problem = f"the response of {self.server}{self._via} was cut short or garbled{detail(cause)}"
        return self._make(ProtocolError, f"{problem}; try again", request, cause)

    def _read_timeout(self, request: TransportRequest, cause: OSError | None) -> DeadlineError:
        waited = f"{self.server} sent nothing for {request.read_timeout or 0:g} s"
        return self._make(DeadlineError, f"{waited}; the connection may be dead, so try again", request, cause)

    def _unread(self, request: TransportRequest, cause: OSError | None) -> DeadlineError:
        problem = f"{self.server} has read nothing for {MAX_PAUSE:g} s of what waits for it"
        return self._make(
            DeadlineError,
            f"{problem}; look whether the process in the pod reads its input, or hangs",
            request,
            cause,
        )

    def _late(self, request: TransportRequest, cause: OSError | None) -> DeadlineError:
        waited = f"no complete response from {self.server} within {format_seconds(request.timeout or 0)} s"
        advice = "raise the timeout, or request less; if nothing arrives at all, check the network path to the server"
        return self._make(DeadlineError, f"{waited}; {advice}", request, cause)

    def _too_large(self, request: TransportRequest, cause: OSError | None) -> ResponseTooLargeError:
        problem = f"the response of {self.server} has more than {self.max_response_bytes:,.0f} bytes decompressed"
        advice = "request less at once (page_size, a selector), or raise max_response_bytes"
        return self._make(ResponseTooLargeError, f"{problem}; {advice}", request, cause)


def unreachable(place: str, error: OSError) -> str:
    """Why connecting to ``host:port`` failed, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = _BY_VERIFY_CODE.get(error.verify_code, f"cannot be verified: {error.verify_message}")
        return f"the certificate of {place} {problem}"
    if isinstance(error, ssl.SSLError):
        reason = str(error.reason or error)
        return f"{place} {_by_reason(reason) or f'did not agree on TLS ({reason})'}"
    if isinstance(error, socket.gaierror):
        name = place.rpartition(":")[0]
        return f"the name {name} cannot be resolved; check the address, the network, or a VPN"
    if error.errno is None and isinstance(error, ConnectionError):  # asyncio's own have no number
        return f"{place} {_BROKE_OFF}"
    problem = _BY_ERRNO.get(error.errno or 0, f"cannot be reached{detail(error)}; check the address")
    return f"{place} {problem}"


def detail(error: OSError | None) -> str:
    """The operating system's text for an error, in parentheses."""
    return f" ({os.strerror(error.errno)})" if error is not None and error.errno else ""


def _path(request: TransportRequest) -> str:
    return request.target.partition("?")[0]


def _by_reason(reason: str) -> str:
    return next((problem for part, problem in _BY_TLS_REASON.items() if part in reason), "")
