"""The control points of a run: faults at writes, reads and external calls, and the recording of all three."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._webhook.locations import FIELD_MANAGER
from masthead.errors import ProtocolError
from masthead.testing._answered_response import AnsweredResponse
from masthead.testing._exchanges import stay_forever
from masthead.testing._explore.faults import Answer, Crash, EarlyStep, Edit, FailedRead, HandOver, ServerRestart
from masthead.testing._explore.trace import ObjectView, ReadRecord, WriteRecord
from masthead.testing._request_places import locate
from masthead.testing._status_response import (
    StatusResponse,
    conflict_response,
    forbidden_response,
    throttled_response,
)

if TYPE_CHECKING:
    from masthead._controller.flight import Flight
    from masthead._controller.invocation import ReconcileOutcome
    from masthead._controller.predicates import ChangeEvent
    from masthead._controller.requests import Request
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import Object
    from masthead.testing._exchanges import Exchange
    from masthead.testing._explore.faults import Moment, PlannedFault
    from masthead.testing._explore.run import Run
    from masthead.testing._writes import Write

__all__ = ["RunControl", "view_of"]

_UNCOUNTED: Final = frozenset({"leases.coordination.k8s.io", "events", "events.events.k8s.io"})
_MAX_BODY: Final = 4_000
"""The maximum number of bytes of a body to record."""
_EARLY_SECONDS: Final = 1.0
"""Virtual seconds for an early step to reach its end."""


class RunControl:
    """Counts and records the requests of all replicas of a run, and injects the faults of its schedule."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._writes = 0
        self._reads = 0
        self._calls = 0
        self._numbers: dict[Exchange, int] = {}
        self._records: dict[Exchange, WriteRecord] = {}
        self._seen: dict[str, ObjectView] = {}
        """The reconciled objects at the start of the reconciles in flight, by the id of the reconcile."""
        self._repeated: tuple[Answer, str, int] | None = None
        # Faults act outside of the process of the replica that they hit.
        self._context = contextvars.copy_context()

    # Requests of replicas

    async def before(self, exchange: Exchange) -> None:
        """Count and record a request, and inject the faults before it."""
        # Watches and leases go on for ever: a number for each would differ from run to run.
        if exchange.is_watch or _is_uncounted(exchange):
            return
        if exchange.is_write:
            await self._before_write(exchange)
        elif exchange.reconcile is not None:
            self._before_read(exchange)

    async def after(self, exchange: Exchange) -> None:
        """Record a response, and inject the faults after it."""
        number = self._numbers.pop(exchange, 0)
        if not number:
            return
        response = exchange.response
        code = 0 if response is None else response.status
        if not exchange.is_write:
            self._run.recorder.record_read(self._read_record(exchange, number, code))
            return
        record = self._records.pop(exchange)
        fault = self._crash_at(number, "stored", "answered")
        is_lost = any(isinstance(answer, Answer) and answer.outcome == "lost" for answer in self._faults_at(number))
        # The operator never learns the outcome, and its record must not know more.
        known = 0 if is_lost or (fault is not None and fault.when == "stored") else code
        self._run.recorder.record_write(_with_code(record, known))
        if fault is not None:
            self._kill(exchange, fault, f"after the server has {'stored' if fault.when == 'stored' else 'answered'}")
            if fault.when == "stored":
                await stay_forever()
            return
        if is_lost:
            self._strike(number, Answer, f"the response to {record} is lost")
            if response is not None:
                response.close()
            raise ProtocolError("the connection broke before the response arrived")

    async def _before_write(self, exchange: Exchange) -> None:
        self._writes += 1
        number = self._numbers[exchange] = self._writes
        # The step of the reconcile that writes, even if the next one begins before the write is sent.
        write, step = exchange.write, self._run.recorder.step
        for fault in self._faults_at(number):
            await self._disturb(fault, exchange, write)
        self._records[exchange] = self._write_record(exchange, write, number, step)
        if (crash := self._crash_at(number, "before")) is not None:
            self._run.recorder.record_write(self._records.pop(exchange))
            self._kill(exchange, crash, "before the server gets")
            await stay_forever()
        self._answer(exchange, write, number)

    def _before_read(self, exchange: Exchange) -> None:
        # Only of reconciles: lists of informers are no decisions of the operator.
        self._reads += 1
        number = self._numbers[exchange] = self._reads
        for fault in self._run.recorder.pending:
            if isinstance(fault, FailedRead) and fault.read == number:
                self._run.recorder.strike(fault, f"the read {exchange.request.target} fails with {fault.code}")
                exchange.response = StatusResponse(fault.code)

    async def _disturb(self, fault: PlannedFault, exchange: Exchange, write: Write) -> None:
        """Let others act before a write."""
        run = self._run
        if isinstance(fault, EarlyStep):
            run.recorder.strike(fault, f"the next step begins before {_identity(write)}")
            run.begin_early()
            await self._outside(run.wait_for_rest(_EARLY_SECONDS))
        elif isinstance(fault, Edit):
            run.recorder.strike(
                fault, f"another client annotates {write.resource} {write.key} before {_identity(write)}"
            )
            await self._outside(run.edit(write.resource, write.key))
        elif isinstance(fault, ServerRestart):
            run.recorder.strike(fault, f"the API server restarts before {_identity(write)}")
            await self._outside(run.restart_server())
        elif isinstance(fault, HandOver):
            run.recorder.strike(fault, f"{exchange.replica.name} is suspended before {_identity(write)}")
            await run.replicas.hand_over(exchange.replica, fault, self._context)

    async def _outside(self, act: object) -> None:
        """Await a coroutine as a task outside of the replica's process."""
        assert asyncio.iscoroutine(act)
        await asyncio.get_running_loop().create_task(act, context=self._context.copy())

    def _answer(self, exchange: Exchange, write: Write, number: int) -> None:
        """Answer a write instead of the server, if an `Answer` is due."""
        fault = next((found for found in self._faults_at(number) if isinstance(found, Answer)), None)
        # Remembered, because a client may send the same write again immediately.
        if fault is not None:
            self._repeated = (fault, _identity(write), fault.times)
        if self._repeated is None:
            return
        answer, identity, times = self._repeated
        if _identity(write) != identity or answer.outcome == "lost":
            return
        self._repeated = (answer, identity, times - 1) if times > 1 else None
        response = exchange.response = _make_answer(answer.outcome, exchange, write.verb)
        self._run.recorder.strike(answer, f"{_identity(write)} fails with {response.status}")

    def _crash_at(self, number: int, *moments: Moment) -> Crash | None:
        return next(
            (fault for fault in self._faults_at(number) if isinstance(fault, Crash) and fault.when in moments), None
        )

    def _faults_at(self, number: int) -> list[PlannedFault]:
        return [fault for fault in self._run.recorder.pending if getattr(fault, "write", 0) == number]

    def _strike(self, number: int, kind: type[PlannedFault], text: str) -> None:
        for fault in self._faults_at(number):
            if isinstance(fault, kind):
                self._run.recorder.strike(fault, text)

    def _kill(self, exchange: Exchange, fault: Crash, moment: str) -> None:
        self._run.recorder.strike(fault, f"{exchange.replica.name} crashes {moment} {_identity(exchange.write)}")
        replica = exchange.replica
        if fault.when == "answered":
            # The caller continues until it waits; it must not send anything else.
            assert exchange.response is not None
            exchange.response = AnsweredResponse(exchange.response, replica.kill_soon)
        else:
            replica.kill()
        self._context.copy().run(self._run.replicas.succeed, fault)

    # Calls of external systems

    def begin_call(self, text: str) -> tuple[int, bool]:
        """Count and record a call of an external system.

        Returns:
            Its number, and whether the caller dies before it.
        """
        self._calls += 1
        dies = self._dies_at_call(self._calls, "before", text)
        if not dies:
            self._run.recorder.record_call(text, self._calls)
        return self._calls, dies

    def end_call(self, number: int) -> bool:
        """Return whether the caller of an external system dies after a call."""
        return self._dies_at_call(number, "stored", self._run.result.calls[-1])

    def _dies_at_call(self, number: int, moment: Moment, text: str) -> bool:
        for fault in self._run.recorder.pending:
            if isinstance(fault, Crash) and not fault.write and fault.call == number and fault.when == moment:
                replica = self._run.replicas.calling()
                self._run.recorder.strike(
                    fault, f"{replica.name} crashes {'before' if moment == 'before' else 'after'} {text}"
                )
                replica.kill()
                self._context.copy().run(self._run.replicas.succeed, fault)
                return True
        return False

    # Reconciles

    def begin(self, controller: str, flight: Flight, obj: Object | None) -> None:
        """Record the start of a reconcile, with the object that it sees."""
        self._run.recorder.absorb_changes()
        self._seen[flight.id] = view_of(obj)
        reasons = "; ".join(flight.reasons) or "no reason"
        self._run.recorder.absorb_changes()  # the causes come first
        self._add(f"{controller} {flight.request} begins: {reasons}", flight)

    def end(self, controller: str, flight: Flight, outcome: ReconcileOutcome) -> None:
        """Record the end of a reconcile."""
        self._seen.pop(flight.id, None)
        result = "ends" if outcome.error is None else f"fails: {outcome.error!r}"
        self._add(f"{controller} {flight.request} {result}", flight)

    def note_event(
        self, controller: str, request: Request, reason: str, resource: GroupVersionResource, event: ChangeEvent
    ) -> None:
        """No-op: the start of a reconcile has its reasons."""

    def cancel(self, controller: str, flight: Flight) -> None:
        """No-op: the end of the replica is recorded."""

    def _add(self, text: str, flight: Flight) -> None:
        replica = self._run.replicas.calling()
        self._run.recorder.add("reconcile", text, replica=replica.name, reconcile=flight.id)

    # Records

    def _write_record(self, exchange: Exchange, write: Write, number: int, step: int) -> WriteRecord:
        run, reconcile = self._run, exchange.reconcile
        resource = write.resource.partition("/")[0]
        primary = run.replicas.primary_resource(exchange.replica, reconcile.controller) if reconcile is not None else ""
        return WriteRecord(
            number=number,
            step=step,
            replica=exchange.replica.name,
            verb=write.verb,
            resource=write.resource,
            key=write.key,
            code=0,
            controller="" if reconcile is None else reconcile.controller,
            primary="" if reconcile is None else reconcile.object,
            reconcile="" if reconcile is None else reconcile.reconcile_id,
            revision=run.env.server.revision,
            seen=run.replicas.cached(exchange.replica, resource, write.key),
            live=run.recorder.live(resource, write.key),
            primary_seen=None if reconcile is None else self._seen.get(reconcile.reconcile_id),
            primary_live=ObjectView() if reconcile is None else run.recorder.live(primary, reconcile.object),
            is_leading=run.replicas.is_leading(exchange.replica),
            body=write.content[:_MAX_BODY],
        )

    def _read_record(self, exchange: Exchange, number: int, code: int) -> ReadRecord:
        reconcile = exchange.reconcile
        return ReadRecord(
            number=number,
            step=self._run.recorder.step,
            replica=exchange.replica.name,
            target=exchange.request.target,
            code=code,
            controller="" if reconcile is None else reconcile.controller,
            primary="" if reconcile is None else reconcile.object,
        )


