"""Authentication of tokens: the server's own, those of a token file, and those of service accounts."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Final

from masthead_server.authentication.jwt import InvalidTokenError
from masthead_server.authentication.service_accounts import API_AUDIENCES, AuthenticatedToken, ServiceAccountTokens
from masthead_server.authentication.signing_keys import SigningKeyFile
from masthead_server.wire.user_info import ADMIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead_server.cluster import ClusterState
    from masthead_server.wire.user_info import UserInfo

__all__ = ["INVALID_TOKEN", "TokenAuthenticator"]

INVALID_TOKEN: Final = "invalid bearer token"
"""The message about an unknown token."""


class TokenAuthenticator:
    """Authenticates tokens.

    Args:
        cluster: The cluster state.
        admin: The token of the administrator; None on a server without a token.
        users: Further users by their tokens.
        keys: The key of service-account tokens.

    Attributes:
        accounts: The tokens of service accounts.
    """

    def __init__(
        self,
        cluster: ClusterState,
        *,
        admin: str | None = None,
        users: Mapping[str, UserInfo] | None = None,
        keys: SigningKeyFile | None = None,
    ) -> None:
        self.accounts: ServiceAccountTokens = ServiceAccountTokens(cluster, keys or SigningKeyFile())
        self._admin = admin.encode() if admin is not None else None
        # By digests, so that the time of a lookup tells nothing about the tokens.
        self._users = {_digest(token.encode()): user for token, user in (users or {}).items()}

    def authenticate(self, token: bytes, audiences: Sequence[str] = API_AUDIENCES) -> AuthenticatedToken:
        """Return the user of a token.

        Args:
            token: The token.
            audiences: Who wants to know: the server itself by default.

        Raises:
            InvalidTokenError: If it is not valid.
        """
        user = self._find_user(token)
        if user is not None and audiences is API_AUDIENCES:
            return AuthenticatedToken(user, API_AUDIENCES)
        # These tokens have no audience, and so are for the server alone.
        common = () if user is None else tuple(audience for audience in audiences if audience in API_AUDIENCES)
        if user is not None and common:
            return AuthenticatedToken(user, common)
        found = self.accounts.authenticate(token.decode("ascii", "replace"), audiences)
        if found is None:
            raise InvalidTokenError(INVALID_TOKEN)
        return found

    def _find_user(self, token: bytes) -> UserInfo | None:
        if self._admin is not None and secrets.compare_digest(token, self._admin):
            return ADMIN
        return self._users.get(_digest(token)) if self._users else None


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
