"""Warnings about objects of custom resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.resources.behavior import WarningHooks
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_KNOWN_FINALIZERS: Final = ("foregroundDeletion", "kubernetes", "orphan")


def _finalizers(new: Plain, old: Plain) -> list[str]:
    added = set(_finalizers_of(new)).difference(_finalizers_of(old))
    found: list[str] = []
    for item in sorted(added):
        if "/" in item or item in _KNOWN_FINALIZERS:
            continue
        better = " including a path (/)" if "." in item else ""
        found.append(
            f"metadata.finalizers: {quoted(item)}: prefer a domain-qualified finalizer name{better}"
            " to avoid accidental conflicts with other finalizer writers"
        )
    return found


def _finalizers_of(obj: Plain) -> list[str]:
    return part(obj, "metadata").get("finalizers") or []


CUSTOM_RESOURCE_WARNINGS: Final = WarningHooks(lambda new: _finalizers(new, {}), _finalizers)
"""The warnings about objects of any custom resource."""
