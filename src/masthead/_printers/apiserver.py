"""The API server itself: API services, definitions, flow control, versions of storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, has, integer, part, text
from masthead._printers.formats import cut_list, group_resource
from masthead._printers.printer import AGE, CREATED_AT, NAME, Column, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_FLOW_CONTROL: Final = "flowcontrol.apiserver.k8s.io"
_MIGRATION_STATES: Final = frozenset({"Running", "Failed", "Succeeded"})


def _api_service(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    service = part(spec, "service")
    place = f"{text(service, 'namespace')}/{text(service, 'name')}" if has(spec, "service") else "Local"
    return [name_of(obj), place, _availability(obj), age_of(obj, now)]


def _availability(obj: Plain) -> str:
    for condition in entries(part(obj, "status"), "conditions"):
        if condition.get("type") == "Available":
            status, reason = text(condition, "status"), text(condition, "reason")
            return f"{status} ({reason})" if reason and status != "True" else status
    return "Unknown"


def _flow_schema(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    method = part(spec, "distinguisherMethod")
    return [
        name_of(obj),
        text(part(spec, "priorityLevelConfiguration"), "name"),
        integer(spec, "matchingPrecedence"),
        text(method, "type") if has(spec, "distinguisherMethod") else "<none>",
        age_of(obj, now),
        _dangling(obj),
    ]


def _dangling(obj: Plain) -> str:
    """Whether the priority level of a flow schema is missing."""
    for condition in entries(part(obj, "status"), "conditions"):
        if condition.get("type") == "Dangling":
            return text(condition, "status")
    return "?"


def _priority_level(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    limited = part(spec, "limited")
    queuing = part(limited, "limitResponse", "queuing")
    has_queues = has(part(limited, "limitResponse"), "queuing")
    return [
        name_of(obj),
        text(spec, "type"),
        integer(limited, "nominalConcurrencyShares") if has(spec, "limited") else "<none>",
        *(integer(queuing, name) if has_queues else "<none>" for name in ("queues", "handSize", "queueLengthLimit")),
        age_of(obj, now),
    ]


def _storage_version(obj: Plain, now: datetime) -> list[Cell]:
    status = part(obj, "status")
    common = status.get("commonEncodingVersion")
    versions = [
        f"{text(entry, 'apiServerID')}={text(entry, 'encodingVersion')}" for entry in entries(status, "storageVersions")
    ]
    return [
        name_of(obj),
        common if isinstance(common, str) else "<unset>",
        cut_list(versions),
        age_of(obj, now),
    ]


def _storage_version_migration(obj: Plain, _: datetime) -> list[Cell]:
    resource = part(obj, "spec", "resource")
    state = "Unknown"
    for condition in entries(part(obj, "status"), "conditions"):
        kind = text(condition, "type")
        if condition.get("status") == "True" and kind in _MIGRATION_STATES:
            state = kind
    return [name_of(obj), group_resource(text(resource, "group"), text(resource, "resource")), state]


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("apiregistration.k8s.io", "APIService"): Printer(
        (NAME, Column("Service"), Column("Available"), AGE), _api_service, repeats_columns=True
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): CREATED_AT,
    (_FLOW_CONTROL, "FlowSchema"): Printer(
        (
            NAME,
            Column("PriorityLevel"),
            Column("MatchingPrecedence"),
            Column("DistinguisherMethod"),
            AGE,
            Column("MissingPL"),
        ),
        _flow_schema,
    ),
    (_FLOW_CONTROL, "PriorityLevelConfiguration"): Printer(
        (
            NAME,
            Column("Type"),
            Column("NominalConcurrencyShares"),
            Column("Queues"),
            Column("HandSize"),
            Column("QueueLengthLimit"),
            AGE,
        ),
        _priority_level,
    ),
    ("internal.apiserver.k8s.io", "StorageVersion"): Printer(
        (NAME, Column("CommonEncodingVersion"), Column("StorageVersions"), AGE), _storage_version
    ),
    ("storagemigration.k8s.io", "StorageVersionMigration"): Printer(
        (Column("Name"), Column("Resource"), Column("Status")), _storage_version_migration
    ),
}
"""The printers, by group and kind."""
