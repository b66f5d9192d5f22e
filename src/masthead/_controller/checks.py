"""Health checks: run one at a time, bounded in time, and isolated from each other."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._controller.daemon_threads import DAEMON_THREADS
from masthead._controller.log_values import hide_credentials, shortened
from masthead._errors.base import printable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

__all__ = ["Check", "CheckGroup", "CheckResult"]

Check: TypeAlias = "Callable[[], object]"
"""A check fails if it raises. A plain function runs in a thread, a coroutine function on the loop."""

_log: Final = logging.getLogger("masthead.controller")
CHECK_TIMEOUT: Final = 1.0
"""Seconds until a check counts as failed: the default timeout of a kubelet's probe."""
_MAX_REASON: Final = 1_000
"""Maximum number of characters of a reason: enough for the server's message about a missing permission."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check.

    Attributes:
        name: The name of the check.
        problem: The reason of its failure; empty if it is healthy.
        is_excluded: Whether the request excluded it.
    """

    name: str
    problem: str = ""
    is_excluded: bool = False


class _RunningCheck:
    """One check, which never runs concurrently with itself.

    Requests that arrive while it runs share its result. A check that hangs therefore blocks one thread or task, and is
    reported as failed until it returns.
    """

    def __init__(self, name: str, check: Check) -> None:
        self.check = check
        self._name = name
        self._run: asyncio.Task[None] | None = None
        self._started = 0.0
        self._is_in_thread = False
        self._has_failed = False

    async def result(self) -> CheckResult:
        loop = asyncio.get_running_loop()
        if self._run is None or self._run.done():
            self._started = loop.time()
            self._run = loop.create_task(self._call(), name=f"masthead check {self._name}")
        run = self._run
        left = self._started + CHECK_TIMEOUT - loop.time()
        # Not wait_for, which would wait for a check that ignores its cancellation.
        await asyncio.wait([run], timeout=max(0.0, left))
        problem = self._problem(run, loop.time())
        if bool(problem) != self._has_failed:
            self._has_failed = bool(problem)
            if problem:
                _log.warning("check %s failed: %s", self._name, problem)
            else:
                _log.info("check %s is healthy again", self._name)
        return CheckResult(self._name, problem)

    def cancel(self) -> None:
        if self._run is not None:
            self._run.cancel()

    def _problem(self, run: asyncio.Task[None], now: float) -> str:
        if not run.done():
            # A thread cannot be cancelled, so the check counts as running until it returns.
            if not self._is_in_thread:
                run.cancel()
            return f"no result after {now - self._started:.1f} s"
        if run.cancelled():
            return f"no result after {CHECK_TIMEOUT:.1f} s"
        error = run.exception()
        return "" if error is None else _reason(error)

    async def _call(self) -> None:
        """Call the check, on the loop if it is a coroutine function, otherwise in a thread."""
        check = self.check
        try:
            if _is_coroutine_function(check):
                result: object = check()
            else:
                result = await self._call_in_thread(check)
            if inspect.isawaitable(result):
                await cast("Awaitable[object]", result)
        except (SystemExit, KeyboardInterrupt) as error:
            # Some exceptions would end the event loop.
            raise RuntimeError(f"the check raised {type(error).__name__}") from error

    async def _call_in_thread(self, check: Check) -> object:
        context = contextvars.copy_context()
        self._is_in_thread = True
        try:
            return await asyncio.get_running_loop().run_in_executor(DAEMON_THREADS, context.run, check)
        finally:
            self._is_in_thread = False


def _is_coroutine_function(check: Check) -> bool:
    return inspect.iscoroutinefunction(check) or inspect.iscoroutinefunction(type(check).__call__)


def _reason(error: BaseException) -> str:
    """Format the message of an error as one line of limited length."""
    try:
        text = str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - an exception that cannot be shown
        text = type(error).__name__
    return shortened(hide_credentials(" ".join(printable(text).split())), _MAX_REASON)


class CheckGroup:
    """Named checks, such as those of ``/readyz``.

    Args:
        checks: The checks by name; checks may be added later.
    """

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._running: dict[str, _RunningCheck] = {}

    def names(self) -> list[str]:
        """The names of the checks, sorted."""
        return sorted(self._checks)

    async def run(self, names: Iterable[str]) -> list[CheckResult]:
        """Run checks concurrently; none takes longer than `CHECK_TIMEOUT`."""
        return list(await asyncio.gather(*(self._running_check(name).result() for name in names)))

    def close(self) -> None:
        """Cancel the running checks."""
        for check in self._running.values():
            check.cancel()

    def _running_check(self, name: str) -> _RunningCheck:
        found = self._running.get(name)
        check = self._checks[name]
        if found is None or found.check is not check:
            found = self._running[name] = _RunningCheck(name, check)
        return found
