"""Calls a reconciler with a timeout, on the loop or in a thread, and returns its outcome."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from masthead._controller.requests import Result
from masthead._controller.user_errors import describe_error, ends_caller
from masthead.errors import DeadlineError, PermanentError, ReconcileError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from masthead._controller.context import ReconcileContext
    from masthead._controller.controller import Controller
    from masthead._controller.thread_runner import ThreadRunner
    from masthead._meta.object import Object

__all__ = ["SUCCESS", "Invocation", "ReconcileOutcome", "ReconcilePanicError", "ReconcileTimeoutError"]

ResultLabel: TypeAlias = Literal["success", "error", "requeue", "requeue_after"]
_NOTHING: Final = Result()


class ReconcilePanicError(ReconcileError):
    """A reconciler raised a BaseException, as ``sys.exit`` does, was cancelled, or returned an invalid result."""


class ReconcileTimeoutError(ReconcileError, DeadlineError):
    """A reconcile took longer than its timeout."""


@dataclass(frozen=True, slots=True)
class ReconcileOutcome:
    """The outcome of a reconcile.

    Attributes:
        result: Its result.
        error: Its error; None after a success.
    """

    result: Result = field(default=_NOTHING)
    error: BaseException | None = None

    @property
    def label(self) -> ResultLabel:
        """The value of the label ``result`` in metrics."""
        if self.error is not None:
            return "error"
        if self.result.requeue_after is None:
            return "success"
        return "requeue_after" if self.result.requeue_after else "requeue"

    @property
    def is_terminal(self) -> bool:
        """Whether a retry would not help."""
        return isinstance(self.error, PermanentError)

    @property
    def is_panic(self) -> bool:
        """Whether the reconciler broke its contract, for example by an invalid result."""
        return isinstance(self.error, ReconcilePanicError)

    @property
    def is_timeout(self) -> bool:
        """Whether the reconcile exceeded its timeout."""
        return isinstance(self.error, ReconcileTimeoutError)


SUCCESS: Final = ReconcileOutcome()


class Invocation:
    """Calls the reconciler of a controller.

    Args:
        controller: The controller.
        threads: Runs plain functions.

    Raises:
        Exception: Whatever the constructor of the reconciler's class raises.
    """

    def __init__(self, controller: Controller[Any], threads: ThreadRunner) -> None:
        self._controller = controller
        self._threads = threads
        self._declared = controller.function
        self._function = controller.function.bind()

    async def call(self, context: ReconcileContext[Any], obj: Object | None) -> ReconcileOutcome:
        """Reconcile an object. Errors of the reconciler are part of the outcome.

        Raises:
            asyncio.CancelledError: If the caller is cancelled.
        """
        try:
            returned = await self._call_in_time(context, obj)
            return SUCCESS if returned is None else ReconcileOutcome(_check_result(returned))
        except Exception as error:  # noqa: BLE001 - the reconciler is the user's
            return ReconcileOutcome(error=error)
        except BaseException as error:
            if ends_caller(error):
                raise
            return ReconcileOutcome(error=_panic(error))

    async def _call_in_time(self, context: ReconcileContext[Any], obj: Object | None) -> object:
        limit = self._controller.timeout
        arguments = (obj,) if self._declared.takes_object else ()
        # Threads check the time limit themselves, because a thread cannot be cancelled.
        if not self._declared.is_async:
            return await self._threads.call(self._function, context, arguments, limit)
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                return await cast("Awaitable[object]", self._function(context, *arguments))
        except TimeoutError as error:
            # A TimeoutError of the reconciler itself is an ordinary failure.
            if not deadline.expired():
                raise
            timeout = ReconcileTimeoutError(
                f"the reconcile of {context.request} took longer than {limit:g} s, and was cancelled"
            )
            # The traceback of the cancellation ends at the line where the reconciler was waiting.
            cancelled = error.__cause__
            raise timeout.with_traceback(None if cancelled is None else cancelled.__traceback__) from None


def _panic(error: BaseException) -> ReconcilePanicError:
    """Turn a BaseException into an Exception, so that it does not end the worker."""
    if isinstance(error, SystemExit):
        panic = ReconcilePanicError(f"the reconcile called sys.exit({error.code!r})")
    elif isinstance(error, asyncio.CancelledError):
        # The reconciler awaited a task or future that others cancelled.
        reason = describe_error(error)
        panic = ReconcilePanicError(f"the reconcile was cancelled from within{reason and f': {reason}'}")
    else:
        panic = ReconcilePanicError(
            f"the reconcile raised {type(error).__name__}, which is no Exception: {describe_error(error)}"
        )
    panic.__cause__ = error
    return panic


def _check_result(returned: object) -> Result:
    """Check the result of a reconciler.

    Raises:
        ReconcilePanicError: If it is not a Result.
    """
    if isinstance(returned, Result):
        return returned
    raise ReconcilePanicError(
        f"the reconcile returned {returned!r}; return None, or masthead.controller.Result(requeue_after=seconds)"
    )
