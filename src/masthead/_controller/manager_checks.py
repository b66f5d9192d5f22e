"""Health and readiness checks of a running manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead.errors import ManagerStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._controller.reconcile_loop import ReconcileLoop

__all__ = ["ManagerChecks"]


class ManagerChecks:
    """Checks the informers and controllers of a running manager.

    Args:
        factory: The informers.
        loops: The running controllers by name.
    """

    def __init__(self, factory: SharedInformerFactory, loops: Mapping[str, ReconcileLoop]) -> None:
        self._factory = factory
        self._loops = loops

    @property
    def health(self) -> dict[str, Callable[[], object]]:
        """Checks for ``/healthz``."""
        return {"ping": check_event_loop, "reconciles": self.check_stuck}

    @property
    def readiness(self) -> dict[str, Callable[[], object]]:
        """Checks for ``/readyz``."""
        return {"informers": self.check_synced, "controllers": self.check_started}

    async def check_synced(self) -> None:
        """Check that all caches have synced.

        Raises:
            ManagerStateError: If one has not.
        """
        late = [
            f"{name} ({health.last_error or 'no full state has come yet'})"
            for name, health in self._factory.health.items()
            if not health.is_synced
        ]
        if late:
            raise ManagerStateError(f"not synced: {', '.join(late)}")

    async def check_stuck(self) -> None:
        """Check that no controller needs a restart of the process.

        Raises:
            ManagerStateError: If one does.
        """
        problems = [f"{name}: {loop.problem}" for name, loop in self._loops.items() if loop.problem]
        if problems:
            raise ManagerStateError(f"{'; '.join(problems)}; restart the process")

    async def check_started(self) -> None:
        """Check that all controllers have started. A replica that does not lead has none, and is ready.

        Raises:
            ManagerStateError: If one has not.
        """
        late = [name for name, loop in self._loops.items() if not loop.is_started]
        if late:
            raise ManagerStateError(f"not started: {', '.join(late)}")


async def check_event_loop() -> None:
    """Succeed: an answer proves that the event loop runs."""
