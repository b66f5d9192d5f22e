"""What went wrong between us and a server, in our words.

Only what the library's errors say of the operating system is kept as a cause: their own reprs may hold the request's
headers, and with them credentials.
"""

from __future__ import annotations

import errno
import os
import ssl
import zlib
from typing import TYPE_CHECKING, Final, TypeVar

import aiohttp

from masthead.errors import ConnectError, DeadlineError, ProtocolError, TransportError
from masthead.transport.socks import SocksError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.transport.contract import Request
    from masthead.transport.proxy import Proxy

__all__ = ["Failures", "LostError"]

_ErrorT = TypeVar("_ErrorT", bound=TransportError)

_PROXY_WANTS_A_PASSWORD: Final = 407

_BROKE_OFF: Final = "broke off while the connection was made; check that the API server listens on that port"
_BY_ERRNO: Final = {
    errno.ECONNREFUSED: "refused the connection; check that the API server runs there and that the port is right",
    errno.ECONNRESET: _BROKE_OFF,
    errno.EHOSTUNREACH: "cannot be reached; check the network, a VPN, or whether a proxy is needed",
    errno.ENETUNREACH: "cannot be reached; check the network, a VPN, or whether a proxy is needed",
    errno.ETIMEDOUT: "does not answer; check the network, a VPN, or whether a proxy is needed",
    errno.EMFILE: "was not tried: this process has too many open files; raise its limit (ulimit -n)",
}

# OpenSSL's X509_V_ERR_* numbers.
_UNKNOWN_AUTHORITY: Final = "is signed by an authority that is not trusted; set certificate-authority (ca_file, ca_data) to the cluster's"
_OTHER_NAME: Final = "is for another name; use one of its names as the address, or set tls-server-name"
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

# Parts of OpenSSL's reasons, the first that fits counts.
_OUR_CERTIFICATE: Final = (
    "does not accept our client certificate, or wants one; check client-certificate and client-key"
)
_BY_TLS_REASON: Final = {
    "WRONG_VERSION_NUMBER": "does not speak TLS; perhaps its address begins with http://",
    "CERTIFICATE_REQUIRED": _OUR_CERTIFICATE,
    "BAD_CERTIFICATE": _OUR_CERTIFICATE,
    "CERTIFICATE_EXPIRED": _OUR_CERTIFICATE,
    "UNKNOWN_CA": _OUR_CERTIFICATE,
    "ALERT_HANDSHAKE_FAILURE": _OUR_CERTIFICATE,
    "PROTOCOL_VERSION": "speaks no version of TLS that we do",
}


class LostError(aiohttp.ClientError):
    """A connection was lost under a request that must not be sent twice.

    Attributes:
        error: How it was lost.
    """

    def __init__(self, error: aiohttp.ClientError) -> None:
        super().__init__()
        self.error = error


