"""A snapshot of a running manager, as plain data for the debug page."""

from __future__ import annotations

import asyncio
import heapq
import math
from typing import TYPE_CHECKING, Final

from masthead._controller.log_values import hide_credentials, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._cache.informer.health import InformerHealth
    from masthead._controller.reconcile_loop import ReconcileLoop
    from masthead._controller.runtime import ManagerRuntime
    from masthead._controller.user_errors import RepeatedFailure

__all__ = ["describe_manager"]

_ROWS: Final = 100
_SLOWEST: Final = 20
_MAX_KEYS: Final = 20
"""Number of failing and of delayed keys."""
_MAX_ERROR: Final = 1_000
"""Number of characters of an error."""

Row = dict[str, object]


def describe_manager(name: str, runtime: ManagerRuntime) -> Mapping[str, object]:
    """Describe a running manager. Every section has a limited number of rows.

    Args:
        name: The name of the manager.
        runtime: The run.
    """
    loops = runtime.loops
    return {
        "manager": _describe_replica(name, runtime),
        "controllers": [_describe_controller(controller, loop) for controller, loop in loops.items()],
        "queues": [_describe_queue(controller, loop) for controller, loop in loops.items()],
        "failing": _describe_failing(runtime.failing()),
        "delayed": _describe_delayed(loops),
        "in-flight": _describe_flights(loops),
        "slowest": _describe_slowest(loops),
        "informers": [_describe_informer(informer, health) for informer, health in runtime.factory.health.items()],
    }


def _describe_replica(name: str, runtime: ManagerRuntime) -> Row:
    row: Row = {"name": name, "leading": runtime.is_leading}
    elector = runtime.elector
    if elector is not None:
        error = elector.last_error
        row |= {
            "identity": elector.identity,
            "leader": elector.leader,
            "overdue": elector.is_overdue,
            "last error of the lease": "" if error is None else str(error),
        }
    return row | {"namespaces": list(runtime.options.namespaces) or "all"}


def _describe_controller(name: str, loop: ReconcileLoop) -> Row:
    return {
        "controller": name,
        "started": loop.is_started,
        "workers": loop.controller.workers,
        "in flight": len(loop.requests.flights),
        **{result: loop.requests.metrics.counts[result] for result in ("success", "error", "requeue", "requeue_after")},
    }


def _describe_queue(name: str, loop: ReconcileLoop) -> Row:
    stats = loop.requests.queue.keys.stats()
    oldest, due = stats.oldest, stats.next_due
    return {
        "queue": name,
        "ready": sum(stats.ready.values()),
        "by priority": " ".join(f"{priority}:{count}" for priority, count in stats.ready.items()),
        "delayed": stats.delayed,
        "processing": len(stats.processing),
        "dirty": stats.dirty,
        "oldest": "" if oldest is None else f"{oldest[0]} ({oldest[1]:.3f} s)",
        "next due": "" if due is None else f"{due:.3f} s",
    }


def _describe_failing(failing: Mapping[str, RepeatedFailure]) -> list[Row]:
    """List the reconciles and other functions whose last call failed, by the number of failures."""
    return [
        {
            "failing": name,
            "failures": failure.times,
            "last error": shortened(hide_credentials(failure.message), _MAX_ERROR),
        }
        for name, failure in heapq.nlargest(_MAX_KEYS, failing.items(), key=lambda item: item[1].times)
    ]


def _describe_delayed(loops: Mapping[str, ReconcileLoop]) -> list[Row]:
    """List the delayed keys with the reasons of their next reconcile, sorted by time."""
    due = [
        (seconds, name, request.key)
        for name, loop in loops.items()
        for request, seconds in loop.requests.queue.keys.delays().items()
    ]
    waiting = {name: loop.requests.queue.waiting() for name, loop in loops.items()}
    return [
        {
            "controller": name,
            "object": key,
            "due": f"{seconds:.3f} s",
            "reasons": shortened(hide_credentials("; ".join(waiting[name].get(key, ()))), _MAX_ERROR),
        }
        for seconds, name, key in heapq.nsmallest(_MAX_KEYS, due)
    ]


def _describe_flights(loops: Mapping[str, ReconcileLoop]) -> list[Row]:
    # The clock of `Flight.started`, which is virtual time in tests.
    now = asyncio.get_running_loop().time()
    rows: list[tuple[float, Row]] = [
        (
            now - flight.started,
            {
                "controller": name,
                "object": flight.request.key,
                "seconds": round(now - flight.started, 3),
                "attempt": flight.attempt + 1,
                "id": flight.id,
                "reasons": "; ".join(flight.reasons),
            },
        )
        for name, loop in loops.items()
        for flight in loop.requests.flights
    ]
    return _largest(rows, _ROWS)


def _describe_slowest(loops: Mapping[str, ReconcileLoop]) -> list[Row]:
    rows: list[tuple[float, Row]] = [
        (seconds, {"controller": name, "object": key, "seconds": round(seconds, 3), "id": reconcile_id})
        for name, loop in loops.items()
        for seconds, key, reconcile_id in loop.requests.metrics.slowest
    ]
    return _largest(rows, _SLOWEST)


def _largest(rows: Iterable[tuple[float, Row]], count: int) -> list[Row]:
    # Sorted by the seconds alone, because rows are dicts and cannot be compared.
    return [row for _, row in sorted(rows, key=lambda row: -row[0])[:count]]


def _describe_informer(name: str, health: InformerHealth) -> Row:
    return {
        "informer": name,
        "state": health.state,
        "synced": health.is_synced,
        "objects": health.objects,
        "version": health.version,
        "stale": _since(health.staleness),
        "last event": _since(health.since_event),
        "relists": health.relists,
        "reconnects": health.reconnects,
        "failures": health.failures,
        "broken": len(health.broken),
        "pending": sum(health.pending.values()),
        "last error": health.last_error,
    }


def _since(seconds: float) -> str:
    return "never" if seconds == math.inf else f"{seconds:.1f} s"
