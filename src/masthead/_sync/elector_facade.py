"""The parts of the blocking elector that are not generated: work in the caller's thread, and callbacks in threads."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from typing import TYPE_CHECKING, TypeVar, cast

from masthead._leaderelection.leader_elector import LeaderElector
from masthead._meta.daemon_executor import make_awaitable_error
from masthead._sync.facade import Facade, behind
from masthead._sync.leadership import Leadership
from masthead.errors import ArgumentError, ClosedError, LeadershipLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import ParamSpec, Unpack

    from masthead._client.client import Client as AsyncClient
    from masthead._leaderelection.election_options import ElectorSettings
    from masthead._leaderelection.elector import Elector, Term
    from masthead._record.recorder import EventRecorder as AsyncEventRecorder
    from masthead._sync.client import Client
    from masthead._sync.event_recorder import EventRecorder
    from masthead._sync.portal import Portal

    P = ParamSpec("P")

__all__ = ["ElectorFacade", "PortalElector", "elector_client_of"]

T = TypeVar("T")


class PortalElector(LeaderElector):
    """An elector on the client's event loop that calls back in threads.

    Args:
        client: The client.
        name: The name of the lease.
        namespace: The namespace of the lease; None for the client's.
        on_started_leading: Called when a term begins.
        on_stopped_leading: Called when a term has ended.
        on_new_leader: Called with the identity of each new leader.
        on_overdue: Called if the work has not ended though its lease has expired.
        recorder: Records Events about the Lease.
        settings: The other arguments of `LeaderElector`.
    """

    def __init__(
        self,
        client: AsyncClient,
        name: str,
        namespace: str | None = None,
        *,
        on_started_leading: Callable[[], object] | None,
        on_stopped_leading: Callable[[], object] | None,
        on_new_leader: Callable[[str], object] | None,
        on_overdue: Callable[[], object] | None,
        recorder: EventRecorder | None,
        **settings: Unpack[ElectorSettings],
    ) -> None:
        super().__init__(
            client,
            name,
            namespace,
            on_started_leading=_in_thread(on_started_leading),
            on_stopped_leading=_in_thread(on_stopped_leading),
            on_new_leader=_in_thread(on_new_leader),
            on_overdue=_in_thread(on_overdue),
            # Only `record` is called, which does not wait and is the same in both façades.
            recorder=cast("AsyncEventRecorder | None", recorder),
            **settings,
        )

    @property
    def elector(self) -> Elector:
        """Campaigns and terms."""
        return self._elector


def elector_client_of(client: Client) -> tuple[Portal, AsyncClient]:
    """Return the portal and the async client of a blocking client."""
    return behind(client)


class ElectorFacade(Facade[PortalElector]):
    """The base of the blocking elector."""

    def __init__(self, portal: Portal, inner: PortalElector) -> None:
        super().__init__(portal, inner)
        self._campaign: asyncio.Task[object] | None = None
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End `run`, from any thread or signal handler, without waiting.

        A campaign is given up. A leadership ends, so that its work returns; then the lease is released.
        """
        self._stopping.set()
        self._portal.soon(self._stop_on_loop)

    def run(self, work: Callable[[Leadership], T]) -> T | None:
        """Campaign, and call the work while leading; again after each loss.

        It returns what the work returns, and raises what it raises, when it ends without being stopped. Work that ends after its
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
        self._async.elector.enter()
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
        end = self._async.elector.end_term(term, error, is_lost=is_lost, is_stopped=is_stopped)
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
            return await self._async.elector.campaign()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            return None
        finally:
            self._campaign = None

    def _stop_on_loop(self) -> None:
        if self._campaign is not None:
            self._campaign.cancel()
        if self._async.elector.term is not None:
            self._async.elector.term.state.revoke("stop() was called")

    def _leave(self) -> None:
        leave = self._async.elector.leave()
        try:
            self._portal.call(leave)
        except ClosedError:
            leave.close()


def _called(call: Callable[[], object]) -> None:
    """Call a function in a thread of the event loop, which cannot receive whatever it may raise."""
    try:
        call()
    except BaseException as error:
        raised = make_awaitable_error(error, "callback")
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
