"""The resources of ``authentication.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import NOT_STORED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.description import ResourceDescription

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "selfsubjectreviews": NOT_STORED,
    "tokenreviews": NOT_STORED,
}
"""The resources of the group, by name."""
