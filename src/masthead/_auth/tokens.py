"""Credentials that need nobody's help: none, a token, a password, a token in a file."""

from __future__ import annotations

import base64
import logging
import re
from typing import TYPE_CHECKING, Final

from masthead._auth.files import WatchedFile
from masthead._meta.secret import Secret, SecretValue
from masthead.errors import AuthError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from masthead._auth.credentials import Certificate

__all__ = ["AnonymousCredentials", "BasicAuth", "BearerToken", "TokenFile", "bearer"]

_log: Final = logging.getLogger("masthead.auth")

_LOOK_AFTER: Final = 10.0
"""Seconds for which a token from a file is used without a look at the file."""

_READ_AFTER: Final = 60.0
"""Seconds after which the file is read even if it looks the same."""

_SENDABLE: Final = re.compile(r"[\x21-\x7e]+")
"""What a token may consist of. A line break in one would end the header, and begin another."""


def bearer(token: Secret, source: str) -> Secret:
    """The ``Authorization`` for a token.

    Args:
        token: Blanks and line breaks around it do not matter.
        source: Where it is from, for the message: ``the token file /run/token``.

    Raises:
        AuthError: If no header can carry it.
    """
    if not token.reveal().strip():
        raise AuthError(f"the token from {source} is empty; get a new one")
    if not _SENDABLE.fullmatch(token.reveal().strip()):
        raise AuthError(
            f"the token from {source} has blanks, line breaks or letters beyond ASCII in it; get a new one"
        )
    return Secret(f"Bearer {token.reveal().strip()}")


class AnonymousCredentials:
    """Nobody in particular."""

    async def authorization(self) -> Secret:
        """Always empty."""
        return Secret()

    async def certificate(self) -> Certificate | None:
        """Always None."""
        return None

    async def renew(self, refused: Secret) -> bool:  # noqa: ARG002 - the contract's
        """Always False: there is nothing to renew."""
        return False


class BearerToken(AnonymousCredentials):
    """One token, for ever.

    Args:
        token: The token.

    Raises:
        AuthError: If the token is empty, or no header can carry it.
    """

    def __init__(self, token: Secret) -> None:
        self._value = bearer(token, "the configuration")

    async def authorization(self) -> Secret:
        """The token."""
        return self._value


class BasicAuth(AnonymousCredentials):
    """A name and a password.

    Args:
        username: The name.
        password: The password.

    Raises:
        AuthError: If there is a colon in the name, where the password would begin.
    """

    def __init__(self, username: str, password: Secret) -> None:
        if ":" in username:
            raise AuthError("a user name for basic authentication has no colon; use a token or a certificate")
        pair = SecretValue(f"{username}:{password.reveal()}".encode())
        self._value = Secret(f"Basic {base64.b64encode(pair.reveal()).decode()}")

    async def authorization(self) -> Secret:
        """Name and password, encoded."""
        return self._value


class TokenFile(AnonymousCredentials):
    """A token that somebody else keeps fresh in a file, as the kubelet does for every pod.

    The file is looked at every ten seconds, and at once when the server refuses the token; it is read if it has
    changed, and every minute in any case. While it cannot be read, the last good token stays in use.

    Args:
        path: The file.
        fallback: What to send until the file can be read; empty for nothing.
        now: The time in seconds, from any beginning; it never goes back.
    """

    def __init__(self, path: Path, *, fallback: Secret, now: Callable[[], float]) -> None:
        self._file = WatchedFile(path, "token file")
        self._now = now
        self._value = bearer(fallback, "the configuration") if fallback else fallback
        self._looked: float | None = None
        self._read = 0.0
        self._told = ""

    async def authorization(self) -> Secret:
        """The token.

        Raises:
            AuthError: If the file never could be read, and there is no other token.
        """
        now = self._now()
        if self._looked is None or now - self._looked >= _LOOK_AFTER:
            if self._is_worth_reading(now):
                self._refresh(now)
            self._looked = now
        return self._value

    async def renew(self, refused: Secret) -> bool:
        """Look at the file now; whether there is another token than the refused one.

        Raises:
            AuthError: If the file never could be read, and there is no other token.
        """
        if self._value == refused:
            self._refresh(self._now())
        return self._value != refused

    def _is_worth_reading(self, now: float) -> bool:
        return self._looked is None or now - self._read >= _READ_AFTER or self._file.has_changed()

    def _refresh(self, now: float) -> None:
        """Read the file.

        Raises:
            AuthError: If it cannot be read and there is no token from before.
        """
        try:
            self._value = bearer(self._file.read(), f"the {self._file}")
        except AuthError as error:
            if not self._value:
                raise
            self._tell(str(error))
        else:
            self._told = ""
        self._looked = self._read = now

    def _tell(self, problem: str) -> None:
        """Say once what is wrong, and again only when it is something else or was well in between."""
        if problem != self._told:
            _log.warning("%s; the token from before stays in use", problem)
            self._told = problem
