"""Who may ask: a token that opens one session, and the checks of every request. Pure.

::

    the address has #token=T ──POST /session {token: T}──> S, and T is spent ──every request: Authorization: Bearer S

The fragment of an address never leaves the browser, so that the token is in no log and no Referer. The page keeps S
where only pages of the same host and port read it: a cookie would be sent to every port of this machine.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from masthead._config.address import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Gate", "RefusedError"]

_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z._-]+))(?::[0-9]*)?")
_SAME_SITE: Final = frozenset({"", "same-origin", "none"})


class RefusedError(Exception):
    """A request that is refused.

    Attributes:
        status: The status of the response.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Gate:
    """Checks requests, and opens sessions.

    Args:
        host: The host of the address; empty for every interface.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._host = host.lower()
        self._token: str | None = secrets.token_urlsafe(32)
        self._session = ""

    @property
    def token(self) -> str | None:
        """The token that opens the session; None once it is spent."""
        return self._token

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse what other pages send, under this host's name or under their own.

        Raises:
            RefusedError: If it does not come from the page.
        """
        host = headers.get("host", "")
        if not self._is_ours(host):
            raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "this host is not served here")
        origin = headers.get("origin", "")
        # Browsers send it with every POST; other programs need not.
        if origin and origin.lower() not in {f"http://{host.lower()}", f"https://{host.lower()}"}:
            raise RefusedError(HTTPStatus.FORBIDDEN, "requests of other pages are refused")
        if headers.get("sec-fetch-site", "") not in _SAME_SITE:
            raise RefusedError(HTTPStatus.FORBIDDEN, "requests of other pages are refused")

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this server, and no name that a page has pointed at it."""
        found = _HOST.fullmatch(host)
        name = "" if found is None else (found[1] or found[2]).lower()
        if is_loopback(name) or (self._host and name == self._host):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        # An address is not rebound. A server for this machine alone has no other address, though.
        return not is_loopback(self._host)

    def open(self, token: str) -> str:
        """Exchange the token for a session.

        Raises:
            RefusedError: If it is wrong or spent.
        """
        if self._token is None:
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "this address has been opened already: start masthead again for another one"
            )
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            raise RefusedError(HTTPStatus.FORBIDDEN, "the address is not the one that masthead has printed")
        # Spent: an address in a terminal's history, or over a shoulder, opens nothing.
        self._token, self._session = None, secrets.token_urlsafe(32)
        return self._session

    def check_session(self, headers: Mapping[str, str]) -> None:
        """Refuse requests without the session.

        Raises:
            RefusedError: If the session is missing or another one.
        """
        scheme, _, given = headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(given.encode(), self._session.encode())
        if not self._session or scheme.lower() != "bearer" or not is_right:
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "open the address that masthead has printed")
