"""An environment whose steps and waits a run controls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from masthead.testing._environment import Environment, NotIdleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead import Manager
    from masthead.testing._exchanges import RequestHook
    from masthead.testing._explore.target import Target
    from masthead.testing._replica import Replica

__all__ = ["ExploredEnvironment"]

_RETRIES_WITHIN: Final = 60.0
"""Virtual seconds: retries that are due within this time belong to a step."""
_TIMEOUT: Final = 1_800.0
"""Virtual seconds for a step to become idle."""
_LATE_SECONDS: Final = 20.0
"""Virtual seconds for what an operator does while its caches lag behind on purpose."""
_REQUEUE_WITHIN: Final = 120.0
"""Virtual seconds: requeues that are due within this time belong to a step, as long as they change something."""
_MAX_REQUEUES: Final = 60
"""The maximum number of rounds of requeues that belong to a step."""
_FUTILE_SECONDS: Final = 61.0
"""Virtual seconds without a change of the store after which retries count as polling, such as for a missing Secret."""
_IDLE_REQUEUES: Final = 2
"""The number of rounds without a change after which requeues count as polling."""


class ExploredEnvironment(Environment):
    """An environment for one run of a schedule. The workload's `wait_for_idle` ends a step.

    Args:
        target: The operator, its workload and their options.
        seed: The source of all randomness.
        end_step: Called when the workload waits.

    Attributes:
        late: Resources whose events are held on purpose, so that caches may lag behind: ``websites.example.com``.
        starting: The number of replicas that are about to start.
    """

    def __init__(self, target: Target, seed: int, end_step: Callable[[], Awaitable[None]], **options: Any) -> None:  # noqa: ANN401
        server_options = {"record_changes": True, **target.server_options}
        # An election would only add requests, unless the user asks for one.
        environment_options: dict[str, Any] = {"leader_election": False, **target.overrides, **options}
        super().__init__(
            crds=target.crds,
            objects=target.objects,
            server_options=server_options,
            seed=seed,
            **environment_options,
        )
        self._end_step = end_step
        self.late: set[str] = set()
        self.starting: int = 0
        self._late_since: float | None = None
        self._last_change = (-1, 0.0)
        self.restart_ended: Callable[[], None] = lambda: None
        """Starts successors of replicas that have ended by themselves."""

    @property
    def hooks(self) -> list[RequestHook]:
        """Hooks that control the requests of all replicas from their start on."""
        return self._hooks

    @property
    def started(self) -> list[Replica]:
        """All replicas in the order of their start, ended ones included."""
        return list(self._replicas)

    async def install(self, manager: Manager) -> None:
        """Install the custom resources and webhooks of a manager, before any replica starts."""
        await self._install_kinds(manager)
        await self._install_webhooks(manager)

    async def wait_for_idle(self, *, retries_within: float = 1.0, timeout: float = 600.0) -> None:  # noqa: ASYNC109
        """End a step of the workload."""
        del retries_within, timeout
        await self._end_step()

    async def advance(self, seconds: float) -> None:
        """End a step of the workload, and let time pass."""
        # The step first, or the timers of the operator would run into its faults.
        await self._end_step()
        await super().advance(seconds)

    async def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        await super().advance(seconds)

    async def settle(self) -> None:
        """Wait until all is idle, except for what faults hold.

        Operators work in several reconciles, with requeues in between. So requeues are waited for as long as they
        change something.

        Raises:
            NotIdleError: If work remains.
        """
        try:
            await self._settle()
        except NotIdleError:
            # A stale operator may fight with the cluster. The release of its caches must end that.
            if not self.late:
                raise

    async def _settle(self) -> None:
        idle_rounds, self._late_since = 0, None
        for _ in range(_MAX_REQUEUES):
            await super().wait_for_idle(retries_within=_RETRIES_WITHIN, timeout=_TIMEOUT)
            due = self._next_requeue()
            if self.late or due is None or due > _REQUEUE_WITHIN or idle_rounds >= _IDLE_REQUEUES:
                return
            revision = self.server.revision
            await super().advance(due)
            await super().wait_for_idle(retries_within=_RETRIES_WITHIN, timeout=_TIMEOUT)
            # Requeues without a change are polling, which never ends.
            idle_rounds = 0 if self.server.revision > revision else idle_rounds + 1

    def _next_requeue(self) -> float | None:
        """Return the seconds until the next requeue; None without one."""
        delays = [
            delay
            for replica in self.replicas
            if not replica.is_paused
            for loop in replica.runtime.loops.values()
            for delay in loop.requests.queue.keys.delays().values()
        ]
        return min(delays, default=None)

    async def _remaining_work(self, retries_within: float) -> list[str]:
        # First, because the check of the environment would report an ended replica as a failure.
        self.restart_ended()
        if self.starting:
            return [f"{self.starting} replicas start"]
        if self._has_been_late():
            return []
        return await super()._remaining_work(0.0 if self._has_been_futile() else retries_within)

    def _has_been_futile(self) -> bool:
        """Whether nothing has changed for so long that further retries will not change anything either."""
        now, revision = asyncio.get_running_loop().time(), self.server.revision
        if revision != self._last_change[0]:
            self._last_change = (revision, now)
        return now - self._last_change[1] >= _FUTILE_SECONDS

    def _has_been_late(self) -> bool:
        """Whether an operator with stale caches has had its time: it may wait for its own writes until the release."""
        now = asyncio.get_running_loop().time()
        if not self.late:
            self._late_since = None
        elif self._late_since is None:
            self._late_since = now
        return self._late_since is not None and now - self._late_since >= _LATE_SECONDS

    async def _describe_lag(self, replica: Replica) -> list[str]:
        return [] if self.late else await super()._describe_lag(replica)
