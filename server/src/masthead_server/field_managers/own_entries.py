"""The managedFields of bootstrap objects.

The entries equal those of `FieldManager`. That needs the schemas of all kinds, though, and loading them would take most
of a server's start time. Bootstrap objects need only a few facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.wire.plain import Plain

__all__ = ["AGGREGATION_MANAGER", "CLUSTER_MANAGER", "CONTROLLER_MANAGER", "own_entry"]

CLUSTER_MANAGER: Final = "kube-apiserver"
"""The manager of what kube-apiserver itself writes."""
CONTROLLER_MANAGER: Final = "kube-controller-manager"
"""The manager of what controllers write."""
AGGREGATION_MANAGER: Final = "clusterrole-aggregation-controller"
"""The manager of the rules of aggregated roles."""
_STRUCTS: Final = frozenset({"metadata", "spec", "spec.priorityLevelConfiguration", "status"})
"""The structs that every object has, even if they are empty."""
_ATOMIC: Final = frozenset({"roleRef"})
"""The atomic structs; lists are atomic, too, unless they have keys."""
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "spec.ports": ("port", "protocol"),
    "status.conditions": ("type",),
}
"""The lists whose items are managed by their keys."""
_NOT_OWNED: Final = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.generation", "spec.clusterIPs", "spec.ipFamilies"}
)
"""The fields without a manager, and the fields that the server sets later."""


def own_entry(
    content: Plain,
    manager: str,
    api_version: str,
    now: str,
    *,
    operation: str = "Update",
    subresource: str = "",
) -> Plain:
    """Return the entry of a manager.

    Args:
        content: The part of the object that the manager has set.
        manager: Its name.
        api_version: The version of the object.
        now: The time.
        operation: ``Update`` or ``Apply``.
        subresource: The subresource that was written; empty for the object itself.
    """
    entry: Plain = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(content, ""),
    }
    return {**entry, "subresource": subresource} if subresource else entry


def _fields(owner: Plain, path: str) -> Plain:
    found: Plain = {}
    for name, value in sorted(owner.items()):
        below = f"{path}.{name}" if path else name
        # An applied condition has no empty fields.
        if below not in _NOT_OWNED and (value != "" or not path.startswith("status.")):
            found[f"f:{name}"] = _field(value, below)
    # An empty struct has no owner: Go writes it even without a value.
    return {name: fields for name, fields in found.items() if fields or name not in {"f:metadata", "f:spec"}}


def _field(value: object, path: str) -> Plain:
    if isinstance(value, dict) and path not in _ATOMIC:
        fields = _fields(cast("Plain", value), path)
        return fields if path in _STRUCTS else {".": {}, **fields}
    if isinstance(value, list) and path in _KEYS:
        # Applying items does not own the list itself.
        own: Plain = {} if path == "status.conditions" else {".": {}}
        items = cast("list[Plain]", value)
        return own | {_key(item, _KEYS[path]): {".": {}, **_fields(item, f"{path}[]")} for item in items}
    return {}


def _key(item: Plain, names: tuple[str, ...]) -> str:
    return f"k:{msgspec.json.encode({name: item[name] for name in names}).decode()}"
