"""A member of a group of replicas that divide a collection: its share, and the time at which it must stop.

`masthead._sansio.shard_machine` has the rules and decides; `masthead._leaderelection` renews the member's own lease.

::

    own lease (elector) ──a term──> _follow: list the group, end expired leases, write the table
                                       │ the share
                                       v
                                    _announce: on_change(share), until nothing else is worked on; then slots move
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from masthead._controller.shard_group import DIVISION_LABEL, GROUP_LABEL, ShardGroup
from masthead._leaderelection.election_options import default_identity, utc_now
from masthead._leaderelection.leader_elector import LeaderElector
from masthead._leaderelection.leadership import WorkAbandonedError
from masthead._leaderelection.own_clock import OwnClock
from masthead._module import set_module
from masthead._sansio.lease_records import LeaseTiming
from masthead._sansio.shard_machine import ShardMachine
from masthead._sansio.shard_table import division_of
from masthead._sansio.sharding import ShardSet, write_slots
from masthead.errors import (
    AlreadyExistsError,
    ClosedError,
    ConflictError,
    LeadershipLostError,
    MastheadError,
    NotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from datetime import datetime

    from masthead._client.client import Client
    from masthead._leaderelection.leadership import Leadership
    from masthead._meta.object import Object
    from masthead._sansio.shard_table import Plan
    from masthead._sansio.sharding import ShardKey

__all__ = ["ShardMember"]

_log: Final = logging.getLogger("masthead.sharding")
_MAX_AT_ONCE: Final = 8
"""Number of consecutive listings without a pause, as long as every plan has an action."""


class _TermOverError(LeadershipLostError):
    """The membership must end, although its lease may still be held."""


@set_module("masthead.aio.sharding")
class ShardMember:
    """A replica in a group that divides the objects of a collection: an object belongs to one replica at a time.

    ::

        async def on_change(share: masthead.sharding.ShardSet) -> None:
            ...  # start no work outside of the share, and return when such work has ended

        async with masthead.aio.Client() as client:
            await masthead.aio.sharding.ShardMember(client, "my-operator", "default").run(on_change)

    A hash assigns objects to slots. All members own the same number of slots, or one more. When members join or leave,
    as few slots as possible move. A slot moves when its owner has drained it, or when the owner's lease has expired:
    see `docs/scaling-out.md`.

    Guarantees:
        No two members work on an object at the same time, if every member works only on objects that it `owns`, and
        follows `on_change`. A member that cannot renew its lease, or list the leases of the others, for
        `renew_deadline` seconds must stop; others take over its slots after `lease_duration`. This holds if clock rates
        differ by less than `lease_duration` / `renew_deadline`.

    Threads: belongs to one event loop; its properties and `owns` may be used from any thread.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str | None = None,
        *,
        identity: str | None = None,
        slots: int = 64,
        by: ShardKey = "uid",
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        clock: Callable[[], datetime] = utc_now,
        on_overdue: Callable[[], object] | None = None,
    ) -> None:
        """Create a member. No request is sent before `run`.

        Args:
            client: The client.
            name: The name of the group, the same for all replicas.
            namespace: The namespace of the leases; None for the client's default namespace.
            identity: The unique name of this replica, new after every restart; by default the host name and a UUID.
            slots: The number of slots, the same for all replicas. More slots balance better; fewer make shorter shard
                selectors.
            by: The hashed property of an object, the same for all replicas: its UID or its namespace.
            lease_duration: Seconds without a renewal after which others take over.
            renew_deadline: Seconds without a renewal after which this member stops.
            retry_period: Seconds between renewals, and between listings of the group.
            clock: The wall clock for timestamps in leases. No decision depends on it.
            on_overdue: Called if work has not stopped although its lease has expired, so that another replica may do
                the same work. To be safe, exit the process: ``lambda: os._exit(1)``.

        Raises:
            ArgumentError: Unless lease_duration > renew_deadline > 1.2 * retry_period > 0; or if the number of slots,
                the key or the identity is invalid.
            NameFormatError: If the name or the namespace is invalid.
        """
        timing = LeaseTiming(lease_duration, renew_deadline, retry_period)
        place = client.namespace if namespace is None else namespace
        identity = default_identity() if identity is None else identity
        self._timing = timing
        self._nothing = ShardSet(total=slots, by=by)
        self._group = ShardGroup(client, name, place, timeout=timing.request_timeout, clock=clock)
        self._machine = ShardMachine(total=slots, by=by, lease_duration=timing.record_seconds)
        self._elector = LeaderElector(
            client,
            self._group.member_name(identity),
            place,
            identity=identity,
            lease_duration=lease_duration,
            renew_deadline=renew_deadline,
            retry_period=retry_period,
            labels={GROUP_LABEL: name, DIVISION_LABEL: division_of(slots, by)},
            clock=clock,
            on_overdue=on_overdue,
        )
        self._leadership: Leadership | None = None
        self._announced = self._nothing
        self._seen = 0.0
        self._clock: Callable[[], float] = lambda: 0.0
        self._waits_for = ""
        self._problems: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._wake = asyncio.Event()

    @property
    def identity(self) -> str:
        """The name of this replica."""
        return self._elector.identity

    @property
    def is_member(self) -> bool:
        """Whether the member may work on its share now, by the clock of this process."""
        leadership = self._leadership
        if leadership is None or not leadership.is_valid:
            return False
        return self._clock() < self._seen + self._timing.renew_deadline

    @property
    def share(self) -> ShardSet:
        """The current share: that of the last `on_change`, without slots that were lost since."""
        if not self.is_member:
            return self._nothing
        share = self._machine.share
        return share if share is self._announced else self._announced & share

    @property
    def waits_for(self) -> str:
        """The reason why assigned slots are not owned yet; empty if all are owned."""
        return self._waits_for

    def owns(self, obj: Object) -> bool:
        """Whether the member may work on an object now."""
        return self.share.owns_object(obj)

    def health_check(self, tolerance: float = 20.0) -> None:
        """Check, for ``/healthz``, how long work has been running after the lease expired.

        Raises:
            LeadershipLostError: If the process should be restarted.
        """
        self._elector.health_check(tolerance)

    async def run(
        self,
        on_change: Callable[[ShardSet], Awaitable[object]],
        on_lost: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Be a member until cancelled, and join again after every loss.

        Args:
            on_change: Called with every new share, never concurrently. As soon as it is called, no work outside of the
                share may start; it returns when such work has ended. Lost slots are given to others only then. Its
                errors are logged, and it is called again. It is cancelled when the membership is lost.
            on_lost: Called when the membership has ended for any reason: all work must stop immediately. None to call
                `on_change` with an empty share.

        Raises:
            ClosedError: If the client is closed.
            RuntimeError: If the member runs already.

        Cancellation:
            Calls `on_lost`, renews the lease until it returns, and ends the lease, so that others take over
            immediately.
        """
        self._clock = OwnClock(asyncio.get_running_loop()).now

        async def serve(leadership: Leadership) -> None:
            await self._serve(leadership, on_change, on_lost)

        while True:
            with suppress(_TermOverError):  # logged
                await self._elector.run(serve)

    async def _serve(
        self,
        leadership: Leadership,
        on_change: Callable[[ShardSet], Awaitable[object]],
        on_lost: Callable[[], Awaitable[object]] | None,
    ) -> None:
        """Be a member for one term of the member's own lease."""
        self._leadership = leadership
        self._machine.join(f"{leadership.token.lease_uid}:{leadership.token.transitions}")
        # The lease was renewed just now, so the first listing has the whole deadline.
        self._seen = leadership.until - self._timing.renew_deadline
        self._announced = self._nothing
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow())
                group.create_task(self._announce(on_change))
        except BaseExceptionGroup as errors:  # not `except*`, which would wrap the errors that are raised here
            error = _first(errors)
            # Logged here: if the member's own lease is lost at the same time, no caller gets the error.
            if isinstance(error, _TermOverError):
                _log.warning("shard group %s: %s; joining again", self._group, error)
            raise error from None
        finally:
            self._leadership = None
            self._announced = self._nothing
            await _finish(_call(on_lost) if on_lost is not None else _call(on_change, self._nothing))

    # The table

    async def _follow(self) -> None:
        """List the group periodically, and perform the planned actions."""
        at_once = 0
        while True:
            plan = await self._look()
            self._note_waiting(plan.waits_for)
            is_done = await self._perform_in_time(plan)
            self._changed.set()
            at_once = at_once + 1 if is_done else 0
            # After an action the next plan may have another one; two replicas that undo each other must not spin,
            # though.
            if at_once >= _MAX_AT_ONCE or not is_done:
                at_once = 0
                await self._pause()

    async def _pause(self) -> None:
        self._wake.clear()
        try:
            async with asyncio.timeout(self._timing.retry_period):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _look(self) -> Plan:
        """List the group, with retries until the renew deadline.

        Raises:
            _TermOverError: If no attempt succeeds in time, or the term is over.
            ClosedError: If the client is closed.
        """
        while True:
            sent = self._clock()
            left = self._seen + self._timing.renew_deadline - sent
            if left <= 0:
                raise _TermOverError(
                    f"its leases could not be listed for {sent - self._seen:.0f} s: "
                    f"{self._problems.get('list') or 'this process was paused, or too busy'}"
                )
            try:
                async with asyncio.timeout(left):
                    view = await self._group.read()
            except ClosedError:
                raise
            except (MastheadError, TimeoutError) as error:
                self._note_problem("list", error)
                await asyncio.sleep(min(self._timing.retry_period, max(0.0, left)))
                continue
            plan = self._machine.observe(view, self._clock())
            self._changed.set()  # slots may have been lost
            if not plan.is_member:
                raise _TermOverError("its lease was ended or deleted")
            # The time of the request, because the state may be as old as that.
            self._seen = sent
            self._problems.pop("list", None)
            return plan

    async def _perform_in_time(self, plan: Plan) -> bool:
        """Perform the planned actions until the leases have to be listed again."""
        left = self._seen + self._timing.renew_deadline - self._clock()
        try:
            async with asyncio.timeout(left):
                return await self._perform(plan)
        # A request may have been executed although its response did not arrive, so the group may have changed.
        except TimeoutError:
            return True

    async def _perform(self, plan: Plan) -> bool:
        """Perform the planned actions; return whether the group may have changed."""
        is_done = False
        for lease in plan.fences:
            if await self._try(self._group.end(lease)) is not None:
                _log.info("shard group %s: %s has not renewed its lease, and is out", self._group, lease.holder)
                is_done = True
        for lease in plan.deletions:
            await self._try(self._group.delete(lease))
        write = plan.write
        if write is not None:
            if uid := await self._try(self._group.write(write)):
                self._machine.written(write, uid)
                self._log_moves(write.claims, write.releases)
            is_done = True
        return is_done

    async def _try(self, request: Coroutine[None, None, str]) -> str | None:
        """Send a request that races with other replicas; return its result, or None if it failed.

        Raises:
            ClosedError: If the client is closed.
        """
        try:
            result = await request
        # Another replica was faster; the next listing shows its change.
        except (ConflictError, AlreadyExistsError, NotFoundError):
            return None
        except ClosedError:
            raise
        except MastheadError as error:
            self._note_problem("write", error)
            return None
        self._problems.pop("write", None)
        return result

    def _note_problem(self, kind: str, error: Exception) -> None:
        """Log an error, unless it repeats the last error of its kind."""
        text = str(error) or type(error).__name__
        level = logging.DEBUG if text == self._problems.get(kind) else logging.WARNING
        _log.log(level, "shard group %s: %s", self._group, text)
        self._problems[kind] = text

    def _note_waiting(self, waits_for: str) -> None:
        if waits_for and not self._waits_for:
            _log.info("shard group %s: waiting: %s", self._group, waits_for)
        self._waits_for = waits_for

    def _log_moves(self, claims: frozenset[int], releases: frozenset[int]) -> None:
        share = self._machine.share
        parts = [f"claimed {write_slots(claims)}"] if claims else []
        parts += [f"released {write_slots(releases)}"] if releases else []
        if parts:
            _log.info(
                "shard group %s: %s; %s owns %d of %d slots",
                self._group,
                ", ".join(parts),
                self.identity,
                len(share),
                share.total,
            )

    # The share

    async def _announce(self, on_change: Callable[[ShardSet], Awaitable[object]]) -> None:
        """Call `on_change` with every new share, and release drained slots."""
        while True:
            share = self._machine.share
            if share == self._announced and not self._machine.draining:
                self._changed.clear()
                await self._changed.wait()
                continue
            # Before the call, so that a share that changes during the call is announced afterwards.
            self._announced = share
            try:
                await on_change(share)
            except Exception:  # noqa: BLE001 - the caller's code, which is called again
                _log.exception("shard group %s: on_change failed, and is called again", self._group)
                await asyncio.sleep(self._timing.retry_period)
                continue
            # Only now may the table give the lost slots to other members.
            self._machine.acknowledge(share)
            self._wake.set()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._group} as {self.identity}: {self.share!r}>"


async def _call(function: Callable[..., Awaitable[object]], *args: object) -> None:
    try:
        await function(*args)
    except WorkAbandonedError:
        raise  # the manager's: the own lease must not be released
    except Exception:  # noqa: BLE001 - the caller's code; the membership is over in any case
        _log.exception("what must be done at the end of a membership has failed")


async def _finish(coroutine: Coroutine[None, None, None]) -> None:
    """Run a coroutine to its end despite cancellations.

    Raises:
        WorkAbandonedError: If the coroutine raises it.
    """
    task = asyncio.get_running_loop().create_task(coroutine)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    # An error of the coroutine takes precedence over the cancellation.
    task.result()
    if cancelled is not None:
        raise cancelled


def _first(error: BaseException) -> BaseException:
    """Return one error of an exception group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
