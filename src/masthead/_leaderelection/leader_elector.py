"""The leader elector."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, TypeVar

from masthead._leaderelection.election_options import ElectionOptions, bind_recorder, utc_now
from masthead._leaderelection.elector import Elector
from masthead._leaderelection.leadership import Leadership
from masthead._module import set_module
from masthead._sansio.lease_records import LeaseTiming
from masthead.errors import ArgumentError, LeadershipLostError
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from masthead._client.client import Client
    from masthead._leaderelection.elector import Term
    from masthead._record.recorder import EventRecorder
    from masthead.errors import MastheadError
    from masthead.metrics import Metrics

__all__ = ["LeaderElector"]

T = TypeVar("T")


@set_module("masthead.aio")
class LeaderElector:
    """Runs work in at most one of several replicas at a time, with a Lease, as client-go's elector.

    ::

        async def work(leadership: masthead.aio.leaderelection.Leadership) -> None:
            while True:
                leadership.check()  # before every step that two replicas must not take
                await asyncio.sleep(1)

        async with masthead.aio.Client() as client:
            await LeaderElector(client, "my-operator", "default").run(work)

    Guarantees:
        The work runs only while the lease is held. When it cannot be renewed for `renew_deadline` seconds, the work is
        cancelled; it has until the end of `lease_duration` to stop before another replica may lead. The lease is
        released after the work has ended, and renewed until then. That holds if clocks run at rates that differ by less
        than `lease_duration` / `renew_deadline`, and if the work stops when it is cancelled. A process that is paused
        cannot stop; `Leadership.check` and the fencing token are for that.

    Threads: belongs to one event loop; its properties and `health_check` may be used from any thread.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str | None = None,
        *,
        identity: str | None = None,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        release_on_exit: bool = True,
        recampaign: bool = True,
        labels: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = utc_now,
        metrics: Metrics = NO_METRICS,
        on_started_leading: Callable[[], object] | None = None,
        on_stopped_leading: Callable[[], object] | None = None,
        on_new_leader: Callable[[str], object] | None = None,
        on_overdue: Callable[[], object] | None = None,
        recorder: EventRecorder | None = None,
    ) -> None:
        """Create an elector. Nothing is sent before it runs.

        Callbacks are called one after the other on the event loop, and awaited if they are coroutine functions. Their
        errors are logged, and do not affect the election.

        Args:
            client: The client.
            name: The name of the lease. Elections of different names are independent.
            namespace: The namespace of the lease; None for the client's default namespace.
            identity: The name of this replica, unique among all, also after a restart; the host name and a UUID by
                default.
            lease_duration: Seconds without a renewal after which candidates take over.
            renew_deadline: Seconds without a renewal after which the leader stops its work.
            retry_period: Seconds between two attempts to acquire or renew.
            release_on_exit: Whether the lease is released when `run` ends, so that another can lead immediately.
            recampaign: Whether `run` campaigns again after the leadership was lost, or raises.
            labels: Labels for the lease; its other labels stay.
            clock: The wall clock, for the times in the lease. No decision depends on it.
            metrics: Receives ``leader_election_master_status``, ``leader_election_slowpath_total`` and
                ``leader_election_overdue``.
            on_started_leading: Called when a term begins.
            on_stopped_leading: Called after the end of a term and its work; never without a term.
            on_new_leader: Called with the identity of each new leader, including this one.
            on_overdue: Called if the work still runs when its lease expires, so that another replica may lead. To be
                safe, exit the process there: ``lambda: os._exit(1)``.
            recorder: Records an Event about the Lease, with the reason ``LeaderElection``, when a term begins or ends.
                The caller starts and stops it.

        Raises:
            ArgumentError: Unless lease_duration > renew_deadline > 1.2 * retry_period > 0; or if the identity is
                empty, a label is invalid, or the recorder is not an `EventRecorder`.
            NameFormatError: If the name or the namespace is invalid.
        """
        options = ElectionOptions(
            timing=LeaseTiming(lease_duration, renew_deadline, retry_period),
            identity=identity,
            release_on_exit=release_on_exit,
            recampaign=recampaign,
            labels=labels or {},
            clock=clock,
            metrics=metrics,
            on_started_leading=on_started_leading,
            on_stopped_leading=on_stopped_leading,
            on_new_leader=on_new_leader,
            on_overdue=on_overdue,
            record=bind_recorder(recorder),
        )
        self._elector = Elector(client, name, client.namespace if namespace is None else namespace, options)

    @property
    def identity(self) -> str:
        """The name of this replica."""
        return self._elector.election.identity

    @property
    def is_leader(self) -> bool:
        """Whether this replica leads now, by its own clock."""
        return self._elector.is_leader

    @property
    def leader(self) -> str:
        """The identity of the last known leader; empty if none is known, or the lease was released."""
        return self._elector.election.holder

    @property
    def is_overdue(self) -> bool:
        """Whether the work still runs after its lease has expired, so that another replica may lead."""
        return self._elector.is_overdue

    @property
    def last_error(self) -> MastheadError | None:
        """The error of the last request; None if the last one succeeded."""
        return self._elector.last_error

    def health_check(self, tolerance: float = 20.0) -> None:
        """Check, for ``/healthz``, that no work outlives its lease by more than the tolerance.

        Args:
            tolerance: Seconds.

        Raises:
            LeadershipLostError: If the process should be restarted.
        """
        self._elector.health_check(tolerance)

    async def run(self, work: Callable[[Leadership], Awaitable[T]]) -> T:
        """Campaign, and run the work while leading; again after each loss.

        Returns the result of the work, or raises its error, if it ends while leading. Work that ends after the loss of
        its leadership runs again in the next term, and its error is logged.

        Args:
            work: Called with the leadership of each term. It is cancelled when the leadership is lost.

        Raises:
            LeadershipLostError: If the leadership was lost, and not `recampaign`.
            ArgumentError: If `work` does not return an awaitable.
            ClosedError: If the client is closed.
            RuntimeError: If the elector runs already.
            Exception: Whatever the work raises.

        Cancellation:
            Cancels the work, waits for its end while the lease is renewed, and releases the lease.
        """
        elector = self._elector
        elector.enter()
        try:
            while True:
                term = await elector.campaign()
                ended = await self._lead(term, work)
                if ended is not None:
                    return ended.result()
        finally:
            await elector.leave()

    async def _lead(self, term: Term, work: Callable[[Leadership], Awaitable[T]]) -> asyncio.Task[T] | None:
        """Run the work in a term; return its task after the last term."""
        elector = self._elector
        call = _call(work, Leadership(term.state))
        task = asyncio.get_running_loop().create_task(call, name=f"work of lease {elector.lock}")
        term.state.on_revoked.append(task.cancel)
        if term.state.reason:  # the term ended before the work could start
            task.cancel()
        is_stopped = False
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                # Wait on: the lease is renewed until the work has ended.
                is_stopped = True
                task.cancel()
        term.state.on_revoked.remove(task.cancel)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        is_lost = not term.state.is_valid
        if not await elector.end_term(term, error, is_lost=is_lost, is_stopped=is_stopped):
            return None
        if is_stopped and is_lost and isinstance(error, LeadershipLostError):
            raise asyncio.CancelledError
        return task

    def __repr__(self) -> str:
        role = "leading" if self.is_leader else "not leading"
        return f"<LeaderElector {self._elector.lock} as {self.identity}, {role}>"


async def _call(work: Callable[[Leadership], Awaitable[T]], leadership: Leadership) -> T:
    awaitable = work(leadership)
    if not inspect.isawaitable(awaitable):
        raise ArgumentError(
            f"the work returned {type(awaitable).__name__}; give a coroutine function, or use masthead.LeaderElector "
            "for plain functions",
            value=work,
        )
    return await awaitable
