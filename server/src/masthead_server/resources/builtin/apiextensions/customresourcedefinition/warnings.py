"""Warnings about CustomResourceDefinitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.version_schemas import (
    reports_on,
)

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["format_warnings"]


def format_warnings(new: Plain, old: Plain) -> list[str]:
    """Return warnings about formats in schemas that are unknown, and were not there before."""
    before = {format_name for report in reports_on(old) for format_name in report.formats}
    found = dict.fromkeys(known_format_name for report in reports_on(new) for known_format_name in report.formats)
    return [f"unrecognized format {quoted(item)}" for item in found if item not in before]
