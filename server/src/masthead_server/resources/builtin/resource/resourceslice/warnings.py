"""Warnings about ResourceSlices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def resource_slice_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a ResourceSlice."""
    driver = text(part(obj, "spec"), "driver")
    if driver == driver.lower():
        return []
    why = f"driver names should be lowercase; {quoted(driver)} contains uppercase characters"
    return [f"spec.driver: {why}"]
