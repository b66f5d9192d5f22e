"""The blocking leader elector: renews on the client's event loop, and calls the work in the caller's thread."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from masthead._controller.user_errors import raise_in_future
from masthead._leaderelection.election_options import ElectionOptions, record_of, utc_now
from masthead._leaderelection.elector import Elector
from masthead._leaderelection.leadership import LeadershipView
from masthead._module import set_module
from masthead._sansio.lease_records import LeaseTiming
from masthead._sync.facade import behind
from masthead.errors import ArgumentError, ClosedError, LeadershipLostError
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from datetime import datetime
    from typing import ParamSpec

    from masthead._leaderelection.elector import Term
    from masthead._leaderelection.leadership import TermState
    from masthead._sync.client import Client
    from masthead._sync.event_recorder import EventRecorder
    from masthead.errors import MastheadError
    from masthead.metrics import Metrics

    P = ParamSpec("P")

__all__ = ["LeaderElector", "Leadership"]

T = TypeVar("T")


@set_module("masthead.leaderelection")
class Leadership(LeadershipView):
    """The leadership of one term, for its work.

    Threads: may be shared by any number of threads.
    """

    def __init__(self, state: TermState) -> None:
        super().__init__(state)
        self._is_over = threading.Event()
        state.on_revoked.append(self._is_over.set)
        if state.reason:  # over before it began
            self._is_over.set()

    def wait_for_loss(self, timeout: float | None = None) -> bool:
        """Wait until the leadership is lost; return whether it is. Work waits here instead of sleeping.

        Args:
            timeout: Seconds to wait at most; None for no limit.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self.is_valid:
            left = self.remaining if end is None else min(self.remaining, end - time.monotonic())
            if end is not None and left <= 0:
                return False
            self._is_over.wait(left)
        return True


