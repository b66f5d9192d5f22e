"""ReplicaSets: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.defaulting.disabled_pod_fields import dropped_from_new_template, dropped_from_template
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.validation.pod_controllers import (
    controller_template_errors,
    number_errors,
    selector_changes,
    selector_errors,
)
from masthead_server.resources.validation.status import replica_status_errors
from masthead_server.resources.warnings.pod_controllers import new_controller_warnings, template_warnings_of
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(always={"spec": shape(unset={"replicas": 1}, always={"template": TEMPLATE})})


def replica_set_errors(replica_set: Plain) -> Errors:
    """Return the errors of a ReplicaSet."""
    spec = part(replica_set, "spec")
    errors = number_errors(spec, "replicas", "minReadySeconds")
    # kube-apiserver's message names the wrong kind here.
    return errors + selector_errors(spec, "deployment") + controller_template_errors(spec, "ReplicaSet")


def replica_set_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a ReplicaSet."""
    return replica_set_errors(new) + selector_changes(new, old)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=dropped_from_new_template("spec", "template"),
        prepare_update=dropped_from_template("spec", "template"),
        validate_create=replica_set_errors,
        validate_update=replica_set_changes,
        validate_status=replica_status_errors,
    ),
    warnings=WarningHooks(new_controller_warnings, when_changed(template_warnings_of)),
)
