"""Failures that a test has not read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masthead._errors.base import counted
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead.testing._replica import Replica

__all__ = ["FailedCall", "FailureReport", "UnexpectedFailureError"]


@set_module("masthead.testing")
class UnexpectedFailureError(AssertionError):
    """A test has left its environment without reading its failures.

    Attributes:
        failures: The failures, as in `Environment.failures`.
    """

    def __init__(self, failures: Sequence[str], advice: Sequence[str] = ()) -> None:
        self.failures: Sequence[str] = tuple(failures)
        lines = "".join(f"\n  {failure}" for failure in failures)
        problem = f"{counted(len(failures), 'failure')} at the end of the test, and env.failures was not read:{lines}"
        super().__init__("\n".join([problem, *advice]))


@set_module("masthead.testing")
class FailedCall(NamedTuple):
    """A function that failed when it was last called.

    Attributes:
        message: The error.
        times: The number of failures in a row.
    """

    message: str
    times: int = 1


class FailureReport:
    """Collects the failures of replicas, and remembers which of them the test has read."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()
        self._reported: set[str] = set()

    def look(self, replicas: Sequence[Replica]) -> list[str]:
        """Return all failures, and mark them as read."""
        failures = self._failures_of(replicas) | self._mutations_of(replicas)
        # With the message: a new error of the same function is a new failure.
        self._seen |= {(what, failure.message) for what, failure in failures.items()}
        return _describe(failures)

    def unseen(self, replicas: Sequence[Replica]) -> list[str]:
        """Return failures that the test has not read, except mutations."""
        return _describe(self._unseen_of(self._failures_of(replicas)))

    def unseen_mutations(self, replicas: Sequence[Replica]) -> list[str]:
        """Return mutations of cached objects that the test has not read."""
        return _describe(self._unseen_of(self._mutations_of(replicas)))

    def _unseen_of(self, failures: Mapping[str, FailedCall]) -> dict[str, FailedCall]:
        return {what: failure for what, failure in failures.items() if (what, failure.message) not in self._seen}

    def _failures_of(self, replicas: Sequence[Replica]) -> dict[str, FailedCall]:
        failures = _failures_of(replicas)
        self._reported |= failures.keys()
        return failures

    def _mutations_of(self, replicas: Sequence[Replica]) -> dict[str, FailedCall]:
        """Return mutations of all replicas, also of stopped ones: a mutation is a bug in any case."""
        return {what: failure for replica in replicas for what, failure in replica.mutations(self._reported).items()}


def _failures_of(replicas: Sequence[Replica]) -> dict[str, FailedCall]:
    failures: dict[str, FailedCall] = {}
    for replica in replicas:
        # A successor retries the failed calls of a stopped replica, and reports them itself.
        if replica.has_ended_by_itself and replica.error is not None:
            failures[f"replica {replica.name}"] = FailedCall(f"it has ended by itself: {replica.error!r}")
        elif replica.is_running or not _has_successor(replica, replicas):
            failures |= replica.failures()
    return failures


def _has_successor(ended: Replica, replicas: Iterable[Replica]) -> bool:
    """Whether another replica has taken over from a stopped one."""
    return any(replica.is_running and replica.manager.name == ended.manager.name for replica in replicas)


def _describe(failures: Mapping[str, FailedCall]) -> list[str]:
    return [f"{what}: {failure.message} ({counted(failure.times, 'time')})" for what, failure in failures.items()]