@set_module("masthead")
class LeaderElector:
    """Runs work in at most one of several replicas at a time, by a Lease as client-go's elector does.

    ::

        def work(leadership: masthead.leaderelection.Leadership) -> None:
            while not leadership.wait_for_loss(timeout=1):
                print("one step")

        with masthead.Client() as client:
            LeaderElector(client, "my-operator", "default").run(work)

    The work is called in the thread that calls `run`. The lease is renewed on the client's event loop meanwhile.

    Guarantees:
        The work is called only while the lease is held. A thread cannot be cancelled: when the lease cannot be renewed
        for `renew_deadline` seconds, its `Leadership` ends, and the work has until the end of `lease_duration` to return
        before another replica may lead. The lease is released after the work has returned, and renewed until then. That
        holds if clocks run at rates that differ by less than `lease_duration` / `renew_deadline`, and if the work
        watches its leadership. `Leadership.check` and the fencing token are for processes that may be paused.

    Threads: may be shared by any number of threads; one of them runs it.
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

        Callbacks are called one after the other, in another thread than the work. What they raise is logged; the
        election goes on.

        Args:
            client: The client.
            name: The name of the lease. Elections of different names are independent.
            namespace: The namespace of the lease; None for the client's default namespace.
            identity: The name of this replica; unique among all, also after a restart. By default the host name and
                a UUID.
            lease_duration: How many seconds candidates wait without a renewal before they take over.
            renew_deadline: How many seconds the leader goes on working without a renewal.
            retry_period: Seconds between two tries to acquire or renew.
            release_on_exit: Whether the lease is released when `run` ends, so that another can lead at once.
            recampaign: Whether `run` campaigns again after the leadership was lost, or raises.
            labels: Labels for the lease; others on it are kept.
            clock: The wall clock, for the times that the lease shows. No decision depends on it.
            metrics: Where ``leader_election_master_status``, ``leader_election_slowpath_total`` and
                ``leader_election_overdue`` are recorded.
            on_started_leading: Called when a term begins.
            on_stopped_leading: Called when a term has ended, and its work before. Never without a term.
            on_new_leader: Called with the identity of each new leader, this one included.
            on_overdue: Called if the work has not ended though its lease has expired, so that another may lead.
                To be sure, exit the process there: ``lambda: os._exit(1)``.
            recorder: Records an Event about the Lease, with the reason ``LeaderElection``, when a term begins or ends. It is
                started and stopped by the caller.

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
            on_started_leading=_in_thread(on_started_leading),
            on_stopped_leading=_in_thread(on_stopped_leading),
            on_new_leader=_in_thread(on_new_leader),
            on_overdue=_in_thread(on_overdue),
            record=record_of(recorder),
        )
        self._portal, inner = behind(client)
        self._client = client  # which must not be collected while this is in use
        self._elector = Elector(inner, name, inner.namespace if namespace is None else namespace, options)
        self._campaign: asyncio.Task[object] | None = None
        self._stopping = threading.Event()

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
        """Whether the work still runs though its lease has expired, so that another may lead."""
        return self._elector.is_overdue

    @property
    def last_error(self) -> MastheadError | None:
        """The error of the last request; None if the last one succeeded."""
        return self._elector.last_error

    def health_check(self, tolerance: float = 20.0) -> None:
        """Check, for ``/healthz``, that no work runs for longer than this after its lease has expired.

        Args:
            tolerance: Seconds.

        Raises:
            LeadershipLostError: If the process should be restarted.
        """
        self._elector.health_check(tolerance)

    def stop(self) -> None:
        """End `run`, from any thread or signal handler, without waiting.

        A campaign is given up. A leadership ends, so that its work returns; then the lease is released.
        """
        self._stopping.set()
        self._portal.soon(self._stop_on_loop)

    def run(self, work: Callable[[Leadership], T]) -> T | None:
        """Campaign, and call the work while leading; again after each loss.

        It returns what the work returns, and raises what it raises, when it ends by itself. Work that ends after its
        leadership was lost is called again in the next term; what it raises then is logged.

        Args:
            work: Called with the leadership of each term, in this thread. It returns when the leadership is lost.

        Returns:
            What the work returned; None after `stop`.

        Raises:
            LeadershipLostError: If the leadership was lost, and not `recampaign`.
            ArgumentError: If `work` is a coroutine function.
            ClosedError: If the client is closed.
            RuntimeError: If the elector runs already.
            Exception: Whatever the work raises.
        """
        if inspect.iscoroutinefunction(work):
            raise ArgumentError("the work is a coroutine function; use masthead.aio.LeaderElector for it", value=work)
        self._elector.enter()
        self._stopping.clear()
        try:
            while True:
                term = self._portal.call(self._until_elected())
                if term is None:
                    return None
                is_last, result = self._lead(term, work)
                if is_last:
                    return result
        finally:
            self._leave()

    def _lead(self, term: Term, work: Callable[[Leadership], T]) -> tuple[bool, T | None]:
        """Call the work in a term; return whether that was the last one, and the result."""
        result: T | None = None
        error: BaseException | None = None
        try:
            result = work(Leadership(term.state))
        except BaseException as raised:  # noqa: BLE001 - raised again below, after the lease is released
            error = raised
        is_lost = not term.state.is_valid
        # An interrupt, or an exit, ends everything.
        is_stopped = self._stopping.is_set() or not isinstance(error, Exception | None)
        end = self._elector.end_term(term, error, is_lost=is_lost, is_stopped=is_stopped)
        try:
            is_last = self._portal.call(end)
        except ClosedError:
            if error is None or is_lost:
                raise
            is_last = True
        is_told_to_stop = self._stopping.is_set() and isinstance(error, LeadershipLostError)
        if is_last and error is not None and not is_told_to_stop:
            raise error
        return is_last, result

    async def _until_elected(self) -> Term | None:
        if self._stopping.is_set():
            return None
        self._campaign = asyncio.current_task()
        try:
            return await self._elector.campaign()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            return None
        finally:
            self._campaign = None

    def _stop_on_loop(self) -> None:
        if self._campaign is not None:
            self._campaign.cancel()
        if self._elector.term is not None:
            self._elector.term.state.revoke("stop() was called")

    def _leave(self) -> None:
        leave = self._elector.leave()
        try:
            self._portal.call(leave)
        except ClosedError:
            leave.close()

    def __repr__(self) -> str:
        role = "leading" if self.is_leader else "not leading"
        return f"<{type(self).__name__} {self._elector.lock} as {self.identity}, {role}>"


def _called(call: Callable[[], object]) -> None:
    """Call a function in a thread of the event loop, which cannot receive whatever it may raise."""
    try:
        call()
    except BaseException as error:
        raised = raise_in_future(error, "callback")
        if raised is error:
            raise
        raise raised from error


def _in_thread(call: Callable[P, object] | None) -> Callable[P, Coroutine[object, None, None]] | None:
    """A callback as the event loop calls it: in a thread, because it may block, or call the client."""
    if call is None:
        return None

    async def call_in_thread(*args: P.args, **kwargs: P.kwargs) -> None:
        await asyncio.to_thread(_called, functools.partial(call, *args, **kwargs))

    return call_in_thread
