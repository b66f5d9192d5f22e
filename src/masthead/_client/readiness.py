"""The condition that an object of any kind is ready, for waits for a set of objects.

=============================================  ================================================================
kind                                           ready
=============================================  ================================================================
Deployment, StatefulSet, DaemonSet             rolled out; a deployment that exceeds its progress deadline fails
ReplicaSet, ReplicationController              all replicas are ready
Job                                            complete; a job that has failed fails
Pod                                            ready, or succeeded; a pod that has failed fails
PersistentVolumeClaim                          bound; fails if its volume is lost
CustomResourceDefinition                       established
APIService                                     available
Namespace                                      active
any other                                      its condition ``Ready``, if it has one, is True, and its controller
                                               has observed the newest generation, if it reports one
=============================================  ================================================================

An object that is being deleted is never ready.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._client.conditions import (
    ObjectWaitCondition,
    condition_is,
    crd_established,
    field_is,
    has_condition,
    lacking,
)
from masthead._client.rollouts import (
    daemon_set_lacks,
    deployment_lacks,
    exceeds_progress_deadline,
    generation_lacks,
    replicas_lack,
    stateful_set_lacks,
)
from masthead._module import set_module
from masthead._schema.field_paths import parse_path, value_at
from masthead.errors import ObjectFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._client.conditions import WaitCondition
    from masthead._meta.object import Object

__all__ = ["ready"]

_READY: Final = condition_is("Ready")
_FAILED: Final = condition_is("Failed")
_REASON: Final = parse_path("status.reason")


@set_module("masthead.conditions")
def ready() -> ObjectWaitCondition[Object]:
    """The object is ready, by the rule of its kind.

    Rollouts are complete, jobs are complete, pods are ready or have succeeded, claims are bound, definitions are
    established. Any other object must exist; if it has a condition ``Ready``, that must be True. Testing raises
    `ObjectFailedError` for an object that has failed and will not become ready.
    """
    return lacking("it is ready", _lacks)


def _lacks(obj: Object) -> str:
    """Describe the missing parts of readiness; empty for a ready object.

    Raises:
        ObjectFailedError: If it has failed.
    """
    # However healthy its status is, it will not stay.
    if obj.metadata.deletion_timestamp is not None:
        return "it is being deleted"
    gvk = obj.gvk
    return _RULES.get((gvk.group, gvk.kind), _any_lacks)(obj)


def _any_lacks(obj: Object) -> str:
    if unseen := generation_lacks(obj):
        return unseen
    # Most custom resources follow the convention; the others are ready when they exist.
    return _unless(_READY)(obj) if has_condition(obj, "Ready") else ""


def _deployment_lacks(obj: Object) -> str:
    missing = deployment_lacks(obj)
    # kubectl rollout status gives up here, too.
    if missing and exceeds_progress_deadline(obj):
        raise _failure(obj, f"has not progressed in time: {missing}")
    return missing


def _job_lacks(obj: Object) -> str:
    # A failed job does not recover, so waiting for the timeout would be useless.
    if _FAILED(obj):
        raise _failure(obj, f"has failed: {_FAILED.says(obj)}")
    return _unless(condition_is("Complete"))(obj)


def _pod_lacks(obj: Object) -> str:
    if field_is("status.phase", "Failed")(obj):
        reason = value_at(obj, _REASON)
        raise _failure(obj, f"has failed{f' ({reason})' if reason else ''}; look at its logs")
    # A pod that has run to completion is never ready again.
    return _unless(field_is("status.phase", "Succeeded") | _READY)(obj)


def _claim_lacks(obj: Object) -> str:
    if field_is("status.phase", "Lost")(obj):
        raise _failure(obj, "has lost its volume")
    return _unless(field_is("status.phase", "Bound"))(obj)


def _unless(condition: WaitCondition[Object]) -> Callable[[Object], str]:
    """Describe the state of objects for which a condition does not hold."""
    return lambda obj: "" if condition(obj) else condition.says(obj)


def _failure(obj: Object, problem: str) -> ObjectFailedError:
    return ObjectFailedError(f"{obj.kind} {obj.key} {problem}")


_RULES: Final[Mapping[tuple[str, str], Callable[[Object], str]]] = {
    ("apps", "Deployment"): _deployment_lacks,
    ("apps", "StatefulSet"): stateful_set_lacks,
    ("apps", "DaemonSet"): daemon_set_lacks,
    ("apps", "ReplicaSet"): replicas_lack,
    ("", "ReplicationController"): replicas_lack,
    ("batch", "Job"): _job_lacks,
    ("", "Pod"): _pod_lacks,
    ("", "PersistentVolumeClaim"): _claim_lacks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _unless(cast("WaitCondition[Object]", crd_established())),
    ("apiregistration.k8s.io", "APIService"): _unless(condition_is("Available")),
    ("", "Namespace"): _unless(field_is("status.phase", "Active")),
}
