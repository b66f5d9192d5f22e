"""Credentials without a third party: anonymous, bearer token, basic authentication, token file."""

from __future__ import annotations

import base64
import logging
import re
from typing import TYPE_CHECKING, Final

from masthead._auth.files import WatchedFile
from masthead._meta.secret import Secret, SecretValue
from masthead._module import set_module
from masthead.errors import AuthError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from masthead._auth.credentials import Certificate

__all__ = ["AnonymousCredentials", "BasicAuth", "BearerToken", "TokenFile", "bearer"]

_log: Final = logging.getLogger("masthead.auth")

_LOOK_AFTER: Final = 10.0
"""Seconds between two checks of the file."""

_READ_AFTER: Final = 60.0
"""Seconds after which the file is read even if it looks the same."""

_SENDABLE: Final = re.compile(r"[\x21-\x7e]+")
"""The characters of a token. A line break would end the header and start another one."""


def bearer(token: Secret, source: str) -> Secret:
    """Return the ``Authorization`` header for a token.

    Args:
        token: The token; surrounding whitespace is ignored.
        source: Its origin, for messages: ``the token file /run/token``.

    Raises:
        AuthError: If the token is invalid in a header.
    """
    if not token.reveal().strip():
        raise AuthError(f"the token from {source} is empty; get a new one")
    if not _SENDABLE.fullmatch(token.reveal().strip()):
        raise AuthError(f"the token from {source} contains blanks, line breaks or non-ASCII characters; get a new one")
    return Secret(f"Bearer {token.reveal().strip()}")


@set_module("masthead.auth")
class AnonymousCredentials:
    """No credentials: requests are anonymous."""

    async def authorization(self) -> Secret:
        """Always empty."""
        return Secret()

    async def certificate(self) -> Certificate | None:
        """Always None."""
        return None

    async def renew(self, refused: Secret) -> bool:  # noqa: ARG002 - the contract's
        """Always False: there is nothing to renew."""
        return False


@set_module("masthead.auth")
class BearerToken(AnonymousCredentials):
    """A static bearer token.

    Args:
        token: The token.

    Raises:
        AuthError: If the token is empty, or invalid in a header.
    """

    def __init__(self, token: Secret) -> None:
        self._value = bearer(token, "the configuration")

    async def authorization(self) -> Secret:
        """The token."""
        return self._value


@set_module("masthead.auth")
class BasicAuth(AnonymousCredentials):
    """Basic authentication.

    Args:
        username: The user name.
        password: The password.

    Raises:
        AuthError: If the user name contains a colon.
    """

    def __init__(self, username: str, password: Secret) -> None:
        if ":" in username:
            raise AuthError(
                "a user name for basic authentication must not contain a colon; use a token or a certificate"
            )
        pair = SecretValue(f"{username}:{password.reveal()}".encode())
        self._value = Secret(f"Basic {base64.b64encode(pair.reveal()).decode()}")

    async def authorization(self) -> Secret:
        """Return the encoded user name and password."""
        return self._value


@set_module("masthead.auth")
class TokenFile(AnonymousCredentials):
    """A token in a file that is rotated by another process, as the kubelet does for service account tokens.

    The file is checked every ten seconds, and immediately when the server rejects the token. It is read if it has
    changed, and every minute in any case. While it cannot be read, the last valid token stays in use.

    Args:
        path: The file.
        fallback: The token to send until the file can be read; empty for none.
        now: A monotonic clock, in seconds.
    """

    def __init__(self, path: Path, *, fallback: Secret, now: Callable[[], float]) -> None:
        self._file = WatchedFile(path, "token file")
        self._now = now
        self._value = bearer(fallback, "the configuration") if fallback else fallback
        self._looked: float | None = None
        self._read = 0.0
        self._logged = ""

    async def authorization(self) -> Secret:
        """The token.

        Raises:
            AuthError: If the file could never be read, and there is no other token.
        """
        now = self._now()
        if self._looked is None or now - self._looked >= _LOOK_AFTER:
            if self._is_worth_reading(now):
                self._refresh(now)
            # Also if nothing changed: the file system is asked every few seconds only.
            self._looked = now
        return self._value

    async def renew(self, refused: Secret) -> bool:
        """Check the file now; return whether its token differs from the rejected one.

        Raises:
            AuthError: If the file could never be read, and there is no other token.
        """
        # Otherwise another call has already read a newer token.
        if self._value == refused:
            self._refresh(self._now())
        return self._value != refused

    def _is_worth_reading(self, now: float) -> bool:
        return self._looked is None or now - self._read >= _READ_AFTER or self._file.has_changed()

    def _refresh(self, now: float) -> None:
        """Read the file.

        Raises:
            AuthError: If it cannot be read, and there is no earlier token.
        """
        try:
            self._value = bearer(self._file.read(), f"the {self._file}")
        except AuthError as error:
            # The last valid token may still be accepted, as during a rotation.
            if not self._value:
                raise
            # The earlier token may still be valid, so that requests do not fail yet.
            self._log_once(str(error))
        else:
            self._logged = ""
        self._looked = self._read = now

    def _log_once(self, problem: str) -> None:
        """Log a problem once, and again only if it changes or was resolved in between."""
        if problem != self._logged:
            _log.warning("%s; the previous token stays in use", problem)
            self._logged = problem
