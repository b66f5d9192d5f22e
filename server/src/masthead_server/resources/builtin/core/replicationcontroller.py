"""ReplicationControllers: defaults, validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import required
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, has_changed
from masthead_server.resources.defaulting.disabled_pod_fields import dropped_from_new_template, dropped_from_template
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.scale import ReplicaScale
from masthead_server.resources.validation.pod_controllers import (
    TEMPLATE_PATH,
    mismatch_errors,
    number_errors,
    restart_policy_errors,
)
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.resources.validation.status import replica_status_errors
from masthead_server.resources.warnings.pod_controllers import new_controller_warnings, template_warnings_of
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain


def _copy_template_labels(controller: Plain) -> None:
    labels = part(part(part(part(controller, "spec"), "template"), "metadata"), "labels")
    # Without labels there is nothing to select; validation reports the empty selector.
    if not labels:
        return
    if not controller["spec"].get("selector"):
        controller["spec"]["selector"] = dict(labels)
    if not metadata(controller).get("labels"):
        metadata(controller)["labels"] = dict(labels)


DEFAULTS: Final[Fill] = shape(
    always={"spec": shape(unset={"replicas": 1}, inside={"template": TEMPLATE})},
    then=_copy_template_labels,
)


def controller_errors(controller: Plain) -> Errors:
    """Return the errors of a ReplicationController."""
    spec = part(controller, "spec")
    errors = number_errors(spec, "minReadySeconds")
    if not spec.get("selector"):
        errors.append(required("spec.selector"))
    errors += number_errors(spec, "replicas")
    if spec.get("template") is None:
        return [*errors, required(TEMPLATE_PATH)]
    template = part(spec, "template")
    errors += mismatch_errors({"matchLabels": part(spec, "selector")}, template)
    errors += template_errors(template, TEMPLATE_PATH)
    return errors + restart_policy_errors(spec, "ReplicationController")


def change_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a ReplicationController."""
    # A ReplicationController's update gets the warnings about the object before it.
    return template_warnings_of(old) if has_changed(new, old) else []


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=dropped_from_new_template("spec", "template"),
        prepare_update=dropped_from_template("spec", "template"),
        validate_create=controller_errors,
        validate_update=lambda new, _old: controller_errors(new),
        validate_status=replica_status_errors,
    ),
    warnings=WarningHooks(new_controller_warnings, change_warnings),
    scale=ReplicaScale(default=1, has_label_map=True),
)
