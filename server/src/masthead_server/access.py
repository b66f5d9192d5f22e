"""Authentication, before the body is read: bearer tokens, and the hosts for clients without one."""

from __future__ import annotations

import base64
import re
import secrets
from enum import Enum
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote_to_bytes

from masthead._meta.quoting import quoted
from masthead_server.wire.failures import StatusFailure, details_of, qualified

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.hosts import AllowedHosts
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["AccessControl", "token_path"]

_PATH_PREFIX: Final = "/~"
"""Before a token in a path."""
_TOKEN_SEGMENT: Final = re.compile(r"^(/+(?:~|%7e))[^/]+", re.IGNORECASE)
_OPEN: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""Paths that need no authentication."""


class _Credential(Enum):
    """How a client presents the token."""

    BEARER = "bearer"
    PASSWORD = "password"
    NONE = ""


def token_path(token: str) -> str:
    """The path that authenticates whatever is behind it.

    Go's clients send no token without TLS, but they put the path of the server's address before every other. A password
    in the address would not do, because their WebSockets refuse it.
    """
    return f"{_PATH_PREFIX}{quote(token, safe='')}"


class AccessControl:
    """Authenticates requests.

    Args:
        token: The bearer token; None to accept every request.
        hosts: The host names that clients may use without a bearer token.
    """

    def __init__(self, token: str | None, hosts: AllowedHosts) -> None:
        self._token = token.encode() if token is not None else None
        self._hosts = hosts

    def path_without_token(self, path: str) -> str | None:
        """The path behind a token; None for a path without one, or with a wrong one.

        Args:
            path: The escaped path, as received.
        """
        if self._token is None or not path.startswith(_PATH_PREFIX):
            return None
        # The token is one segment, and everything behind it is the path.
        shown, _, rest = path.removeprefix(_PATH_PREFIX).partition("/")
        return f"/{rest}" if self._is_token(unquote_to_bytes(shown)) else None

    def redact(self, path: str) -> str:
        """Mask the segment in the place of a token; no path of the API begins like that.

        A token that is wrong in one character is a secret still.
        """
        return _TOKEN_SEGMENT.sub(r"\1REDACTED", path)

    def check(
        self,
        request: ApiRequest,
        info: RequestInfo,
        headers: Callable[[str], list[str]],
        *,
        had_token: bool = False,
    ) -> bool:
        """Authenticate a request; returns whether its body may be read.

        No browser adds a bearer token. So hosts and origins are checked only of requests without
        one, because none is needed, or because a browser may have remembered the token as a password.

        Args:
            request: The request without its body.
            info: What it is about.
            headers: Returns all values of a header.
            had_token: Whether its path had the token, which no web page knows.

        Raises:
            StatusFailure: If the request is refused.
        """
        if had_token:
            return True
        is_open = request.path.rstrip("/") in _OPEN
        if self._token is not None:
            credential = self._credential(request)
            if credential is _Credential.BEARER:
                return True
            # Health and version are public in kube-apiserver, too.
            if credential is _Credential.NONE and is_open:
                return False  # open to everyone, but without a body
            if credential is _Credential.NONE:
                raise _anonymous(request, info)
        if not is_open:
            self._hosts.check(headers("Host"), headers("Origin"))
        return True

    def _credential(self, request: ApiRequest) -> _Credential:
        shown = request.headers.get("authorization", "")
        scheme, _, token = shown.partition(" ")
        # A wrong bearer token is refused, even where none is needed: the client expects to be someone.
        if scheme.lower() == "bearer" and token.strip():
            if self._is_token(_bytes_of(token.strip())):
                return _Credential.BEARER
            raise StatusFailure(401, "Unauthorized", "Unauthorized")
        # A wrong password counts as none: kube-apiserver ignores passwords.
        return _Credential.PASSWORD if self._is_token(_password(shown)) else _Credential.NONE

    def _is_token(self, shown: bytes) -> bool:
        # In constant time, whatever the number of equal bytes.
        return self._token is not None and secrets.compare_digest(shown, self._token)


def _bytes_of(text: str) -> bytes:
    """Encode a header; lone surrogates represent bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _password(authorization: str) -> bytes:
    """The password of basic authentication, in which Go's clients send a token where there is no TLS."""
    scheme, _, shown = authorization.partition(" ")
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(shown.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""


def _anonymous(request: ApiRequest, info: RequestInfo) -> StatusFailure:
    """The refusal of a request without a token, which kube-apiserver treats as the anonymous user's."""
    user = 'User "system:anonymous" cannot'
    if not info.resource:
        message = f'forbidden: {user} {info.verb} path "{request.path}"'
        return StatusFailure(403, "Forbidden", message, details={})
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    where = f'in the namespace "{info.namespace}"' if info.namespace else "at the cluster scope"
    subject = f"{qualified(info.group, info.resource)}{f' {quoted(info.name)}' if info.name else ''}"
    message = f'{subject} is forbidden: {user} {info.verb} resource "{resource}" in API group "{info.group}" {where}'
    return StatusFailure(403, "Forbidden", message, details=details_of(info.name, info.group, info.resource))
