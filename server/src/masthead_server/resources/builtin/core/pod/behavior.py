"""Behavior of Pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.core.pod.annotations import copy_apparmor_profiles
from masthead_server.resources.builtin.core.pod.defaults import fill_pod
from masthead_server.resources.builtin.core.pod.label_keys import merge_label_keys
from masthead_server.resources.builtin.core.pod.qos import qos_class
from masthead_server.resources.builtin.core.pod.status import carry_status, status_errors
from masthead_server.resources.builtin.core.pod.subresources import SUBRESOURCES
from masthead_server.resources.builtin.core.pod.validation import validate_create, validate_update
from masthead_server.resources.defaulting.disabled_pod_fields import (
    drop_disabled_fields,
    drop_disabled_status_fields,
)
from masthead_server.resources.warnings.pod_spec import pod_warnings
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def _prepare_create(pod: Plain, allocate: Allocator) -> None:
    spec = pod["spec"]
    drop_disabled_fields(spec, None)
    merge_label_keys(pod)
    allocate.warnings += copy_apparmor_profiles(pod)
    # A client's status is discarded: the class is computed once, and immutable later.
    status: Plain = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        since = metadata(pod).get("creationTimestamp")
        status["conditions"] = [{**_GATED, "lastTransitionTime": since}]
    pod["status"] = status


def _prepare_update(new: Plain, old: Plain) -> None:
    drop_disabled_fields(part(new, "spec"), part(old, "spec"))


def _prepare_status(new: Plain, old: Plain, allocate: Allocator) -> None:
    drop_disabled_status_fields(part(new, "status"), part(old, "status"))
    carry_status(new, old, allocate)


_GATED: Final[Plain] = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
    "lastProbeTime": None,
}


BEHAVIOR: Final = Behavior(
    defaults=fill_pod,
    hooks=StrategyHooks(
        prepare_create=_prepare_create,
        prepare_update=_prepare_update,
        validate_create=validate_create,
        validate_update=validate_update,
        prepare_status=_prepare_status,
        validate_status=status_errors,
    ),
    # Updates of Pods are too frequent, and hardly ever made by hand.
    warnings=WarningHooks(pod_warnings),
    subresources=SUBRESOURCES,
)
