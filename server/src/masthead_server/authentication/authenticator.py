"""Authentication of requests, before the body is read: bearer tokens, passwords, tokens in paths."""

from __future__ import annotations

import base64
import re
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.user_info import ADMIN, ANONYMOUS

if TYPE_CHECKING:
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.user_info import UserInfo

__all__ = ["Identity", "RequestAuthenticator", "token_path"]

_PATH_PREFIX: Final = "/~"
"""Before a token in a path."""
_TOKEN_SEGMENT: Final = re.compile(r"^(/+(?:~|%7e))[^/]+", re.IGNORECASE)


def token_path(token: str) -> str:
    """The path that authenticates whatever is behind it.

    Go's clients send no token without TLS, but they put the path of the server's address before every other. A password
    in the address would not do, because their WebSockets refuse it.
    """
    return f"{_PATH_PREFIX}{quote(token, safe='')}"


class Identity(NamedTuple):
    """The user of a request, and how it was authenticated."""

    user: UserInfo
    may_be_browser: bool
    """Whether a browser could have sent the request for a web page: it never adds a token by itself."""


class RequestAuthenticator:
    """Authenticates requests.

    Args:
        token: The bearer token of the administrator; None to accept every request.
    """

    def __init__(self, token: str | None) -> None:
        self._token = token.encode() if token is not None else None

    def split_path(self, path: str) -> tuple[str, UserInfo | None]:
        """Return the path behind a token, and the user of the token.

        A path without a token has no user. A wrong token is masked: one that is wrong in one character is a secret
        still.

        Args:
            path: The escaped path, as received.
        """
        if self._token is not None and path.startswith(_PATH_PREFIX):
            # The token is one segment, and everything behind it is the path.
            shown, _, rest = path.removeprefix(_PATH_PREFIX).partition("/")
            if self._is_token(unquote_to_bytes(shown)):
                return f"/{rest}", ADMIN
        return _TOKEN_SEGMENT.sub(r"\1REDACTED", path), None

    def authenticate(self, request: ApiRequest) -> Identity:
        """Return the user of a request.

        Raises:
            StatusFailure: If its credentials are invalid.
        """
        shown = request.headers.get("authorization", "")
        scheme, _, token = shown.partition(" ")
        # A wrong bearer token is refused, even where none is needed: the client expects to be someone.
        if scheme.lower() == "bearer" and token.strip():
            if self._is_token(_bytes_of(token.strip())):
                return Identity(ADMIN, may_be_browser=False)
            raise StatusFailure(401, "Unauthorized", "Unauthorized")
        # A wrong password counts as none: kube-apiserver ignores passwords.
        is_admin = self._token is None or self._is_token(_password(shown))
        return Identity(ADMIN if is_admin else ANONYMOUS, may_be_browser=True)

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
