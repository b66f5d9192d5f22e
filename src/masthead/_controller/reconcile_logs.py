"""Log lines about the outcome of reconciles."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._cache.informer.mutation_detector import changed_paths
from masthead._controller.user_errors import describe_cause, describe_error, with_user_frames
from masthead.errors import MastheadError, MutationError, PermanentError, StaleObjectError, TemporaryError

if TYPE_CHECKING:
    from masthead._controller.controller import Controller
    from masthead._controller.flight import Flight
    from masthead._controller.invocation import ReconcileOutcome
    from masthead._controller.requests import Request
    from masthead._meta.object import Object

__all__ = ["describe_mutation", "log_outcome", "log_unused_finalizer"]

_TRACEBACK_EVERY: Final = 10
"""The first of this number of failures in a row is logged with its traceback."""


def log_outcome(log: logging.Logger, flight: Flight, outcome: ReconcileOutcome) -> None:
    """Log the success or failure of a reconcile."""
    error = outcome.error
    if error is None:
        log.debug("reconciled %s", flight.request)
        return
    level = logging.INFO if isinstance(error, TemporaryError | StaleObjectError) else logging.ERROR
    log.log(
        level,
        "reconcile of %s failed (attempt %d): %s",
        flight.request,
        flight.attempt + 1,
        _summarize(error),
        exc_info=with_user_frames(error) if _is_traced(log, flight, error) else None,
    )


def log_unused_finalizer(
    log: logging.Logger, controller: Controller[Any], request: Request, *, is_guarded: bool
) -> None:
    """Log that the declared finalizer of a controller has no effect.

    Args:
        log: The logger.
        controller: The controller.
        request: The object whose reconcile did not call ``ctx.finalize``.
        is_guarded: Whether the object has the finalizer.
    """
    log.warning(
        "controller %s declares finalizer=%r, but the reconcile of %s returned without calling ctx.finalize, which "
        "adds and removes it: it has no effect on %s, which %s. Begin every reconcile with "
        "`if %sctx.finalize(cleanup): return`, or remove finalizer= from the controller",
        controller.name,
        controller.finalizer,
        request,
        request,
        "waits for the finalizer when it is deleted, and never goes away"
        if is_guarded
        else "is deleted without a cleanup",
        "await " if controller.function.is_async else "",
    )


def describe_mutation(obj: Object) -> MutationError:
    """Return the error of a reconcile that mutated its cached object."""
    return MutationError(
        f"the reconcile changed {', '.join(changed_paths(obj)) or 'something'} of its object, which the cache shares; "
        "change a copy instead: obj.copy()",
        keys=(obj.key,),
    )


def _is_traced(log: logging.Logger, flight: Flight, error: BaseException) -> bool:
    """Whether to log the traceback of a failure: at intervals, and not if the reconcile ended on purpose."""
    if isinstance(error, TemporaryError | PermanentError | StaleObjectError):
        return log.isEnabledFor(logging.DEBUG)
    return not isinstance(error, asyncio.CancelledError) and flight.attempt % _TRACEBACK_EVERY == 0


def _summarize(error: BaseException) -> str:
    if isinstance(error, MastheadError):
        return describe_error(error)
    if isinstance(error, BaseExceptionGroup):
        return describe_error(cast("BaseException", error))
    return f"{error!r}{describe_cause(error)}"
