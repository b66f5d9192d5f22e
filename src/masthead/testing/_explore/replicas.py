"""The replicas of the operator in a run: started, killed, absent and replaced."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._cache.informer.informer import pipeline_of
from masthead._controller.reconcile_observer import reconcile_observer
from masthead.testing._explore.control import view_of
from masthead.testing._explore.external import RecordedSystem
from masthead.testing._explore.views import StaleViews
from masthead.testing._replica import Replica
from masthead.testing.virtual_time import process

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Awaitable, Callable

    from masthead import Manager
    from masthead.testing._explore.control import RunControl
    from masthead.testing._explore.explored_environment import ExploredEnvironment
    from masthead.testing._explore.faults import Absence, Crash, HandOver, Restart
    from masthead.testing._explore.recording import RunRecorder
    from masthead.testing._explore.target import Target
    from masthead.testing._explore.trace import ObjectView

__all__ = ["OperatorReplicas"]

_MAX_RESTARTS: Final = 5
"""The maximum number of restarts of an operator that exits."""
_RESTART_SECONDS: Final = 10.0
"""Virtual seconds until an operator that has exited is restarted."""
_TAKEOVER_SECONDS: Final = 60
"""Virtual seconds for a standby to take over from a suspended leader."""


class OperatorReplicas:
    """The replicas of the operator.

    Args:
        target: The operator, its workload and their options.
        env: The environment.
        recorder: Records the run.
        control: Controls the requests of each replica.
        system: The fake of the external system; None for none.

    Attributes:
        views: The stale views of the replicas.
    """

    def __init__(
        self,
        target: Target,
        env: ExploredEnvironment,
        recorder: RunRecorder,
        control: RunControl,
        system: object | None,
    ) -> None:
        self._target = target
        self._env = env
        self._recorder = recorder
        self._control = control
        self._system = system
        self._number = 0
        self._absent: Absence | None = None
        self._successors: set[asyncio.Task[None]] = set()
        self._restarts = 0
        env.hooks.append(control)
        env.restart_ended = self._restart_ended
        self.views: StaleViews = StaleViews(env, recorder, self._relist)

    @property
    def newest(self) -> str:
        """The name of the newest replica; before the start, of the first."""
        return _name(max(self._number, 1))

    @property
    def is_absent(self) -> bool:
        """Whether the operator is absent."""
        return self._absent is not None

    @property
    def is_down(self) -> bool:
        """Whether the operator is absent, and does not run."""
        return self._absent is not None and self._absent.how == "down"

    async def install(self) -> None:
        """Install the custom resources of the operator, which users need even if it is down."""
        await self._env.install(self._make())

    async def start(self, fault: Crash | Restart | HandOver | None = None, last: int = 0) -> Replica:
        """Start a replica, with the stale view of a fault if there is one."""
        recorder = self._recorder
        # Before the replica exists: its first list must be stale already.
        if fault is not None and fault.view:
            resources = fault.resources or recorder.result.resources
            self.views.freeze(fault, _name(self._number + 1), resources, last or recorder.step)
        self._number += 1
        # The observer is inherited by all tasks of the replica.
        token = reconcile_observer.set(self._control)
        try:
            replica = await self._env.start(self._make, _name(self._number))
        finally:
            reconcile_observer.reset(token)
        # A successor of a paused replica is as paused.
        if self._absent is not None and self._absent.how == "workers":
            replica.pause_workers()
        recorder.add("replica", f"{replica.name} starts", replica=replica.name)
        # Once: all replicas watch the same kinds, and the planner needs them from the reference.
        if not recorder.result.resources:
            recorder.result.resources = sorted({str(where.resource.group_resource) for where, _ in replica.caches()})
        return replica

    def _make(self) -> Manager:
        """Make the manager of a replica."""
        # All replicas share the fake: the outside world survives a crash.
        if self._system is None:
            return self._target.make_app()
        return self._target.make_app(RecordedSystem(self._system, self._control))

    def kill(self) -> None:
        """Kill all replicas."""
        for replica in self._env.replicas:
            replica.kill()

    def succeed(self, fault: Crash) -> None:
        """Start the successor of a crashed replica, as a task."""
        self._begin(lambda: self.start(fault, fault.last))

    def _begin(self, start: Callable[[], Awaitable[object]]) -> None:
        """Start a replica as a task, for which the environment waits."""
        # Counted immediately: until the task runs, the environment would look idle.
        self._env.starting += 1

        async def begin() -> None:
            try:
                await start()
            finally:
                self._env.starting -= 1

        # A reference to each task, because the event loop holds tasks weakly.
        self._successors.add(asyncio.get_running_loop().create_task(begin()))

    def _restart_ended(self) -> None:
        """Start successors of replicas that have ended by themselves because of a fault, as a cluster would."""
        for replica in self._env.started:
            if not replica.has_ended_by_itself or self._restarts >= _MAX_RESTARTS:
                continue
            # Without a fault, the end is a defect.
            if not self._recorder.has_struck:
                return
            self._restarts += 1
            self._recorder.add(
                "replica", f"{replica.name} has ended by itself: {replica.error!r}", replica=replica.name
            )
            # Marks the end as expected, so that the environment does not report it.
            replica.kill()
            self._begin(self._start_later)

    async def _start_later(self) -> None:
        # As after a CrashLoopBackOff: the cause may need time to pass.
        await asyncio.sleep(_RESTART_SECONDS)
        await self.start()

    def check(self) -> None:
        """Check that successors could be started.

        Raises:
            Exception: The error of a failed start.
        """
        for task in self._successors:
            if task.done():
                task.result()

    async def hand_over(self, leader: Replica, fault: HandOver, context: contextvars.Context) -> None:
        """Suspend a leader until a standby leads."""

        async def replace() -> None:
            standby = await self.start(fault)
            # Only now: the standby must have tried, and failed, to get the lease.
            leader.pause()
            # The step ends after the leader resumes.
            self._env.starting += 1
            for _ in range(_TAKEOVER_SECONDS):
                await asyncio.sleep(1.0)
                if standby.is_leading:
                    self._recorder.add("replica", f"{standby.name} leads", replica=standby.name)
                    break
            else:
                self._recorder.note(f"{standby.name} did not take over within {_TAKEOVER_SECONDS} s")
            self._env.starting -= 1
            leader.resume()

        # Outside of the leader's process, which is suspended.
        await asyncio.shield(asyncio.get_running_loop().create_task(replace(), context=context.copy()))

    def begin_absence(self, fault: Absence) -> None:
        """Let the operator do nothing from now on."""
        recorder = self._recorder
        # Steps begin before the operator has seen the last one, so that a failing workload proves nothing.
        recorder.result.is_delayed = True
        self._absent = fault
        if fault.how == "down":
            recorder.strike(fault, "the operator is down")
            # Killed and not stopped: a graceful end would be a reconcile more.
            self.kill()
            return
        recorder.strike(fault, "the workers of the operator pause")
        for replica in self._env.replicas:
            replica.pause_workers()

    async def end_absence(self, step: int | None = None) -> bool:
        """Let the operator work again, if its absence ends with a step; return whether it does."""
        fault = self._absent
        if fault is None or (step is not None and fault.last > step):
            return False
        self._absent = None
        if fault.how == "down":
            await self.start()
            return True
        self._recorder.add("fault", "the workers go on")
        for replica in self._env.replicas:
            replica.resume_workers()
        return True

    def _relist(self, resources: frozenset[str]) -> None:
        for replica in self._env.replicas:
            for where, informer in replica.caches():
                if str(where.resource.group_resource) in resources:
                    # A list instead of the held events, as after an expired version.
                    pipeline = pipeline_of(informer)
                    for scope in pipeline.sources:
                        pipeline.reopen(scope, relists=True)

    # Queries

    def calling(self) -> Replica:
        """Return the replica whose code is running; in threads without a context, the newest one."""
        current = process.get()
        return current if isinstance(current, Replica) else self._env.replicas[-1]

    def cached(self, replica: Replica, resource: str, key: str) -> ObjectView | None:
        """Return an object in the cache of a replica; None if its kind is not cached."""
        for where, informer in replica.caches():
            if str(where.resource.group_resource) == resource:
                return view_of(informer.indexer.get_by_key(key))
        return None

    def primary_resource(self, replica: Replica, controller: str) -> str:
        """Return the resource of a controller's objects."""
        found = next((found for found in replica.manager.controllers if found.name == controller), None)
        return "" if found is None else str(found.primary.resource.group_resource)

    def is_leading(self, replica: Replica) -> bool:
        """Whether a replica holds its lease, by the lease on the server."""
        options = replica.runtime.options
        # By the object on the server, because a replica that stood still believes in its old lease.
        if not options.leader_election:
            return True
        leases = self._env.server.dump().get("leases.coordination.k8s.io", {})
        holders = {
            str(cast("dict[str, Any]", lease).get("spec", {}).get("holderIdentity"))
            for key, lease in leases.items()
            if key.rpartition("/")[2] == options.leader_election_id
        }
        return replica.name in holders


def _name(number: int) -> str:
    return f"operator-{number}"
