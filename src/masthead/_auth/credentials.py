"""The interface of credentials to the layers above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from masthead._module import set_module

if TYPE_CHECKING:
    from masthead._meta.secret import Secret

__all__ = ["Certificate", "Credentials"]


@set_module("masthead.auth")
@dataclass(frozen=True, slots=True)
class Certificate:
    """A client certificate and its key, both in PEM."""

    certificate: str
    key: Secret


@set_module("masthead.auth")
@runtime_checkable
class Credentials(Protocol):
    """Authenticates requests, and renews the credential when the server rejects it.

    One instance belongs to one client and one event loop.
    """

    async def authorization(self) -> Secret:
        """Return the value of the ``Authorization`` header; empty if no header is to be sent.

        Raises:
            AuthError: If the credential cannot be obtained. It never returns an empty one instead.
        """
        ...

    async def certificate(self) -> Certificate | None:
        """Return the client certificate if the credential has one, else None.

        Raises:
            AuthError: If it cannot be obtained.
        """
        ...

    async def renew(self, refused: Secret) -> bool:
        """Renew the credential after a 401; return whether a retry may succeed.

        Args:
            refused: The ``Authorization`` of that request. If the current one differs, another call has renewed it.

        Raises:
            AuthError: If renewal fails.
        """
        ...
