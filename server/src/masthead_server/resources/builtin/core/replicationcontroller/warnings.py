"""Warnings about ReplicationControllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.behavior import has_changed
from masthead_server.resources.warnings.pod_controllers import template_warnings_of

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def change_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a ReplicationController."""
    # A ReplicationController's update gets the warnings about the object before it.
    return template_warnings_of(old) if has_changed(new, old) else []
