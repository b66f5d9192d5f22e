"""ResourceSlices: validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import invalid, required
from masthead_server.resources.behavior import Behavior, Conversion, StrategyHooks, always
from masthead_server.resources.builtin.resource import conversion
from masthead_server.resources.builtin.resource.checks import driver_errors, list_errors, name_of, pool_errors
from masthead_server.resources.builtin.resource.device_taints import set_time_added
from masthead_server.resources.builtin.resource.device_validation import (
    counter_errors,
    device_errors,
    place_errors,
)
from masthead_server.resources.validation.checks import immutable
from masthead_server.resources.validation.internal_types import inner
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_MAX_DEVICES: Final = 128
_MAX_ADVANCED_DEVICES: Final = 64
"""The most devices of a slice that has taints, counters or lists."""
_MAX_COUNTER_SETS: Final = 8
_PLACES: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_MAPPINGS: Final = "nodeAllocatableResourceMappings"
_LIST_VALUES: Final = ("bools", "ints", "strings", "versions")


def resource_slice_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a ResourceSlice."""
    driver = text(part(obj, "spec"), "driver")
    if driver == driver.lower():
        return []
    why = f"driver names should be lowercase; {quoted(driver)} contains uppercase characters"
    return [f"spec.driver: {why}"]


def _prepare_slice(resource_slice: Plain, allocate: Allocator, old: Plain | None = None) -> None:
    _drop_disabled(resource_slice, old)
    for device in items(part(resource_slice, "spec"), "devices"):
        for taint in items(device, "taints"):
            set_time_added(taint, allocate)


def _drop_disabled(new: Plain, old: Plain | None) -> None:
    """Drop the fields of features that are off by default, unless they are in use."""
    before = items(part(old or {}, "spec"), "devices")
    keeps_lists = any(map(_has_lists, before))
    keeps_mappings = any(device.get(_MAPPINGS) for device in before)
    for device in items(part(new, "spec"), "devices"):
        if not keeps_mappings:
            device.pop(_MAPPINGS, None)
        for attribute in part(device, "attributes").values():
            for name in () if keeps_lists else _LIST_VALUES:
                attribute.pop(name, None)


def _has_lists(device: Plain) -> bool:
    attributes = part(device, "attributes").values()
    return any(attribute.get(name) is not None for attribute in attributes for name in _LIST_VALUES)


def slice_errors(resource_slice: Plain, old: Plain | None = None) -> Errors:
    """Return the errors of a ResourceSlice."""
    spec = part(resource_slice, "spec")
    before = None if old is None else part(old, "spec")
    errors = driver_errors("spec.driver", text(spec, "driver"))
    errors += _pool_errors(part(spec, "pool"))
    if before is not None:
        errors += immutable("spec.pool.name", text(part(spec, "pool"), "name"), text(part(before, "pool"), "name"))
        errors += immutable("spec.driver", text(spec, "driver"), text(before, "driver"))
        # Go tells an empty name from none.
        if spec.get("nodeName") != before.get("nodeName"):
            errors.append(invalid("spec.nodeName", spec.get("nodeName"), "field is immutable"))
    errors += _node_errors(spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    return errors + _content_errors(spec, before)


def _pool_errors(pool: Plain) -> Errors:
    errors = pool_errors("spec.pool.name", text(pool, "name"))
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        errors.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return errors


def _node_errors(spec: Plain) -> Errors:
    errors, stated = place_errors(spec, "spec", "must be either unset or set to a non-empty string")
    selector = spec.get("nodeSelector")
    if selector is not None and len(items(selector, "nodeSelectorTerms")) != 1:
        terms = inner("NodeSelector", selector)["NodeSelectorTerms"]
        at = "spec.nodeSelector.nodeSelectorTerms"
        errors.append(invalid(at, terms, "must have exactly one node selector term"))
    if spec.get("perDeviceNodeSelection") is True:
        stated.append("`perDeviceNodeSelection`")
    elif spec.get("perDeviceNodeSelection") is False:
        errors.append(invalid("spec.perDeviceNodeSelection", False, "must be either unset or set to true"))
    if not stated:
        return [*errors, required("spec", _PLACES)]
    if len(stated) > 1:
        shown = f"{{{', '.join(stated)}}}"
        errors.append(invalid("spec", shown, f"{_PLACES}, but multiple fields are set"))
    return errors


def _content_errors(spec: Plain, before: Plain | None) -> Errors:
    known: dict[str, Plain] = {}
    for device in items(before or {}, "devices"):
        known.setdefault(name_of(device), device)
    selects_nodes = spec.get("perDeviceNodeSelection") is True

    def check(device: Plain, path: str) -> Errors:
        return device_errors(device, path, known.get(name_of(device)), selects_nodes=selects_nodes)

    limit = _MAX_ADVANCED_DEVICES if any(map(_is_advanced, items(spec, "devices"))) else _MAX_DEVICES
    errors = list_errors(spec, "devices", "spec", limit, check, name_of)
    return errors + list_errors(spec, "sharedCounters", "spec", _MAX_COUNTER_SETS, _counter_set_errors, name_of)


def _counter_set_errors(counter_set: Plain, path: str) -> Errors:
    return counter_errors(counter_set, path, "name")


def _is_advanced(device: Plain) -> bool:
    return bool(device.get("taints") or device.get("consumesCounters") or _has_lists(device))


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        validate_create=slice_errors,
        validate_update=slice_errors,
        prepare_create=_prepare_slice,
        reallocate=lambda new, old, allocate: _prepare_slice(new, allocate, old),
    ),
    warnings=always(resource_slice_warnings),
    conversions={"v1beta1": Conversion(conversion.slice_from_v1beta1, conversion.slice_to_v1beta1)},
)
