"""The fields of custom resources that field selectors may name: the selectable fields of their definition."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, cast

from masthead_server.resources.field_selectors import CUSTOM_RESOURCE_FIELDS, SelectableFields

if TYPE_CHECKING:
    from masthead_server.resources.custom.definition import DefinitionVersion
    from masthead_server.wire.plain import Plain

__all__ = ["selectable_fields"]


def selectable_fields(version: DefinitionVersion) -> SelectableFields:
    """Return the fields of a version that a field selector may name."""
    readers = {
        path.removeprefix("."): functools.partial(_read, path.removeprefix(".").split("."))
        for path in version.selectable_paths
    }
    return SelectableFields(
        readers=readers,
        has_namespace=version.definition.is_namespaced,
        unsupported=CUSTOM_RESOURCE_FIELDS.unsupported,
    )


def _read(steps: list[str], found: Plain) -> str:
    """Return the value at a path as text; empty if it is missing."""
    value = cast("object", found)
    for step in steps:
        if not isinstance(value, dict):
            return ""
        value = cast("object", cast("Plain", value).get(step))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
