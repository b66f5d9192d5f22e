"""Validation of ReplicationControllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import required
from masthead_server.resources.validation.pod_controllers import (
    TEMPLATE,
    mismatch_errors,
    number_errors,
    restart_policy_errors,
)
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def controller_errors(controller: Plain) -> Errors:
    """Return the errors of a ReplicationController."""
    spec = part(controller, "spec")
    errors = number_errors(spec, "minReadySeconds")
    if not spec.get("selector"):
        errors.append(required("spec.selector"))
    errors += number_errors(spec, "replicas")
    if spec.get("template") is None:
        return [*errors, required(TEMPLATE)]
    template = part(spec, "template")
    errors += mismatch_errors({"matchLabels": part(spec, "selector")}, template)
    errors += template_errors(template, TEMPLATE)
    return errors + restart_policy_errors(spec, "ReplicationController")
