"""Validation of ReplicaSets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.validation.pod_controllers import (
    controller_template_errors,
    number_errors,
    selector_changes,
    selector_errors,
)
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def replica_set_errors(replica_set: Plain) -> Errors:
    """Return the errors of a ReplicaSet."""
    spec = part(replica_set, "spec")
    errors = number_errors(spec, "replicas", "minReadySeconds")
    # The kind that kube-apiserver names here is not the one that it checks.
    return errors + selector_errors(spec, "deployment") + controller_template_errors(spec, "ReplicaSet")


def replica_set_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a ReplicaSet."""
    return replica_set_errors(new) + selector_changes(new, old)
