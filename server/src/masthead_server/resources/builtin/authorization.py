"""The resources of ``authorization.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import NOT_STORED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.description import ResourceDescription

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "localsubjectaccessreviews": NOT_STORED,
    "selfsubjectaccessreviews": NOT_STORED,
    "selfsubjectrulesreviews": NOT_STORED,
    "subjectaccessreviews": NOT_STORED,
}
"""The resources of the group, by name."""
