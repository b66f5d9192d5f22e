"""The health of the server: ``/healthz``, ``/livez``, ``/readyz``, and their checks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.quoting import quoted
from masthead_server.storage import JournalError
from masthead_server.wire.request import ApiResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from masthead_server.storage import Storage
    from masthead_server.wire.request import ApiRequest

__all__ = ["HEALTH_PATHS", "Check", "Health", "check_all", "report"]

_log: Final = logging.getLogger("masthead.server")
_TEXT: Final = "text/plain; charset=utf-8"
_PLAIN: Final = (("X-Content-Type-Options", "nosniff"),)
_ALWAYS: Final = ("ping", "log", "etcd")
_CHECKS: Final[Mapping[str, Sequence[str]]] = {
    "healthz": _ALWAYS,
    "livez": _ALWAYS,
    "readyz": (*_ALWAYS, "etcd-readiness"),
}
"""The checks of each endpoint: those of kube-apiserver that this server has, in its order."""
_STORAGE_CHECKS: Final = frozenset({"etcd", "etcd-readiness"})
HEALTH_PATHS: Final = (
    *(f"/{endpoint}" for endpoint in _CHECKS),
    *(f"/{endpoint}/{name}" for endpoint, names in _CHECKS.items() for name in names),
)
"""The paths of all endpoints and checks."""


class Check(NamedTuple):
    """A check that was made.

    Attributes:
        name: Its name.
        problem: Why it failed; empty if it passed.
        is_excluded: Whether the request excludes it, so that it was not made.
    """

    name: str
    problem: str = ""
    is_excluded: bool = False


class Health:
    """Responds to requests about the health of the server.

    Args:
        storage: The storage, which may be unable to write.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def respond(self, request: ApiRequest) -> ApiResponse | None:
        """Respond to a request; None if the path is about something else."""
        if request.path not in HEALTH_PATHS:
            return None
        endpoint, _, name = request.path[1:].partition("/")
        return self._describe_check(name) if name else self._describe_all(endpoint, request.query)

    def _describe_check(self, name: str) -> ApiResponse:
        if problem := self._find_problem(name):
            return ApiResponse(500, f"internal server error: {problem}\n".encode(), _TEXT, _PLAIN)
        return ApiResponse(200, b"ok", _TEXT)

    def _describe_all(self, endpoint: str, query: Mapping[str, Sequence[str]]) -> ApiResponse:
        checks = check_all(_CHECKS[endpoint], query.get("exclude", ()), self._find_problem)
        text = report(endpoint, checks, query.get("exclude", ()))
        if failed := [check for check in checks if check.problem]:
            problems = "; ".join(f"{check.name}: {check.problem}" for check in failed)
            _log.info("%s check failed: %s", endpoint, problems)
            return ApiResponse(500, text.encode(), _TEXT, _PLAIN)
        return ApiResponse(200, text.encode() if "verbose" in query else b"ok", _TEXT, _PLAIN)

    def _find_problem(self, name: str) -> str:
        if name not in _STORAGE_CHECKS:
            return ""
        try:
            self._storage.check_writable()
        except JournalError as error:
            return str(error)
        return ""


def check_all(names: Sequence[str], excluded: Collection[str], find_problem: Callable[[str], str]) -> list[Check]:
    """Make all checks that are not excluded."""
    return [Check(name, is_excluded=True) if name in excluded else Check(name, find_problem(name)) for name in names]


def report(endpoint: str, checks: Sequence[Check], excluded: Collection[str]) -> str:
    """Describe checks, each in a line, as kube-apiserver does: anybody may read it, so that it has no reasons."""
    lines = [_describe(check) for check in checks]
    if unknown := sorted(set(excluded) - {check.name for check in checks}):
        names = ",".join(map(quoted, unknown))
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    outcome = "failed" if any(check.problem for check in checks) else "passed"
    return "\n".join([*lines, f"{endpoint} check {outcome}", ""])


def _describe(check: Check) -> str:
    if check.is_excluded:
        return f"[+]{check.name} excluded: ok"
    return f"[-]{check.name} failed: reason withheld" if check.problem else f"[+]{check.name} ok"
