"""Records reconciles: why each one ran, what it read and wrote, and how it ended.

::

    event ──note_event──> causes of a request ──┐
    reconcile ──begin──> ReconcileTrace <── calls and cache reads of its context
              ──end, cancel──> an entry, which each sink completes: the recorder in its thread
"""

from __future__ import annotations

import copy
import threading
import time
import traceback
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from masthead._controller.write_detection import parse_path
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import PatchType
from masthead._meta.registry import registry
from masthead._recording.differences import compare_objects
from masthead._recording.entries import Reconcile
from masthead._rest.call_observer import call_observer
from masthead.errors import StatusError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from contextvars import Token

    from masthead._controller.flight import Flight
    from masthead._controller.invocation import ReconcileOutcome
    from masthead._controller.manager_page import TakeReconcile
    from masthead._controller.predicates import ChangeEvent
    from masthead._controller.reconcile_observer import ReconcileObserver
    from masthead._controller.requests import Request
    from masthead._meta.object import Object
    from masthead._rest.call import Call
    from masthead._rest.call_observer import CallObserver
    from masthead._rest.response import Response

__all__ = ["ReconcileRecording"]

_MAX_RECORDED: Final = 200
"""Reads, and writes, of one reconcile that are recorded."""
_MAX_ERROR: Final = 16_384
_MAX_REQUESTS: Final = 512
"""Requests whose causes are remembered until they are reconciled; own writes cause none."""
_MAX_CAUSES: Final = 4
_MAX_OWN_VERSIONS: Final = 4096
"""Versions of own writes that are remembered, to tell their events from those of others."""
_LINE_SIZE: Final = 1000
_CALL_SIZE: Final = 300
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class _Cause(NamedTuple):
    time: int
    resource: GroupVersionResource
    event: ChangeEvent


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Answer(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class ReconcileTrace:
    """What one reconcile reads and writes.

    Args:
        flight: The reconcile.
        causes: Its causes by reason.

    Attributes:
        flight: The reconcile.
        causes: Its causes by reason.
        began: When it began, in microseconds.
        reads: The reads.
        writes: The writes.
        dropped: The number of others.
        token: Restores the observer of calls.
    """

    def __init__(self, flight: Flight, causes: dict[str, _Cause]) -> None:
        self.flight: Final = flight
        self.causes: Final = causes
        self.began: Final = _now()
        self.reads: list[dict[str, Any]] = []
        self.writes: list[dict[str, Any]] = []
        self.dropped = 0
        self.token: Token[CallObserver | None] | None = None

    def read(self, verb: str, resource: GroupVersionResource, namespace: str | None, name: str) -> None:
        """Note a read of a cache."""
        found = {"verb": verb, "kind": _kind_of(resource), "from": "cache"}
        if namespace:
            found["namespace"] = namespace
        if name:
            found["name"] = name
        self._add(self.reads, found)

    def called(self, call: Call, response: Response | None, error: Exception | None, seconds: float) -> None:
        """Note a call."""
        where = parse_path(call.path)
        # Discovery, versions and logs are no objects.
        if where is None:
            return
        metadata = _metadata_of(response)
        found: dict[str, Any] = {"verb": _verb_of(call, where.name), "kind": _kind_in(call.path, where.resource)}
        if namespace := where.namespace or metadata.namespace:
            found["namespace"] = namespace
        if name := where.name or metadata.name:
            found["name"] = name
        if where.subresource:
            found["subresource"] = where.subresource
        if response is not None:
            found["code"] = response.status
        elif isinstance(error, StatusError):
            found["code"] = error.code
        if error is not None:
            found["error"] = type(error).__name__
        found["seconds"] = round(seconds, 6)
        if call.method == "GET":
            self._add(self.reads, found | {"from": "server"})
            return
        if metadata.resource_version:
            found["version"] = metadata.resource_version
        self._add(self.writes, found)

    def _add(self, to: list[dict[str, Any]], found: dict[str, Any]) -> None:
        if len(to) < _MAX_RECORDED:
            to.append(found)
        else:
            self.dropped += 1


class ReconcileRecording:
    """Observes the reconciles of a manager for its recorder and its page.

    Args:
        takers: Called with each reconcile that has ended.
        following: Another observer, which is called as well.
    """

    def __init__(self, takers: Sequence[TakeReconcile], following: ReconcileObserver | None = None) -> None:
        self._takers = takers
        self._following = following
        self._causes: OrderedDict[tuple[str, Request], dict[str, _Cause]] = OrderedDict()
        self._traces: dict[tuple[str, str], ReconcileTrace] = {}
        self._own: OrderedDict[tuple[str, str], None] = OrderedDict()
        # Handlers of several informers may run in several threads.
        self._lock = threading.Lock()

    def note_event(
        self, controller: str, request: Request, reason: str, resource: GroupVersionResource, event: ChangeEvent
    ) -> None:
        """Remember an event that may be why a request is reconciled."""
        with self._lock:
            causes = self._causes.setdefault((controller, request), {})
            # The first of equal ones: it has queued the request.
            if reason not in causes and len(causes) < _MAX_CAUSES:
                causes[reason] = _Cause(_now(), resource, event)
            self._causes.move_to_end((controller, request))
            if len(self._causes) > _MAX_REQUESTS:
                self._causes.popitem(last=False)
        if self._following is not None:
            self._following.note_event(controller, request, reason, resource, event)

    def begin(self, controller: str, flight: Flight, obj: Object | None) -> None:
        """Note the start of a reconcile, and observe its calls."""
        if self._following is not None:
            self._following.begin(controller, flight, obj)
        with self._lock:
            causes = self._causes.pop((controller, flight.request), {})
        trace = ReconcileTrace(flight, causes)
        # Inherited by the tasks and threads of the reconciler.
        trace.token = call_observer.set(trace)
        self._traces[controller, flight.id] = trace

    def end(self, controller: str, flight: Flight, outcome: ReconcileOutcome) -> None:
        """Record a reconcile that has ended."""
        if self._following is not None:
            self._following.end(controller, flight, outcome)
        error = outcome.error
        after = outcome.result.requeue_after
        label = "failed" if error is not None else "done" if after is None else "requeued"
        text = "" if error is None else "".join(traceback.format_exception(error))[-_MAX_ERROR:]
        self._record(controller, flight, label, -1.0 if after is None else after, text)

    def cancel(self, controller: str, flight: Flight) -> None:
        """Record a reconcile that was cancelled."""
        if self._following is not None:
            self._following.cancel(controller, flight)
        self._record(controller, flight, "cancelled", -1.0, "")

    def _record(self, controller: str, flight: Flight, outcome: str, requeue_after: float, error: str) -> None:
        trace = self._traces.pop((controller, flight.id), None)
        if trace is None:
            return
        if trace.token is not None:
            call_observer.reset(trace.token)
        self._remember_own(trace)
        entry = Reconcile(
            time=_now(),
            controller=controller,
            namespace=flight.request.namespace,
            name=flight.request.name,
            id=flight.id,
            began=trace.began,
            outcome=outcome,
            requeue_after=requeue_after,
            error=error,
        )
        size = _LINE_SIZE + len(error) + _CALL_SIZE * (len(trace.reads) + len(trace.writes))
        # Not completed here: to compare the states of the event takes longer than the rest.
        for take in self._takers:
            take(partial(_complete, copy.copy(entry), trace, self._own), size)

    def _remember_own(self, trace: ReconcileTrace) -> None:
        # Across reconciles: the event of a write may trigger the next reconcile, or that of another object.
        for write in trace.writes:
            if "version" in write:
                self._own[write["kind"], write["version"]] = None
        while len(self._own) > _MAX_OWN_VERSIONS:
            self._own.popitem(last=False)


def _complete(entry: Reconcile, trace: ReconcileTrace, own: Container[tuple[str, str]]) -> Reconcile:
    """Add what a reconcile did to its entry."""
    reasons = trace.flight.reasons
    # A copy: threads of the reconciler may still add calls.
    entry.reads, entry.writes, entry.dropped = list(trace.reads), list(trace.writes), trace.dropped
    cause = next((trace.causes[reason] for reason in reasons if reason in trace.causes), None)
    if cause is None:
        entry.trigger = _why(reasons[0] if reasons else "unknown")
    else:
        entry.trigger = _describe(cause)
        if (entry.trigger["kind"], entry.trigger["version"]) in own:
            entry.trigger["why"] = "own write"
        entry.queued = cause.time
    if len(reasons) > 1:
        entry.trigger["reasons"] = list(reasons)
    return entry


def _why(reason: str) -> dict[str, Any]:
    """The trigger of a reconcile that no event has caused."""
    if reason.startswith("retry after"):
        return {"why": "backoff", "text": reason}
    if reason.startswith("requeued after"):
        return {"why": "requeue", "text": reason}
    return {"why": reason}


def _describe(cause: _Cause) -> dict[str, Any]:
    event, obj = cause.event, cause.event.object
    trigger: dict[str, Any] = {
        "kind": _kind_of(cause.resource),
        "namespace": obj.metadata.namespace,
        "name": obj.metadata.name,
        "version": obj.metadata.resource_version,
        "op": "ADDED" if event.old is None else "DELETED" if event.new is None else "MODIFIED",
    }
    if event.is_initial:
        return trigger | {"op": "STATE", "why": "initial"}
    if event.is_resync:
        return trigger | {"op": "STATE", "why": "resync"}
    if event.old is not None and event.new is not None:
        trigger["fields"] = _changed_fields(event.old, event.new)
    return trigger


def _changed_fields(old: Object, new: Object) -> list[str]:
    before, after = old.wire_bytes, new.wire_bytes
    # Objects of a cache have bytes; those of a source of the program may not.
    if before is None or after is None:
        return []
    return [change.path for change in compare_objects(msgspec.json.decode(before), msgspec.json.decode(after))]


def _verb_of(call: Call, name: str) -> str:
    if call.method == "GET":
        return "get" if name else "list"
    if call.method == "PATCH" and call.content_type == PatchType.APPLY:
        return "apply"
    verb = _VERBS.get(call.method, call.method.lower())
    return "deletecollection" if verb == "delete" and not name else verb


def _metadata_of(response: Response | None) -> _Metadata:
    if response is None:
        return _Metadata()
    try:
        return typeinfo.decode_json(response.body, _Answer).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Metadata()


def _kind_in(path: str, resource: str) -> str:
    """The kind of the objects at a path of the API."""
    plural, _, group = resource.partition(".")
    version = path.strip("/").split("/")[2 if group else 1]
    return _kind_of(GroupVersionResource(group, version, plural))


def _kind_of(resource: GroupVersionResource) -> str:
    try:
        return registry.kind_of(resource).kind
    except UnknownKindError:
        return str(resource.group_resource)


def _now() -> int:
    return time.time_ns() // 1000
