"""Pod failure policies: the first rule that matches a failed pod decides how its failure counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.batch.job_pods import ContainerState, JobPod, PodCondition
    from masthead_server.wire.plain import Plain

__all__ = ["FailureMatch", "match_rule"]


class FailureMatch(NamedTuple):
    """The action of the matching rule, and the message of a Job that fails because of it."""

    action: str
    message: str


def match_rule(rules: Iterable[Plain], pod: JobPod) -> FailureMatch | None:
    """Return the first match for a failed pod; None if no rule matches."""
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    for position, rule in enumerate(rules):
        action = text(rule, "action")
        suffix = f"matching {action} rule at index {position}"
        if rule.get("onExitCodes") is not None:
            container = _find_container(pod, part(rule, "onExitCodes"))
            if container is not None and container.state.terminated is not None:
                code = container.state.terminated.exit_code
                return FailureMatch(
                    action, f"Container {container.name} for pod {name} failed with exit code {code} {suffix}"
                )
        elif condition := _find_condition(pod, items(rule, "onPodConditions")):
            return FailureMatch(action, f"Pod {name} has condition {condition.type} {suffix}")
    return None


def _find_container(pod: JobPod, requirement: Plain) -> ContainerState | None:
    """Return the first container whose exit code matches a rule, init containers last."""
    name, values = requirement.get("containerName"), requirement.get("values") or ()
    wants_in = requirement.get("operator") == "In"
    containers: list[ContainerState] = [
        *(pod.status.container_statuses or ()),
        *(pod.status.init_container_statuses or ()),
    ]
    for container in containers:
        ended = container.state.terminated
        # Exit code 0 is no failure, even if a NotIn rule does not list it.
        if ended is None or not ended.exit_code or name not in {None, container.name}:
            continue
        if (ended.exit_code in values) == wants_in:
            return container
    return None


def _find_condition(pod: JobPod, patterns: list[Plain]) -> PodCondition | None:
    for condition in pod.status.conditions or ():
        for pattern in patterns:
            if condition.type == pattern.get("type") and condition.status == pattern.get("status", "True"):
                return condition
    return None
