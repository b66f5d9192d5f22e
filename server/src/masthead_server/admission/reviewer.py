"""The authorizer of expressions: ``authorizer.group('').resource('pods').check('get')``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cel.errors import EvaluationError
from masthead._cel.library.authorization import AccessDecision
from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.wire.user_info import UserInfo

if TYPE_CHECKING:
    from masthead._cel.library.authorization import AccessRequest
    from masthead_server.authorization.authorizer import Authorizer

__all__ = ["AbsentReviewer", "AuthorizerReviewer"]


class AuthorizerReviewer:
    """Answers with the server's authorizer, once for each question of a request.

    Args:
        authorizer: The authorizer.
        user: The user to answer for.
    """

    def __init__(self, authorizer: Authorizer, user: UserInfo) -> None:
        self._authorizer = authorizer
        self._user = user
        self._known: dict[tuple[AccessRequest, str], AccessDecision] = {}

    def review(self, request: AccessRequest, verb: str) -> AccessDecision:
        """Decide about a request of the user."""
        known = self._known.get((request, verb))
        if known is None:
            known = self._known[request, verb] = self._decide(request, verb)
        return known

    def _decide(self, request: AccessRequest, verb: str) -> AccessDecision:
        # A check of a resource is about all its versions.
        version = "*" if request.resource else ""
        attributes = AuthorizationAttributes(self._user, verb, version=version, **request._asdict())
        outcome = self._authorizer.authorize(attributes)
        return AccessDecision(outcome.is_allowed, outcome.reason)

    def as_service_account(self, namespace: str, name: str) -> AuthorizerReviewer:
        """Return the reviewer for a service account."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        user = UserInfo(f"system:serviceaccount:{namespace}:{name}", groups=groups)
        return AuthorizerReviewer(self._authorizer, user)


class AbsentReviewer:
    """Stands for the authorizer in expressions that compile with one and are evaluated without: messages."""

    def review(self, request: AccessRequest, verb: str) -> AccessDecision:
        """Fail, as an evaluation without the variable does."""
        del request, verb
        raise EvaluationError("no such attribute(s): authorizer")

    def as_service_account(self, namespace: str, name: str) -> AbsentReviewer:
        """Return itself."""
        del namespace, name
        return self
