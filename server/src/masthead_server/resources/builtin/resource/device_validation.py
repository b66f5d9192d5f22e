"""Validation of the devices in ResourceSlices."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from masthead._schema.errors import invalid, required, too_long, too_many
from masthead_server.resources import names
from masthead_server.resources.builtin.resource.capacity_policies import capacity_errors
from masthead_server.resources.builtin.resource.checks import (
    MAX_DRIVER_LENGTH,
    MAX_ID_LENGTH,
    binding_errors,
    list_errors,
    qualified_name_errors,
    short_name_errors,
    taint_errors,
)
from masthead_server.resources.validation.checks import amount, follows, not_found, same_structs
from masthead_server.resources.validation.internal_types import inner
from masthead_server.resources.validation.pod_affinity import node_selector_errors
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

    _Check: TypeAlias = Callable[[Any, str], Errors]

_MAX_ATTRIBUTES: Final = 32
_MAX_VALUES: Final = 48
_MAX_VALUE_LENGTH: Final = 64
_MAX_TAINTS: Final = 16
_MAX_CONSUMPTIONS: Final = 2
_MAX_COUNTERS: Final = 32
_MAX_LABEL_LENGTH: Final = 63
_MAX_NAME_LENGTH: Final = MAX_DRIVER_LENGTH + 1 + MAX_ID_LENGTH
_LISTS: Final = ("bools", "ints", "strings", "versions")
_VALUES: Final = ("int", "bool", "string", "version", *_LISTS)
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRERELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)
_PER_DEVICE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true"
    " in the ResourceSlice spec"
)


def device_errors(device: Plain, path: str, old: Plain | None, *, selects_nodes: bool) -> Errors:
    """Validate a device.

    Args:
        device: The device.
        path: Its path.
        old: The device of that name before the update, whose taints are not checked again.
        selects_nodes: Whether every device of the slice says where it is.
    """
    errors = short_name_errors(f"{path}.name", text(device, "name"))
    errors += _count_errors(device, path)
    errors += map_errors(device, "attributes", path, _MAX_NAME_LENGTH, qualified_name_errors, _attribute_errors)
    check = partial(capacity_errors, is_shared=device.get("allowMultipleAllocations") is True)
    errors += map_errors(device, "capacity", path, _MAX_NAME_LENGTH, qualified_name_errors, check)
    if old is None or not same_structs(old.get("taints"), device.get("taints")):
        errors += list_errors(device, "taints", path, _MAX_TAINTS, _taint_errors)
    errors += list_errors(
        device, "consumesCounters", path, _MAX_CONSUMPTIONS, _consumption_errors, lambda item: text(item, "counterSet")
    )
    errors += _place_errors(device, path, selects_nodes=selects_nodes)
    errors += binding_errors(device, path)
    return errors + _mapping_errors(device, f"{path}.nodeAllocatableResourceMappings")


def _taint_errors(taint: Plain, path: str) -> Errors:
    return taint_errors(path, taint)


def _count_errors(device: Plain, path: str) -> Errors:
    attributes = part(device, "attributes")
    errors: Errors = []
    total = len(attributes) + len(part(device, "capacity"))
    if total > _MAX_ATTRIBUTES:
        why = f"the total number of attributes and capacities must not exceed {_MAX_ATTRIBUTES}"
        errors.append(invalid(path, total, why))
    values = sum(sum(len(value.get(name) or ()) for name in _LISTS) or 1 for value in attributes.values())
    if values > _MAX_VALUES:
        errors.append(invalid(path, values, f"the total number of attribute values must not exceed {_MAX_VALUES}"))
    return errors


def map_errors(
    owner: Plain,
    name: str,
    path: str,
    longest: int,
    check_key: Callable[[str, str], Errors],
    check_value: _Check,
    limit: int = -1,
) -> Errors:
    """Validate the keys and the values of a map; paths show long keys shortened."""
    found, at = part(owner, name), f"{path}.{name}"
    if 0 <= limit < len(found):
        return [too_many(at, len(found), limit)]
    errors: Errors = []
    # kube-apiserver reports them in random order.
    for key, value in found.items():
        errors += check_key(at, key)
        errors += check_value(value, f"{at}[{_shorten(key, longest)}]")
    return errors


def _shorten(key: str, longest: int) -> str:
    if len(key) <= longest:
        return key
    remaining = longest - len("...")
    return f"{key[: (remaining + 1) // 2]}...{key[len(key) - remaining // 2 :]}"


def _attribute_errors(attribute: Plain, path: str) -> Errors:
    errors: Errors = []
    if attribute.get("string") is not None:
        errors += _length_errors(attribute["string"], f"{path}.string")
    if attribute.get("version") is not None:
        errors += _version_errors(attribute["version"], f"{path}.version")
    checks: dict[str, _Check] = {"strings": _length_errors, "versions": _version_errors}
    for name in _LISTS:
        if attribute.get(name) == []:
            errors.append(invalid(f"{path}.{name}", [], "must not be empty if specified"))
        if name in checks:
            errors += list_errors(attribute, name, path, -1, checks[name])
    count = sum(attribute.get(name) is not None for name in _VALUES)
    if count == 1:
        return errors
    shown = inner("DeviceAttribute", attribute) if count else ""
    return [*errors, invalid(path, shown, "exactly one value must be specified")]


def _length_errors(value: str, path: str) -> Errors:
    return [too_long(path, _MAX_VALUE_LENGTH)] if len(value.encode()) > _MAX_VALUE_LENGTH else []


def _version_errors(value: str, path: str) -> Errors:
    errors: Errors = []
    if not _VERSION.fullmatch(value):
        errors.append(invalid(path, value, "must be a string compatible with semver.org spec 2.0.0"))
    return errors + _length_errors(value, path)


def _consumption_errors(consumption: Plain, path: str) -> Errors:
    return counter_errors(consumption, path, "counterSet")


def counter_errors(owner: Plain, path: str, name: str) -> Errors:
    """Validate a set of counters, or what a device consumes of one.

    Args:
        owner: The set.
        path: Its path.
        name: The field with the name of the set.
    """
    at = f"{path}.{name}"
    errors = short_name_errors(at, owner[name]) if owner.get(name) else [required(at)]
    if not owner.get("counters"):
        return [*errors, required(f"{path}.counters")]
    return errors + map_errors(
        owner, "counters", path, _MAX_LABEL_LENGTH, short_name_errors, lambda _value, _path: [], _MAX_COUNTERS
    )


def _place_errors(device: Plain, path: str, *, selects_nodes: bool) -> Errors:
    places = [place for place in ("nodeName", "nodeSelector", "allNodes") if device.get(place) is not None]
    if not selects_nodes:
        if not places:
            return []
        why = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true"
            " in the ResourceSlice spec"
        )
        return [invalid(path, None, why)]
    errors, stated = place_errors(device, path, "must not be empty")
    if not stated:
        return [*errors, required(path, _PER_DEVICE)]
    return errors if len(stated) == 1 else [*errors, invalid(path, f"{{{', '.join(stated)}}}", _PER_DEVICE)]


def place_errors(owner: Plain, path: str, no_name: str) -> tuple[Errors, list[str]]:
    """Validate the nodes of a slice or a device.

    Args:
        owner: The slice's spec or the device.
        path: Its path.
        no_name: The problem of an empty node name.

    Returns:
        The errors, and the fields that select nodes, as messages show them.
    """
    errors: Errors = []
    stated: list[str] = []
    if (name := owner.get("nodeName")) is not None:
        if name:
            stated.append("`nodeName`")
            errors += follows(f"{path}.nodeName", name, names.SUBDOMAIN)
        else:
            errors.append(invalid(f"{path}.nodeName", name, no_name))
    if owner.get("nodeSelector") is not None:
        stated.append("`nodeSelector`")
        errors += node_selector_errors(f"{path}.nodeSelector", part(owner, "nodeSelector"))
    if owner.get("allNodes") is True:
        stated.append("`allNodes`")
    elif owner.get("allNodes") is False:
        errors.append(invalid(f"{path}.allNodes", False, "must be either unset or set to true"))
    return errors, stated


def _mapping_errors(device: Plain, path: str) -> Errors:
    errors: Errors = []
    for name, mapping in part(device, "nodeAllocatableResourceMappings").items():
        at = f"{path}[{name}]"
        if "/" in name and "kubernetes.io/" not in name:
            errors.append(invalid(at, name, "must be a node allocatable resource name"))
        multiplier, key = mapping.get("allocationMultiplier"), mapping.get("capacityKey")
        if multiplier is None and key is None:
            errors.append(invalid(at, "", "at least one of allocationMultiplier or capacityKey must be set"))
        if multiplier is not None and amount(multiplier).sign <= 0:
            errors.append(invalid(f"{at}.allocationMultiplier", str(amount(multiplier)), "must be positive"))
        if key == "":
            errors.append(invalid(f"{at}.capacityKey", "", "capacityKey must not be an empty string"))
        elif key is not None and key not in part(device, "capacity"):
            errors.append(not_found(f"{at}.capacityKey", key))
    return errors
