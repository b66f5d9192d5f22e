"""Failed requests of an election: explanations, log messages and delays."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead._sansio.backoff import Backoff
from masthead.errors import (
    AlreadyExistsError,
    ArgumentError,
    AuthError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    MastheadError,
    NotFoundError,
    UnauthorizedError,
    UnprocessableError,
)

if TYPE_CHECKING:
    from masthead._leaderelection.lease_lock import LeaseLock
    from masthead._sansio.backoff import Random
    from masthead._sansio.lease_records import Create, Read, Update

__all__ = ["Failures"]

_log: Final = logging.getLogger("masthead.leaderelection")
_LASTING: Final = (
    AuthError,
    BadRequestError,
    ForbiddenError,
    UnprocessableError,
    ArgumentError,
    NotFoundError,
    UnauthorizedError,
)
"""Errors that last until an administrator changes a permission, a namespace or an argument."""
_MAX_DELAY: Final = 30.0


class Failures:
    """Logs failed requests, once per problem, and backs off from errors that last.

    Attributes:
        last: The last error; None after a success.
    """

    def __init__(self, lock: LeaseLock, retry_period: float) -> None:
        self.last: MastheadError | None = None
        self._lock = lock
        self._backoff = Backoff(retry_period, 2.0, max(retry_period, _MAX_DELAY), 0.2)

    def note(self, step: Read | Create | Update, error: MastheadError) -> None:
        """Record the failed request of a step."""
        # Messages contain times and names, so that the class identifies a problem.
        is_new = type(error) is not type(self.last)
        self.last = error
        # Losing a race is how an election is decided, and not worth a warning.
        is_race = isinstance(error, ConflictError | AlreadyExistsError)
        level = logging.WARNING if is_new and not is_race else logging.DEBUG
        _log.log(level, "lease %s: %s", self._lock, self.explain(step, error))

    def note_success(self) -> None:
        """Record a successful attempt."""
        if self.last is not None:
            _log.info("lease %s: requests succeed again", self._lock)
        self.last = None
        self._backoff.reset()

    def delay(self, usual: float, now: float, random: Random) -> float:
        """Return the delay until a candidate's next attempt: the usual one, or longer after a lasting error."""
        is_lasting = isinstance(self.last, _LASTING)
        return max(usual, self._backoff.next(now, random)) if is_lasting else usual

    def explain(self, step: Read | Create | Update, error: MastheadError) -> str:
        """Format the problem and the next step."""
        verb, problem = type(step).__name__.lower(), str(error).rstrip(".")
        if isinstance(error, ForbiddenError):
            return (
                f"no permission to {'get' if verb == 'read' else verb} leases ({problem}); leader election needs a "
                "Role "
                f'in the namespace {self._lock.namespace} with the rule {{apiGroups: ["coordination.k8s.io"], '
                'resources: ["leases"], verbs: ["get", "create", "update"]}. Retrying.'
            )
        # Only the namespace can be missing for a create.
        if isinstance(error, NotFoundError) and verb == "create":
            return (
                f"cannot create it ({problem}); create the namespace {self._lock.namespace}, or give the elector "
                "another one. Retrying."
            )
        return f"cannot {verb} it: {problem}. Retrying."
