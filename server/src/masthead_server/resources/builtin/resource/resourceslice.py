"""ResourceSlices: warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.resources.behavior import Behavior, Conversion, StrategyHooks, always
from masthead_server.resources.builtin.resource import conversion
from masthead_server.resources.builtin.resource.device_taints import set_time_added
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def resource_slice_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a ResourceSlice."""
    driver = text(part(obj, "spec"), "driver")
    if driver == driver.lower():
        return []
    why = f"driver names should be lowercase; {quoted(driver)} contains uppercase characters"
    return [f"spec.driver: {why}"]


def _prepare_slice(resource_slice: Plain, allocate: Allocator) -> None:
    for device in items(part(resource_slice, "spec"), "devices"):
        for taint in items(device, "taints"):
            set_time_added(taint, allocate)


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        prepare_create=_prepare_slice,
        reallocate=lambda new, _old, allocate: _prepare_slice(new, allocate),
    ),
    warnings=always(resource_slice_warnings),
    conversions={"v1beta1": Conversion(conversion.slice_from_v1beta1, conversion.slice_to_v1beta1)},
)
