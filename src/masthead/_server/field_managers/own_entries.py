"""The managedFields of the objects that every cluster has.

They are what `FieldManager` makes of them, but it needs the schemas of their kinds, which would take most of the time
in which a server starts. These objects need only a few facts of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._server.wire.plain import Plain

__all__ = ["AGGREGATION_MANAGER", "CLUSTER_MANAGER", "CONTROLLER_MANAGER", "own_entry"]

CLUSTER_MANAGER: Final = "kube-apiserver"
"""The manager of what kube-apiserver itself writes."""
CONTROLLER_MANAGER: Final = "kube-controller-manager"
"""The manager of what controllers write."""
AGGREGATION_MANAGER: Final = "clusterrole-aggregation-controller"
"""The manager of the rules of aggregated roles."""
_STRUCTS: Final = frozenset({"metadata", "spec", "spec.priorityLevelConfiguration", "status"})
"""The structs that every object has, even if they are empty."""
_WHOLE: Final = frozenset({"roleRef"})
"""The structs that are managed as a whole, as most lists are."""
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "spec.ports": ("port", "protocol"),
    "status.conditions": ("type",),
}
"""The lists whose items are managed by their keys."""
_OF_THE_SERVER: Final = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.generation", "spec.clusterIPs", "spec.ipFamilies"}
)
"""What nobody manages, or what the server adds later."""


def own_entry(
    content: Plain,
    manager: str,
    api_version: str,
    now: str,
    *,
    operation: str = "Update",
    subresource: str = "",
) -> Plain:
    """Return the entry of the manager of an object.

    Args:
        content: What the manager has set of the object.
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
        # Who applies a condition leaves out what is empty.
        if below not in _OF_THE_SERVER and (value != "" or not path.startswith("status.")):
            found[f"f:{name}"] = _field(value, below)
    return {name: fields for name, fields in found.items() if fields or name not in {"f:metadata", "f:spec"}}


def _field(value: object, path: str) -> Plain:
    if isinstance(value, dict) and path not in _WHOLE:
        fields = _fields(cast("Plain", value), path)
        return fields if path in _STRUCTS else {".": {}, **fields}
    if isinstance(value, list) and path in _KEYS:
        # Who applies items of a list does not manage the list itself.
        own: Plain = {} if path == "status.conditions" else {".": {}}
        items = cast("list[Plain]", value)
        return own | {_key(item, _KEYS[path]): {".": {}, **_fields(item, f"{path}[]")} for item in items}
    return {}


def _key(item: Plain, names: tuple[str, ...]) -> str:
    return f"k:{msgspec.json.encode({name: item[name] for name in names}).decode()}"
