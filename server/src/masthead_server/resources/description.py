"""The description of a resource: everything that the server knows of it beyond its generated class."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from masthead_server.resources.behavior import Behavior, no_behavior
from masthead_server.resources.field_selectors import SelectableFields
from masthead_server.resources.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.gvk import GroupVersion
    from masthead._printers.printer import Printer

__all__ = ["NOT_STORED", "ResourceDescription", "builtin_behavior"]
_PLAIN_STRATEGY: Final = Strategy()
_METADATA_FIELDS: Final = SelectableFields()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDescription:
    """One resource, in all of its versions.

    It is cheap to import. The code of the resource, its `Behavior`, is imported with the first request for it.

    Attributes:
        strategy: How the generic write path treats its objects.
        behavior: Returns defaulting, validation, warnings, conversion and subresources.
        selectable: The fields that field selectors may name.
        is_stored: Whether objects are stored; a POST to other resources is only answered.
        stored_as: The group and version in which objects are stored; the foremost served version if it is None.
        converted: The versions that differ from the stored one in more than ``apiVersion``.
        deprecated: For each deprecated version, since when it is, when it goes, and what takes its place.
        is_reviewed_ahead: Whether bodies go to `Behavior.review` first, because their validation is slow.
        printer: Returns how objects appear in tables; None for the printer that the kind has by its name. The
            printer of a custom resource gets objects of the served version, that of a built-in one objects of the
            stored version.
    """

    strategy: Strategy = _PLAIN_STRATEGY
    behavior: Callable[[], Behavior] = no_behavior
    selectable: SelectableFields = _METADATA_FIELDS
    is_stored: bool = True
    stored_as: GroupVersion | None = None
    converted: frozenset[str] = frozenset()
    deprecated: Mapping[str, str] = field(default_factory=dict[str, str])
    is_reviewed_ahead: bool = False
    printer: Callable[[], Printer] | None = None


NOT_STORED: Final = ResourceDescription(is_stored=False)
"""A resource whose objects are answered and not stored, such as a review."""


def builtin_behavior(module: str) -> Callable[[], Behavior]:
    """Return a function that imports the behavior of a built-in resource.

    Args:
        module: The module below ``builtin`` that defines ``BEHAVIOR``: ``apps.replicaset`` for a kind in one file,
            ``core.pod.behavior`` for a kind with a folder.
    """
    return partial(_load, module)


def _load(module: str) -> Behavior:
    return cast("Behavior", importlib.import_module(f"masthead_server.resources.builtin.{module}").BEHAVIOR)
