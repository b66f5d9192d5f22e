"""What the rooms above know of credentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from masthead._meta.secret import Secret

__all__ = ["Certificate", "Credentials"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client certificate and its key, both in PEM."""

    certificate: str
    key: Secret


class Credentials(Protocol):
    """Shows who we are, and finds something better when the server does not believe it.

    One instance belongs to one client and one event loop.
    """

    async def authorization(self) -> Secret:
        """The value of the ``Authorization`` header; empty if there is none to send.

        Raises:
            AuthError: If the credential cannot be had. Never is an empty one returned instead.
        """
        ...

    async def certificate(self) -> Certificate | None:
        """The certificate to connect with, if it comes from the same source; None otherwise.

        Raises:
            AuthError: If it cannot be had.
        """
        ...

    async def renew(self, refused: Secret) -> bool:
        """The server answered 401. Look for a newer credential; whether asking again may help.

        Args:
            refused: The ``Authorization`` that was sent. If the current one differs, it was renewed meanwhile.

        Raises:
            AuthError: If renewing failed.
        """
        ...
