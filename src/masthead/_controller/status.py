"""Merge patches of a status with only the changed fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from masthead._meta import shape
from masthead._meta.conditions import set_condition
from masthead._meta.model import Struct
from masthead._meta.time import MicroTime, format_micro_time, format_time
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import Condition
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.object import Object

__all__ = ["status_patch"]


def status_patch(
    obj: Object,
    status: Mapping[str, object] | Struct | None,
    conditions: Sequence[Condition],
    *,
    generation: int | None,
    now: datetime,
) -> dict[str, object] | None:
    """Compute the merge patch that sets fields and conditions of a status; None if nothing changes.

    The patch includes the version, so that a concurrent change is a conflict and not lost.

    Raises:
        ArgumentError: If the status does not fit the kind.
    """
    current = _status_of(obj)
    wanted = _plain(obj, status)
    if conditions:
        wanted["conditions"] = _merge_conditions(current.get("conditions"), conditions, now)
    # Only if the kind has the field: the server would reject or prune it otherwise.
    if generation is not None and _has_observed_generation(obj, current):
        wanted.setdefault("observedGeneration", generation)
    changed = {name: value for name, value in wanted.items() if current.get(name) != value}
    # Without this check, every reconcile would write, and every write would reconcile.
    if not changed:
        return None
    metadata = {"resourceVersion": obj.metadata.resource_version, "uid": obj.metadata.uid}
    return {
        "metadata": metadata,
        "status": {name: _diff(current.get(name), changed[name]) for name in changed},
    }


def _status_of(obj: Object) -> dict[str, Any]:
    found = obj.to_dict().get("status")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _plain(obj: Object, status: Mapping[str, object] | Struct | None) -> dict[str, Any]:
    """Return the fields to set, and None for fields to remove, by wire name.

    Raises:
        ArgumentError: If a field does not exist, or has another type.
    """
    if status is None:
        return {}
    if isinstance(status, Struct):
        fields = status.to_dict()
        return {**_without_nulls(fields), **{name: None for name in fields if fields[name] is None}}
    if not isinstance(cast("object", status), Mapping):
        raise ArgumentError(
            f"a status is a mapping of fields or a typed object, not {type(status).__name__}", value=status
        )
    removed = [name for name, value in status.items() if value is None]
    if isinstance(obj, Unstructured):
        return {**_without_nulls(status), **dict.fromkeys(removed)}
    cls = cast("type[Any]", type(obj).api_type)
    field = shape.fields_by_attribute(type(obj).api_type).get("status")
    if field is None:
        raise ArgumentError(f"{obj.kind} has no status", value=status)
    # Fields to remove are included, so that their names are checked as well.
    made = cls.new(obj.metadata.name, status=_without_removed_entries(field.shape, status))
    return {
        **_without_nulls(made.to_dict().get("status", {})),
        **{_wire_name(field.shape, name): None for name in removed},
    }


def _wire_name(status: shape.Shape, name: str) -> str:
    """Return the wire name for a wire name or an attribute: ``hostIPs`` for ``host_ips``."""
    if not isinstance(status, shape.StructShape) or name in shape.fields_of(status.cls):
        return name
    return shape.fields_by_attribute(status.cls)[name].wire


def _without_removed_entries(found: shape.Shape, value: object) -> object:
    """Remove map entries that are None, because the types of map values exclude None."""
    if not isinstance(value, Mapping):
        return value
    entries = cast("Mapping[str, object]", value)
    if isinstance(found, shape.MapShape):
        return {k: _without_removed_entries(found.value, v) for k, v in entries.items() if v is not None}
    if isinstance(found, shape.StructShape):
        fields = {**shape.fields_by_attribute(found.cls), **shape.fields_of(found.cls)}
        return {k: _without_removed_entries(fields[k].shape, v) if k in fields else v for k, v in entries.items()}
    return entries


def _without_nulls(entries: Mapping[str, object]) -> dict[str, Any]:
    """Return a map in the form of the server: without None at any depth, and with times as text."""
    return {
        k: _without_nulls(cast("Mapping[str, object]", v)) if isinstance(v, Mapping) else _with_time_as_text(v)
        for k, v in entries.items()
        if v is not None
    }


def _with_time_as_text(value: object) -> object:
    """Format a time as the API does, for comparisons; return any other value unchanged."""
    if isinstance(value, MicroTime):
        return format_micro_time(value)
    return format_time(value) if isinstance(value, datetime) else value


def _has_observed_generation(obj: Object, current: Mapping[str, object]) -> bool:
    status = getattr(obj, "status", None)
    if isinstance(status, Struct):
        return "observed_generation" in shape.fields_by_attribute(type(status).api_type)
    return "observedGeneration" in current


def _merge_conditions(current: object, conditions: Sequence[Condition], now: datetime) -> list[dict[str, Any]]:
    merged = [Condition.from_dict(condition) for condition in cast("list[dict[str, Any]]", current or [])]
    for condition in conditions:
        set_condition(merged, condition, now=now)
    return [condition.to_dict() for condition in merged]


def _diff(current: object, wanted: object) -> object:
    """Compute the merge patch from one value to another; missing map entries are removed."""
    if not isinstance(current, dict) or not isinstance(wanted, dict):
        return wanted
    before, after = cast("dict[str, object]", current), cast("dict[str, object]", wanted)
    return {
        **dict.fromkeys(before.keys() - after.keys()),
        **{k: _diff(before.get(k), v) for k, v in after.items()},
    }
