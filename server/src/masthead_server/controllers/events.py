"""Event recorders: controllers, kubelet and scheduler report about objects with Events.

An Event that cannot be stored is dropped, as in a real cluster: the work that it reports continues.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead_server.clock import stamp
from masthead_server.controllers.event_correlation import (
    ReportedEvent,
    ServerEventCorrelator,
    component_bucket,
)
from masthead_server.controllers.objects import uid_of
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, items, metadata, text

if TYPE_CHECKING:
    from datetime import datetime

    from masthead_server.controllers.event_correlation import CorrelatedEvent
    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.resources.resource import ServedResource

__all__ = ["NORMAL", "WARNING", "SchedulerRecorder", "ServerEventRecorder", "reference_to"]

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
_RESOURCE: Final = GroupVersionResource("", "v1", "events")
_CORE: Final = "v1"
_EVENTS_V1: Final = "events.k8s.io/v1"
_NEW_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
}
"""Core fields with another name in ``events.k8s.io``."""
_IDENTITY: Final = ("kind", "namespace", "name", "uid", "apiVersion")
_MAX_NAME_LENGTH: Final = 253
_MAX_SERIES: Final = 4096
"""The maximum number of Events that the scheduler's recorder remembers to find repeats."""
_SERIES_GAP: Final = timedelta(minutes=6)
"""The time after which a repeated event of the scheduler is a new one."""
_FIRST_REPEAT: Final = 2


def reference_to(found: Plain, api_version: str, kind: str, *, field_path: str = "") -> Plain:
    """Return the reference to the object of an Event.

    Args:
        found: The object.
        api_version: Its apiVersion.
        kind: Its kind.
        field_path: The part of the object that the Event concerns; empty for the whole object.
    """
    meta = metadata(found)
    reference = {
        "kind": kind,
        "namespace": text(meta, "namespace"),
        "name": text(meta, "name"),
        "uid": uid_of(found),
        "apiVersion": api_version,
        "resourceVersion": text(meta, "resourceVersion"),
        "fieldPath": field_path,
    }
    # Go omits empty strings from references; so must we, or managed fields would differ.
    return {name: value for name, value in reference.items() if value}


class ServerEventRecorder:
    """Records the reports of a component; a repeated report raises the count of its Event.

    Args:
        client: Names the field manager, and the cluster state.
        component: The reporting component.
        host: The node of the component; empty for none.
    """

    def __init__(self, client: ObjectClient, component: str, host: str = "") -> None:
        self._writer = _EventWriter(client, _CORE)
        self._clock = client.cluster.clock
        self._component = component
        self._host = host
        self._correlator = ServerEventCorrelator()
        self._bucket = component_bucket(self._clock.now())

    def record(
        self, involved: Plain, reason: str, message: str, *, event_type: str = NORMAL, host: str | None = None
    ) -> None:
        """Record an event, unless the namespace is terminating or a rate limit is exceeded.

        Args:
            involved: The reference to the object.
            reason: The reason.
            message: The message.
            event_type: `NORMAL` or `WARNING`.
            host: The reporting node, if not the recorder's.
        """
        now = self._clock.now()
        # The bucket comes before the correlator, like client-go's full queue: a dropped event counts as no repeat.
        if not self._bucket.take(now):
            return
        occurrence = ReportedEvent(event_type, reason, message, involved.get("fieldPath", ""))
        identity = tuple([involved.get(name, "") for name in _IDENTITY])
        with suppress(StatusFailure):
            namespace = self._writer.namespace_for(involved)
            seen = self._correlator.observe(identity, occurrence, now)
            if seen is not None:
                self._write(namespace, involved, occurrence, seen, now, self._host if host is None else host)

    def _write(
        self,
        namespace: str,
        involved: Plain,
        occurrence: ReportedEvent,
        seen: CorrelatedEvent,
        now: datetime,
        host: str,
    ) -> None:
        """Create an Event, or raise its count.

        Raises:
            JournalError: It could not be stored.
        """
        time = stamp(now)
        changes: Plain = {"count": seen.count, "lastTimestamp": time, "message": seen.message}
        # An Event may have expired or been deleted since the last repeat; then it is created again under its old name.
        if not seen.name or not self._writer.update(namespace, seen.name, changes, time):
            name = seen.name or self._writer.free_name(namespace, involved["name"], now)
            self._writer.create(namespace, name, self._content(involved, occurrence, seen, time, host), time)
            seen.name = name

    def _content(self, involved: Plain, occurrence: ReportedEvent, seen: CorrelatedEvent, now: str, host: str) -> Plain:
        # A combined Event names its reporter only as its source.
        component, instance = ("", "") if seen.is_combined else (self._component, host)
        return {
            "involvedObject": involved,
            "reason": occurrence.reason,
            "message": seen.message,
            "source": {"component": self._component, **({"host": host} if host else {})},
            "firstTimestamp": stamp(seen.first) if seen.count > 1 else now,
            "lastTimestamp": now,
            "count": seen.count,
            "type": occurrence.type,
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": instance,
        }


