"""Obtains the credentials of calls, and renews rejected ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead._auth.credentials import Credentials
    from masthead._meta.secret import Secret
    from masthead._rest.deadline import Deadline
    from masthead._rest.lifetime import ClientLifetime

__all__ = ["Authenticator"]


class Authenticator:
    """The credentials of one client.

    The time to obtain credentials does not count against a call's deadline: an interactive login has its own timeout.

    Args:
        credentials: The source of the ``Authorization`` header.
        lifetime: Ends the waits for credentials when the client closes.
    """

    def __init__(self, credentials: Credentials, lifetime: ClientLifetime) -> None:
        self._credentials = credentials
        self._lifetime = lifetime

    async def authorize(self, deadline: Deadline) -> Secret:
        """Return the ``Authorization`` header; empty without credentials.

        Raises:
            AuthError: If the credentials cannot be obtained.
            ClosedError: If the client closes during the wait.
        """
        start = deadline.now()
        authorization = await self._lifetime.run(self._credentials.authorization())
        deadline.end += deadline.now() - start
        return authorization

    async def renew(self, rejected: Secret, deadline: Deadline) -> bool:
        """Renew credentials after a 401; returns whether to try again.

        Raises:
            AuthError: If the credentials cannot be obtained.
            ClosedError: If the client closes during the wait.
        """
        start = deadline.now()
        is_renewed = await self._lifetime.run(self._credentials.renew(rejected))
        deadline.end += deadline.now() - start
        return is_renewed
