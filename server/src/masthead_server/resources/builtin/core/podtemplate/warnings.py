"""Warnings about PodTemplates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.warnings.pod_spec import template_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def pod_template_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a PodTemplate."""
    return template_warnings("template", part(obj, "template"))
