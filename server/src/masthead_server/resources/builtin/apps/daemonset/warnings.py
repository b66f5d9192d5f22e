"""Warnings about DaemonSets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.warnings.pod_controllers import template_warnings_of
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_DAEMONS_GENERATION: Final = "deprecated.daemonset.template.generation"


def change_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a DaemonSet."""

    def generation(obj: Plain) -> object:
        return part(part(obj, "metadata"), "annotations").get(_DAEMONS_GENERATION)

    return template_warnings_of(new) if generation(new) != generation(old) else []
