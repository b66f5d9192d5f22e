"""Warnings that the controllers of pods share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.names import label
from masthead_server.resources.warnings.pod_spec import template_warnings
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_USED_IN_PODS: Final = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior;"
    " a DNS label is recommended"
)


def name_warnings(obj: Plain) -> list[str]:
    """Return the warning about a name that cannot be used in the names of pods."""
    problems = label(text(part(obj, "metadata"), "name"))
    return [f"{_USED_IN_PODS}: [{' '.join(problems)}]"] if problems else []


def template_warnings_of(obj: Plain) -> list[str]:
    """Return the warnings about the pod template of a controller."""
    return template_warnings("spec.template", part(part(obj, "spec"), "template"))


def new_controller_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a new controller: its name and its pod template."""
    return name_warnings(obj) + template_warnings_of(obj)