class SchedulerRecorder:
    """Records Events of the scheduler through ``events.k8s.io``, with an action and an exact time.

    The second of several equal events makes a series of the first; the others are not written.

    Args:
        client: Names the field manager, and the cluster state.
        component: The scheduler's name.
        host: Where it runs.
    """

    def __init__(self, client: ObjectClient, component: str, host: str) -> None:
        self._writer = _EventWriter(client, _EVENTS_V1)
        self._clock = client.cluster.clock
        self._component = component
        self._host = host
        self._bucket = component_bucket(self._clock.now())
        self._series: OrderedDict[tuple[object, ...], _Series] = OrderedDict()

    def record(
        self,
        involved: Plain,
        reason: str,
        action: str,
        message: str,
        *,
        event_type: str = NORMAL,
        related: Plain | None = None,
    ) -> None:
        """Record an event, unless the namespace is terminating or a rate limit is exceeded.

        Args:
            involved: The reference to the object.
            reason: The reason.
            action: The action of the scheduler.
            message: The message.
            event_type: `NORMAL` or `WARNING`.
            related: The reference to a second object; None without one.
        """
        now = self._clock.now()
        if not self._bucket.take(now):
            return
        key = (event_type, action, reason, tuple(involved.items()), tuple((related or {}).items()))
        time = now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        if self._continue_series(key, now, time):
            return
        content: Plain = {
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
            "type": event_type,
            "eventTime": time,
            "action": action,
            **({"related": related} if related else {}),
            "reportingComponent": self._component,
            "reportingInstance": f"{self._component}-{self._host}",
        }
        with suppress(StatusFailure):
            namespace = self._writer.namespace_for(involved)
            name = self._writer.free_name(namespace, involved["name"], now)
            self._writer.create(namespace, name, content, stamp(now))
            self._series[key] = _Series(namespace, name, now)
            if len(self._series) > _MAX_SERIES:
                self._series.popitem(last=False)

    def _continue_series(self, key: tuple[object, ...], now: datetime, time: str) -> bool:
        """Count a repeated event; return whether it is one."""
        known = self._series.get(key)
        if known is None or now - known.last > _SERIES_GAP:
            return False
        known.last = now
        known.count += 1
        series: Plain = {"count": known.count, "lastObservedTime": time}
        with suppress(StatusFailure):
            is_told = known.count > _FIRST_REPEAT
            return is_told or self._writer.update(known.namespace, known.name, {"series": series}, stamp(now))
        return True


@dataclass(slots=True)
class _Series:
    namespace: str
    name: str
    last: datetime
    count: int = 1


class _EventWriter:
    """Stores Events without the write pipeline of requests.

    Recorders build valid Events, and the pipeline would take longer than most of the work that the Events report.

    Args:
        client: Names the field manager, and the cluster state.
        api_version: The version that the field manager writes: `_CORE` or `_EVENTS_V1`.
    """

    def __init__(self, client: ObjectClient, api_version: str) -> None:
        self._cluster = client.cluster
        self._manager = client.manager
        self._api_version = api_version
        self._owned: dict[tuple[str, ...], Plain] = {}
        """Encoded managed fields by the set of fields, of which there are few."""

    @cached_property
    def _served(self) -> ServedResource:
        return self._cluster.catalog.require(_RESOURCE)

    def namespace_for(self, involved: Plain) -> str:
        """Return the namespace for the Events of an object; for a cluster-scoped object, ``default``.

        Raises:
            StatusFailure: If the namespace is terminating, or does not exist.
        """
        namespace = text(involved, "namespace") or "default"
        self._cluster.check_namespace(self._served, namespace, "")
        return namespace

    def free_name(self, namespace: str, about: str, now: datetime) -> str:
        """Return a name for an Event: that of its object, and the time in nanoseconds."""
        table = self._cluster.storage.table(self._served.table)
        moment = int(now.timestamp() * 1_000_000) * 1000
        # A virtual clock may not advance between two Events.
        while table.get(f"{namespace}/{about}.{moment:x}") is not None:
            moment += 1
        name = f"{about}.{moment:x}"
        # The name of the object may take up the maximum length.
        return name if len(name) <= _MAX_NAME_LENGTH else self._cluster.new_uid()

    def create(self, namespace: str, name: str, content: Plain, now: str) -> None:
        """Store a new Event.

        Raises:
            JournalError: It could not be stored.
        """
        entry: Plain = {
            "manager": self._manager,
            "operation": "Update",
            "apiVersion": self._api_version,
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": self._fields_of(content),
        }
        meta: Plain = {
            "name": name,
            "namespace": namespace,
            "managedFields": [entry],
            "uid": self._cluster.new_uid(),
            "creationTimestamp": now,
        }
        self._cluster.write(self._served, f"{namespace}/{name}", {"metadata": meta, **content})

    def update(self, namespace: str, name: str, changes: Plain, now: str) -> bool:
        """Change fields of an Event that its recorder owns; return False if the Event no longer exists.

        Raises:
            JournalError: It could not be stored.
        """
        key = f"{namespace}/{name}"
        record = self._cluster.storage.table(self._served.table).get(key)
        if record is None:
            return False
        event = self._served.load(record)
        for entry in items(metadata(event), "managedFields"):
            # Other managers may own fields of the Event, such as annotations of a user.
            if entry.get("manager") == self._manager:
                entry["time"] = now
        changed = event | changes
        if changed.keys() != event.keys():
            owned = self._fields_of({field: value for field, value in changed.items() if field != "metadata"})
            for entry in items(metadata(changed), "managedFields"):
                if entry.get("manager") == self._manager:
                    entry["fieldsV1"] = owned
        self._cluster.write(self._served, key, changed)
        return True

    def _fields_of(self, content: Plain) -> Plain:
        """Return the managed fields of the recorder: all non-empty fields."""
        names = tuple([name for name, value in content.items() if value])
        owned = self._owned.get(names)
        if owned is None:
            renamed = _NEW_NAMES if self._api_version == _EVENTS_V1 else {}
            nested: Plain = {"source": {f"f:{field}": {} for field in sorted(content["source"])}}
            fields = {f"f:{renamed.get(name, name)}": nested.get(name, {}) for name in names}
            owned = self._owned[names] = dict(sorted(fields.items()))
        return owned
