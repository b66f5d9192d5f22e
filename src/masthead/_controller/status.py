"""The patch of a status: only what changes, and nothing if nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from masthead._meta import shape
from masthead._meta.conditions import set_condition
from masthead._meta.model import Struct
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import Condition
from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

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
    """The merge patch that sets fields and conditions of a status; None if they are as wanted.

    It names the version: a concurrent change is a conflict, never lost.

    Raises:
        InvalidValueError: If the status does not fit the kind.
    """
    current = _status_of(obj)
    wanted = _plain(obj, status)
    if conditions:
        wanted["conditions"] = _merged_conditions(current.get("conditions"), conditions, now)
    if generation is not None and _has_observed_generation(obj, current):
        wanted.setdefault("observedGeneration", generation)
    changed = {name: value for name, value in wanted.items() if current.get(name) != value}
    if not changed:
        return None
    metadata = {"resourceVersion": obj.metadata.resource_version, "uid": obj.metadata.uid}
    return {
        "metadata": metadata,
        "status": {name: _patched(current.get(name), changed[name]) for name in changed},
    }


def _status_of(obj: Object) -> dict[str, Any]:
    found = obj.to_dict().get("status")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _plain(obj: Object, status: Mapping[str, object] | Struct | None) -> dict[str, Any]:
    """The fields to set, by their wire names.

    Raises:
        InvalidValueError: If they do not fit the kind.
    """
    if status is None:
        return {}
    if isinstance(status, Struct):
        return status.to_dict()
    if not isinstance(cast("object", status), Mapping):
        raise InvalidValueError(
            f"a status is a mapping of fields or a typed object, not {type(status).__name__}", value=status
        )
    kept = {name: value for name, value in status.items() if value is not None}
    removed = {_wire_name(name): None for name, value in status.items() if value is None}
    if isinstance(obj, Unstructured):
        return {**kept, **removed}
    cls = cast("type[Any]", type(obj).api_type)
    if "status" not in shape.fields_by_attribute(type(obj).api_type):
        raise InvalidValueError(f"{obj.kind} has no status", value=status)
    made = cls.new(obj.metadata.name, status=kept)
    return {**made.to_dict().get("status", {}), **removed}


def _wire_name(name: str) -> str:
    """The name of a field as the API has it: ``ready_replicas`` is ``readyReplicas``."""
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)


def _has_observed_generation(obj: Object, current: Mapping[str, object]) -> bool:
    status = getattr(obj, "status", None)
    if isinstance(status, Struct):
        return "observed_generation" in shape.fields_by_attribute(type(status).api_type)
    return "observedGeneration" in current


def _merged_conditions(
    current: object, conditions: Sequence[Condition], now: datetime
) -> list[dict[str, Any]]:
    there = [Condition.from_dict(each) for each in cast("list[dict[str, Any]]", current or [])]
    for each in conditions:
        set_condition(there, each, now=now)
    return [each.to_dict() for each in there]


def _patched(current: object, wanted: object) -> object:
    """The merge patch that makes one value of another: entries of a map that are not wanted are removed."""
    if not isinstance(current, dict) or not isinstance(wanted, dict):
        return wanted
    before, after = cast("dict[str, object]", current), cast("dict[str, object]", wanted)
    return {
        **dict.fromkeys(before.keys() - after.keys()),
        **{k: _patched(before.get(k), v) for k, v in after.items()},
    }