class Failures:
    """Turns the HTTP library's errors into ours.

    Args:
        server: The server's ``host:port``.
        proxy: Through whom it is reached, if through anybody.
        connect_timeout: How many seconds connecting may take.
    """

    def __init__(self, server: str, proxy: Proxy | None, connect_timeout: float) -> None:
        self.server = server
        self._via = f" through the proxy {proxy.place}" if proxy is not None else ""
        self._connect_timeout = connect_timeout
        # The first that fits counts, so the special ones stand first.
        self._explanations: tuple[tuple[type[Exception], Callable[..., TransportError]], ...] = (
            (aiohttp.ConnectionTimeoutError, self._not_connected),
            (aiohttp.SocketTimeoutError, self._silent),
            (SocksError, self._no_socks),
            (aiohttp.ClientConnectorCertificateError, self._untrusted),
            (aiohttp.ClientConnectorSSLError, self._no_tls),
            (aiohttp.ClientConnectorDNSError, self._no_name),
            (aiohttp.ClientProxyConnectionError, self._no_proxy),
            (aiohttp.ClientConnectorError, self._no_socket),
            (aiohttp.ClientHttpProxyError, self._no_tunnel),
            (aiohttp.ClientResponseError, self._not_http),
            (aiohttp.ServerDisconnectedError, self._hung_up),
            (TimeoutError, self._late),
        )

    def what(self, request: Request) -> str:
        """The request, as messages name it."""
        return f"{request.method} {_path(request)}"

    def sending(self, error: Exception, request: Request) -> TransportError:
        """Why no answer came."""
        if isinstance(error, LostError):
            error = error.error
        for kind, explain in self._explanations:
            if isinstance(error, kind):
                return explain(error, request)
        return self._lost(error, request)

    def reading(self, error: Exception, request: Request) -> TransportError:
        """Why the body did not come to its end."""
        if isinstance(error, aiohttp.SocketTimeoutError):
            return self._silent(error, request)
        if isinstance(error, TimeoutError):
            return self._late(error, request)
        if isinstance(error, zlib.error):
            problem = (
                f"what {self.server} compressed cannot be unpacked ({error}); disable-compression may help"
            )
        else:
            problem = (
                f"the answer of {self.server}{self._via} was cut short or garbled{_detail(error)}; ask again"
            )
        return self._make(ProtocolError, problem, request, _cause(error))

    def crowded(self, request: Request, connections: int) -> ConnectError:
        """Every connection that may be opened was in use for too long."""
        return self._make(
            ConnectError,
            f"all {connections} connections to {self.server} were in use for {self._connect_timeout:g} s;"
            " close streams that are not needed, or allow more connections",
            request,
        )

    def out_of_time(self, request: Request) -> DeadlineError:
        """The caller's time was over before anything was sent."""
        return self._make(DeadlineError, "not sent: no time was left for it", request)

    def unknown_packing(self, encoding: str, request: Request) -> ProtocolError:
        """The answer is compressed in a way that nobody asked for."""
        problem = f"{self.server} answered in the encoding {encoding!r}, which was not asked for"
        return self._make(ProtocolError, f"{problem}; look for a proxy that changes answers", request)

    def _make(
        self,
        kind: type[_ErrorT],
        problem: str,
        request: Request,
        cause: BaseException | None = None,
    ) -> _ErrorT:
        made = kind(f"{self.what(request)}: {problem}", verb=request.method, url=_path(request))
        made.__cause__ = cause
        return made

    def _not_connected(self, error: Exception, request: Request) -> ConnectError:
        waited = f"no connection to {self.server}{self._via} within {self._connect_timeout:g} s"
        advice = "check the network, a VPN, or whether a proxy is needed; if the port is open, its TLS does not answer"
        return self._make(ConnectError, f"{waited}; {advice}", request, _cause(error))

    def _silent(self, error: Exception, request: Request) -> DeadlineError:
        waited = f"{self.server} sent nothing for {request.silence or 0:g} s"
        return self._make(
            DeadlineError, f"{waited}; the connection may be dead, so ask again", request, _cause(error)
        )

    def _late(self, error: Exception, request: Request) -> DeadlineError:
        waited = f"no complete answer from {self.server} within {request.total or 0:g} s"
        return self._make(
            DeadlineError, f"{waited}; allow more time, or ask for less", request, _cause(error)
        )

    def _untrusted(self, error: aiohttp.ClientConnectorCertificateError, request: Request) -> ConnectError:
        found = error.certificate_error
        problem = "cannot be verified"
        if isinstance(found, ssl.SSLCertVerificationError):
            problem = _BY_VERIFY_CODE.get(found.verify_code, f"cannot be verified: {found.verify_message}")
        return self._make(ConnectError, f"the certificate of {_place(error)} {problem}", request, found)

    def _no_tls(self, error: aiohttp.ClientConnectorError, request: Request) -> ConnectError:
        found = error.os_error
        reason = found.reason if isinstance(found, ssl.SSLError) else str(found)
        problem = _by_reason(reason) or f"did not agree on TLS ({reason})"
        return self._make(ConnectError, f"{_place(error)} {problem}", request, found)

    def _no_name(self, error: aiohttp.ClientConnectorDNSError, request: Request) -> ConnectError:
        problem = f"the name {error.host} cannot be resolved; check the address, the network, or a VPN"
        return self._make(ConnectError, problem, request, error.os_error)

    def _no_proxy(self, error: aiohttp.ClientProxyConnectionError, request: Request) -> ConnectError:
        problem = f"the proxy {_place(error)} cannot be reached{_detail(error)}; check proxy-url"
        return self._make(ConnectError, problem, request, error.os_error)

    def _no_socket(self, error: aiohttp.ClientConnectorError, request: Request) -> ConnectError:
        problem = _BY_ERRNO.get(error.errno or 0, f"cannot be reached{_detail(error)}; check the address")
        if isinstance(error.os_error, ConnectionResetError):  # asyncio's own have no number
            problem = _BROKE_OFF
        return self._make(ConnectError, f"{_place(error)} {problem}", request, error.os_error)

    def _no_tunnel(self, error: aiohttp.ClientHttpProxyError, request: Request) -> ConnectError:
        advice = "ask who runs it, or go without it"
        if error.status == _PROXY_WANTS_A_PASSWORD:
            advice = "write proxy-url as http://user:password@host:port, with the right ones"
        problem = f"refused to connect to {self.server} (HTTP {error.status}); {advice}"
        return self._make(ConnectError, f"{self._via.removeprefix(' through ')} {problem}", request)

    def _no_socks(self, error: SocksError, request: Request) -> ConnectError:
        return self._make(ConnectError, str(error), request, error.__cause__)

    def _not_http(self, error: aiohttp.ClientResponseError, request: Request) -> ProtocolError:  # noqa: ARG002
        problem = f"what {self.server}{self._via} answered is not HTTP, or its header is too long"
        return self._make(ProtocolError, f"{problem}; check that an API server listens there", request)

    def _hung_up(self, error: Exception, request: Request) -> ProtocolError:  # noqa: ARG002
        problem = f"{self.server}{self._via} closed the connection without an answer"
        return self._make(ProtocolError, f"{problem}; look whether the request was carried out", request)

    def _lost(self, error: Exception, request: Request) -> ProtocolError:
        refused = _by_reason(str(error)) if isinstance(error, OSError) else ""
        problem = (
            f"{self.server} {refused}"
            if refused
            else (
                f"the connection to {self.server}{self._via} was lost{_detail(error)}"
                "; look whether the request was carried out"
            )
        )
        return self._make(ProtocolError, problem, request, _cause(error))


def _path(request: Request) -> str:
    return request.target.partition("?")[0]


def _place(error: aiohttp.ClientConnectorError) -> str:
    host = f"[{error.host}]" if ":" in error.host else error.host
    return f"{host}:{error.port}"


def _by_reason(reason: str) -> str:
    return next((problem for part, problem in _BY_TLS_REASON.items() if part in reason), "")


def _detail(error: Exception) -> str:
    """What the operating system calls it, in brackets."""
    if isinstance(error, OSError) and error.errno:
        return f" ({os.strerror(error.errno)})"
    return ""


def _cause(error: Exception) -> BaseException | None:
    """What may be shown of where it came from."""
    cause = error.__cause__
    return cause if isinstance(cause, OSError) and not isinstance(cause, aiohttp.ClientError) else None
