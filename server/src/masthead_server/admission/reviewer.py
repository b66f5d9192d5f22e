"""The authorizer of expressions: ``authorizer.group('').resource('pods').check('get')``."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._cel.errors import EvaluationError
from masthead._cel.library.authorization import AccessDecision
from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.wire.user_info import UserInfo

if TYPE_CHECKING:
    from masthead._cel.library.authorization import AccessRequest
    from masthead_server.authorization.authorizer import Authorizer

__all__ = ["AbsentReviewer", "AuthorizerReviewer", "ReviewContext"]

_PATIENCE: Final = 60.0
"""Seconds that a thread waits for the event loop; it is idle, unless it is overloaded."""


@dataclass(slots=True)
class ReviewContext:
    """The reviews of one request.

    Attributes:
        authorizer: The authorizer.
        count: The number of reviews.
        loop: The event loop, if the expressions are evaluated in another thread; the authorizer belongs to it.
    """

    authorizer: Authorizer
    count: int = 0
    loop: asyncio.AbstractEventLoop | None = None


class AuthorizerReviewer:
    """Answers with the server's authorizer, once for each question of a request.

    Args:
        context: The reviews of the request.
        user: The user to answer for.
    """

    def __init__(self, context: ReviewContext, user: UserInfo) -> None:
        self._context = context
        self._user = user
        self._known: dict[tuple[AccessRequest, str], AccessDecision] = {}

    def review(self, request: AccessRequest, verb: str) -> AccessDecision:
        """Decide about a request of the user."""
        self._context.count += 1
        known = self._known.get((request, verb))
        if known is None:
            known = self._known[request, verb] = self._ask(request, verb)
        return known

    def _ask(self, request: AccessRequest, verb: str) -> AccessDecision:
        loop = self._context.loop
        if loop is None:
            return self._decide(request, verb)

        # The rules of the authorizer may change at any time in their own thread.
        async def decide() -> AccessDecision:
            return self._decide(request, verb)

        return asyncio.run_coroutine_threadsafe(decide(), loop).result(_PATIENCE)

    def _decide(self, request: AccessRequest, verb: str) -> AccessDecision:
        # A check of a resource is about all its versions.
        version = "*" if request.resource else ""
        attributes = AuthorizationAttributes(self._user, verb, version=version, **request._asdict())
        outcome = self._context.authorizer.authorize(attributes)
        return AccessDecision(outcome.is_allowed, outcome.reason)

    def as_service_account(self, namespace: str, name: str) -> AuthorizerReviewer:
        """Return the reviewer for a service account."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        user = UserInfo(f"system:serviceaccount:{namespace}:{name}", groups=groups)
        return AuthorizerReviewer(self._context, user)


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
