"""The JSON of Events: ``events.k8s.io/v1``, and core/v1 for servers without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.time import format_micro_time, format_time

if TYPE_CHECKING:
    from masthead._sansio.event_correlation import EventRecord
    from masthead._sansio.event_occurrences import EventReference
    from masthead._sansio.event_writes import EventWrite

__all__ = ["RESOURCES", "EventApi", "EventSource", "create_body", "namespace_of", "patch_body"]

EventApi: TypeAlias = Literal["events.k8s.io/v1", "v1"]
"""The apiVersion of Events."""

RESOURCES: Final[dict[EventApi, GroupVersionResource]] = {
    "events.k8s.io/v1": GroupVersionResource("events.k8s.io", "v1", "events"),
    "v1": GroupVersionResource("", "v1", "events"),
}
_FOR_CLUSTER_SCOPED: Final = "default"


@dataclass(frozen=True, slots=True)
class EventSource:
    """The reporter of Events.

    Attributes:
        component: The controller.
        instance: Its instance, such as its pod.
        host: The machine, for core/v1 only; empty for none.
    """

    component: str
    instance: str
    host: str = ""


def namespace_of(record: EventRecord) -> str:
    """Return the namespace of an Event: that of its object, or ``default``, as the API server requires."""
    return record.first.regarding.namespace or _FOR_CLUSTER_SCOPED


def create_body(api: EventApi, write: EventWrite, source: EventSource) -> bytes:
    """Encode a new Event."""
    record, first = write.record, write.record.first
    # Field names of both APIs agree here.
    common = {
        "apiVersion": api,
        "kind": "Event",
        "metadata": {"name": record.name, "namespace": namespace_of(record)},
        "reason": first.reason,
        "type": first.type,
        "action": first.action,
        "reportingInstance": source.instance,
        **({} if first.related is None else {"related": _reference(first.related)}),
    }
    own = _new_fields(write, source) if api == "events.k8s.io/v1" else _old_fields(write, source)
    return msgspec.json.encode({**common, **own})


def patch_body(api: EventApi, write: EventWrite) -> bytes:
    """Encode the patch of an Event's count."""
    if api == "events.k8s.io/v1":
        return msgspec.json.encode({"series": _series(write)})
    body = {
        "count": write.count,
        "lastTimestamp": format_time(write.last_at),
        "message": write.record.note,
    }
    return msgspec.json.encode(body)


def _new_fields(write: EventWrite, source: EventSource) -> dict[str, object]:
    record = write.record
    return {
        "eventTime": format_micro_time(record.first.at),
        "note": record.note,
        "regarding": _reference(record.first.regarding),
        "reportingController": source.component,
        # A series of one is invalid.
        **({"series": _series(write)} if write.count > 1 else {}),
    }


def _old_fields(write: EventWrite, source: EventSource) -> dict[str, object]:
    record = write.record
    return {
        "count": write.count,
        "firstTimestamp": format_time(record.first.at),
        "lastTimestamp": format_time(write.last_at),
        "involvedObject": _reference(record.first.regarding),
        "message": record.note,
        "reportingComponent": source.component,
        "source": {"component": source.component, **({"host": source.host} if source.host else {})},
    }


def _series(write: EventWrite) -> dict[str, object]:
    return {"count": write.count, "lastObservedTime": format_micro_time(write.last_at)}


def _reference(reference: EventReference) -> dict[str, str]:
    fields = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "namespace": reference.namespace,
        "name": reference.name,
        "uid": reference.uid,
        "resourceVersion": reference.resource_version,
        "fieldPath": reference.field_path,
    }
    return {name: value for name, value in fields.items() if value}
