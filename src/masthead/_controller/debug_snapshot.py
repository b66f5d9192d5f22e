"""A snapshot of a running manager, as plain data for the debug page."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._cache.informer.health import InformerHealth
    from masthead._controller.reconcile_loop import ReconcileLoop
    from masthead._controller.runtime import ManagerRuntime

__all__ = ["describe_manager"]

_ROWS: Final = 100
_SLOWEST: Final = 20

Row = dict[str, object]


def describe_manager(name: str, runtime: ManagerRuntime) -> Mapping[str, object]:
    """Describe a running manager. The cost is bounded by the numbers of its controllers and informers.

    Args:
        name: The name of the manager.
        runtime: The run.
    """
    loops = runtime.loops
    return {
        "manager": _describe_replica(name, runtime),
        "controllers": [_describe_controller(controller, loop) for controller, loop in loops.items()],
        "queues": [_describe_queue(controller, loop) for controller, loop in loops.items()],
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
