"""Caches that lag behind the server on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead.testing._explore.faults import HeldEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from masthead.testing._explore.explored_environment import ExploredEnvironment
    from masthead.testing._explore.faults import Crash, HandOver, PlannedFault, Restart
    from masthead.testing._explore.recording import RunRecorder
    from masthead_server.faults import Fault

__all__ = ["StaleViews"]


@dataclass(frozen=True, slots=True)
class _View:
    """Caches that lag behind.

    Attributes:
        cause: The fault of the schedule.
        faults: The faults of the server.
        resources: The resources that lag behind.
        last: The step at whose end they are released.
    """

    cause: PlannedFault
    faults: Sequence[Fault]
    resources: frozenset[str]
    last: int


class StaleViews:
    """The stale views of a run.

    Args:
        env: The environment.
        recorder: Records the run.
        relist: Restarts the informers of some resources with a list.

    Attributes:
        unused: Faults whose view nothing has asked for.
    """

    def __init__(
        self, env: ExploredEnvironment, recorder: RunRecorder, relist: Callable[[frozenset[str]], None]
    ) -> None:
        self._env = env
        self._recorder = recorder
        self._relist = relist
        self._views: list[_View] = []
        self.unused: list[PlannedFault] = []

    def hold(self, fault: HeldEvents, client: str) -> None:
        """Hold the events of a resource after a revision."""
        plural, _, group = fault.resource.partition(".")
        held = self._env.server.faults.hold_events(
            after_revision=fault.revision, resource=plural, group=group, client=client
        )
        self._add(_View(fault, [held], frozenset({fault.resource}), fault.last))
        self._recorder.strike(fault, f"no events of {fault.resource} after revision {fault.revision}")

    def freeze(self, fault: Crash | Restart | HandOver, client: str, resources: Iterable[str], last: int) -> None:
        """Freeze what a replica sees of some resources, before it starts."""
        frozen: list[Fault] = []
        # Sorted, so that runs are equal in all processes.
        for resource in sorted(resources):
            plural, _, group = resource.partition(".")
            frozen.append(self._env.server.faults.freeze(fault.view, resource=plural, group=group, client=client))
        self._add(_View(fault, frozen, frozenset(resources), last))

    def release(self, step: int | None = None) -> bool:
        """Release the views that end with a step, or all; return whether there were any."""
        ending = [view for view in self._views if step is None or view.last <= step]
        if not ending:
            return False
        self._views = [view for view in self._views if view not in ending]
        for view in ending:
            # Nothing was hidden: the run proves nothing about stale caches.
            if not any(fault.hits for fault in view.faults):
                self.unused.append(view.cause)
            # Before the events are released, so that none of them is seen.
            if isinstance(view.cause, HeldEvents) and view.cause.is_lost:
                self._relist(view.resources)
            for fault in view.faults:
                fault.remove()
            self._env.late -= view.resources
        # The steps since then began although the operator could not know about them.
        self._recorder.result.is_delayed = True
        self._recorder.add("fault", "the caches catch up")
        return True

    def _add(self, view: _View) -> None:
        self._views.append(view)
        self._env.late |= view.resources
