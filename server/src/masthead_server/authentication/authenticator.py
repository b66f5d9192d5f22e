"""Authentication of requests, before the body is read: certificates, tokens, passwords, tokens in paths."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from masthead_server.authentication.jwt import InvalidTokenError
from masthead_server.authentication.protocol_tokens import PROTOCOL_HEADER, read_protocol_token
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.user_info import ADMIN, ANONYMOUS

if TYPE_CHECKING:
    from masthead_server.authentication.service_accounts import AuthenticatedToken
    from masthead_server.authentication.tokens import TokenAuthenticator
    from masthead_server.clock import Clock
    from masthead_server.web.request import Request
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.user_info import UserInfo

__all__ = ["Identity", "RequestAuthenticator", "token_path"]

_PATH_PREFIX: Final = "/~"
"""Before a token in a path."""
_EXTRA_SPACE: Final = "the provided Authorization header contains extra space before the bearer token, and is ignored"
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
    may_be_browser: bool = False
    """Whether a browser could have sent the request for a web page: browsers never add tokens."""
    warning: str = ""
    """A warning about the credentials."""


class RequestAuthenticator:
    """Authenticates requests.

    Args:
        tokens: Authenticates their tokens.
        clock: Decides whether certificates have expired.
        needs_credentials: Whether requests without credentials are anonymous; otherwise they are the administrator's.
        allows_anonymous: Whether there are anonymous requests; otherwise they are refused.
    """

    def __init__(
        self, tokens: TokenAuthenticator, clock: Clock, *, needs_credentials: bool, allows_anonymous: bool
    ) -> None:
        self._tokens = tokens
        self._clock = clock
        self._needs_credentials = needs_credentials
        self._allows_anonymous = allows_anonymous

    def split_path(self, path: str) -> tuple[str, UserInfo | None]:
        """Return the path behind a token, and the user of the token.

        A path without a token has no user. A wrong token is masked, because a typing error does not make it public.

        Args:
            path: The escaped path, as received.
        """
        if path.startswith(_PATH_PREFIX):
            # The token is one segment, and everything behind it is the path.
            shown, _, rest = path.removeprefix(_PATH_PREFIX).partition("/")
            with suppress(InvalidTokenError):
                return f"/{rest}", self._tokens.authenticate(unquote_to_bytes(shown)).user
        return _TOKEN_SEGMENT.sub(r"\1REDACTED", path), None

    def authenticate(self, request: ApiRequest, incoming: Request, path_user: UserInfo | None) -> Identity:
        """Return the user of a request.

        As in kube-apiserver a certificate comes first, then the token, and any of them is enough. The token in the path
        counts only for requests without credentials of their own.

        Args:
            request: The request.
            incoming: The request as it arrives, with its connection.
            path_user: The user of the token in the path; None without one.

        Raises:
            StatusFailure: If its credentials are invalid, or if it needs some and has none.
        """
        user, is_bad = self._read_certificate(incoming)
        if user is not None:
            # A browser presents a certificate for every web page.
            return Identity(user, True)
        shown = request.headers.get("authorization", "").strip()
        scheme, _, rest = shown.partition(" ")
        warning = ""
        if scheme.lower() == "bearer" and rest:
            token = rest.partition(" ")[0]
            # A wrong bearer token is refused, even where none is needed: the client expects to be someone.
            if token:
                found = self._check_token(_bytes_of(token))
                return Identity(found.user, False, found.warning)
            warning = _EXTRA_SPACE
        # A wrong password counts as none: kube-apiserver ignores passwords.
        if password := _password(shown):
            with suppress(InvalidTokenError):
                return Identity(self._tokens.authenticate(password).user, True)
        if incoming.is_websocket and (user := self._read_protocols(incoming)) is not None:
            return Identity(user, False)
        # The path belongs to the address of the cluster, which the contexts of several users may share: a client that
        # also says who it is must not become the user of the address.
        if path_user is not None and not shown and not is_bad:
            return Identity(path_user)
        if is_bad or (self._needs_credentials and not self._allows_anonymous):
            raise _unauthorized()
        return Identity(ANONYMOUS if self._needs_credentials else ADMIN, True, warning)

    def _read_certificate(self, incoming: Request) -> tuple[UserInfo | None, bool]:
        """Return the user of the certificate of a connection, and whether the certificate is bad."""
        certificate = incoming.connection.peer_certificate
        if not certificate:
            return None, False
        from masthead_server.authentication.client_certificates import read_certificate_user

        try:
            return read_certificate_user(certificate, self._clock.now()), False
        except InvalidTokenError:
            return None, True

    def _read_protocols(self, incoming: Request) -> UserInfo | None:
        try:
            found = read_protocol_token(incoming.headers.get_all(PROTOCOL_HEADER))
        except InvalidTokenError:
            raise _unauthorized() from None
        if found is None:
            return None
        user = self._check_token(found.token).user
        # The server chooses one of the others.
        incoming.headers.replace(PROTOCOL_HEADER, ", ".join(found.protocols))
        return user

    def _check_token(self, token: bytes) -> AuthenticatedToken:
        try:
            return self._tokens.authenticate(token)
        except InvalidTokenError:
            raise _unauthorized() from None


def _unauthorized() -> StatusFailure:
    return StatusFailure(401, "Unauthorized", "Unauthorized")


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
