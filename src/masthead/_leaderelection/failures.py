"""What a failed request of an election means, and what to do about it."""

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
_NEEDS_SOMEBODY: Final = (
    AuthError,
    BadRequestError,
    ForbiddenError,
    UnprocessableError,
    ArgumentError,
    NotFoundError,
    UnauthorizedError,
)
"""Errors that stay until somebody changes a permission, a namespace or an argument."""
_LONGEST_DELAY: Final = 30.0


class Failures:
    """Logs failed requests, each problem once, and delays further tries where haste does not help.

    Attributes:
        last: The last error; None after a success.
    """

    def __init__(self, lock: LeaseLock, retry_period: float) -> None:
        self.last: MastheadError | None = None
        self._lock = lock
        self._backoff = Backoff(retry_period, 2.0, max(retry_period, _LONGEST_DELAY), 0.2)

    def note(self, step: Read | Create | Update, error: MastheadError) -> None:
        """Note that the request of a step failed."""
        is_new = type(error) is not type(self.last)
        self.last = error
        # That is how an election is decided.
        is_race = isinstance(error, ConflictError | AlreadyExistsError)
        level = logging.WARNING if is_new and not is_race else logging.DEBUG
        _log.log(level, "lease %s: %s", self._lock, self.explain(step, error))

    def note_success(self) -> None:
        """Note that a try went through."""
        if self.last is not None:
            _log.info("lease %s: requests succeed again", self._lock)
        self.last = None
        self._backoff.reset()

    def delay(self, usual: float, now: float, random: Random) -> float:
        """Seconds until the next try of a candidate, which are usually so many."""
        needs_somebody = isinstance(self.last, _NEEDS_SOMEBODY)
        return max(usual, self._backoff.next(now, random)) if needs_somebody else usual

    def explain(self, step: Read | Create | Update, error: MastheadError) -> str:
        """Say what is wrong, and what to do next."""
        verb, problem = type(step).__name__.lower(), str(error).rstrip(".")
        if isinstance(error, ForbiddenError):
            return (
                f"no permission to {'get' if verb == 'read' else verb} leases ({problem}); leader election needs a Role in the "
                f'namespace {self._lock.namespace} with the rule {{apiGroups: ["coordination.k8s.io"], '
                'resources: ["leases"], verbs: ["get", "create", "update"]}. Retrying.'
            )
        if isinstance(error, NotFoundError) and verb == "create":
            return (
                f"cannot create it ({problem}); create the namespace {self._lock.namespace}, or give the elector "
                "another one. Retrying."
            )
        return f"cannot {verb} it: {problem}. Retrying."