def _make_answer(outcome: str, exchange: Exchange, verb: str) -> StatusResponse:
    """Return the response that a fault gives to a write."""
    place = locate(exchange.request)
    match outcome:
        case "conflict":
            return conflict_response(verb, place)
        case "403":
            return forbidden_response(verb, place, exchange.replica.manager.name)
        case "429":
            return throttled_response(1)
        case _:
            return StatusResponse(int(outcome))


def view_of(obj: Object | None) -> ObjectView:
    """Return what matters of an object for decisions."""
    if obj is None:
        return ObjectView()
    metadata = obj.metadata
    version = metadata.resource_version
    return ObjectView(
        version=int(version) if version.isdigit() else 0,
        uid=metadata.uid,
        generation=metadata.generation or 0,
        is_deleting=metadata.deletion_timestamp is not None,
    )


def _identity(write: Write) -> str:
    return f"{write.verb} {write.resource} {write.key}"


def _is_uncounted(exchange: Exchange) -> bool:
    """Whether a request is a write of the manager itself: of its lease, of Events, or of certificates of webhooks."""
    if not exchange.is_write:
        return False
    write = exchange.write
    return write.resource in _UNCOUNTED or write.field_manager == FIELD_MANAGER


def _with_code(record: WriteRecord, code: int) -> WriteRecord:
    return msgspec.structs.replace(record, code=code)
