"""Validation of the containers of a pod."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import EnumText, duplicate, forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.validation.addresses import PROTOCOLS
from masthead_server.resources.validation.checks import (
    PULL_POLICIES,
    each_of,
    follows,
    given,
    not_found,
    not_negative,
    one_of,
    port,
    port_name,
    port_or_name,
    unique,
    unsupported,
)
from masthead_server.resources.validation.container_restarts import (
    init_restart_errors,
    resize_policy_errors,
    restart_errors,
)
from masthead_server.resources.validation.environment import env_errors, env_from_errors
from masthead_server.resources.validation.resource_requirements import claim_names, requirement_errors
from masthead_server.resources.validation.security_contexts import container_context_errors
from masthead_server.resources.validation.volume_mounts import device_errors, mount_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = [
    "Surroundings",
    "container_errors",
    "ephemeral_container_errors",
    "handler_errors",
    "image_space_errors",
    "init_container_errors",
]

_MESSAGE: Final = ("File", "FallbackToLogsOnError")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_ONE_HANDLER: Final = "may not specify more than 1 handler type"
_NOT_IN_INIT: Final = "may not be set for init containers without restartPolicy=Always"
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts about a pod that the validity of its containers depends on.

    Attributes:
        volumes: Its valid volumes, by name.
        claims: The names of its resource claims.
        grace: Its grace period in seconds.
        restart_policy: Its restart policy.
        has_host_users: Whether its users are those of the host.
    """

    volumes: Mapping[str, Plain]
    claims: set[str]
    grace: int
    restart_policy: str
    has_host_users: bool

    @classmethod
    def of(cls, spec: Plain, volumes: Mapping[str, Plain]) -> Self:
        """Collect the facts about a pod, given its valid volumes."""
        return cls(
            volumes,
            claim_names(spec),
            spec.get("terminationGracePeriodSeconds") or 0,
            text(spec, "restartPolicy"),
            spec.get("hostUsers") is not False,
        )


def _port_errors(container: Plain, path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for at, container_port in each_of(container, "ports", path):
        name = text(container_port, "name")
        if name:
            # An invalid name is not compared with the others.
            errors += follows(f"{at}.name", name, port_name) or unique(f"{at}.name", name, seen)
        # Zero is unset in Go, and gets the message of a missing port.
        if not container_port.get("containerPort"):
            errors.append(required(f"{at}.containerPort"))
        else:
            errors += port(f"{at}.containerPort", container_port["containerPort"])
        if container_port.get("hostPort"):
            errors += port(f"{at}.hostPort", container_port["hostPort"])
        errors += one_of(f"{at}.protocol", container_port.get("protocol"), PROTOCOLS)
    return errors


def handler_errors(handler: Plain, path: str, grace: int) -> Errors:
    """Validate the handler of a probe or hook: a command, a request or a pause."""
    errors: Errors = []
    stated = [kind for kind in _HANDLERS if handler.get(kind) is not None]
    # The first handler is validated, all others are refused.
    if not stated:
        return [required(path, "must specify a handler type")]
    errors += _one_handler_errors(stated[0], part(handler, stated[0]), f"{path}.{stated[0]}", grace)
    return errors + [forbidden(f"{path}.{item}", _ONE_HANDLER) for item in stated[1:]]


def _one_handler_errors(kind: str, action: Plain, path: str, grace: int) -> Errors:
    if kind == "exec":
        return [] if action.get("command") else [required(f"{path}.command")]
    if kind == "sleep":
        seconds = action.get("seconds", 0)
        # A longer pause would be cut off by the end of the grace period.
        if 0 <= seconds <= grace:
            return []
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        return [invalid(path, seconds, detail)]
    errors = port_or_name(f"{path}.port", action.get("port", 0))
    if kind == "httpGet":
        if action.get("scheme") not in {"HTTP", "HTTPS"}:
            errors.append(unsupported(f"{path}.scheme", action.get("scheme"), ("HTTP", "HTTPS")))
        for header in items(action, "httpHeaders"):
            errors += follows(f"{path}.httpHeaders", text(header, "name"), _header_name)
    return errors


def _header_name(value: str) -> list[str]:
    if re.fullmatch("[-A-Za-z0-9]+", value):
        return []
    why = (
        "a valid HTTP header must consist of alphanumeric characters or '-' "
        "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
    )
    return [why]


def _probe_errors(container: Plain, path: str, grace: int) -> Errors:
    errors: Errors = []
    for kind in _PROBES:
        probe = container.get(kind)
        if probe is None:
            continue
        at = f"{path}.{kind}"
        errors += handler_errors(probe, at, grace)
        # One test for all numbers: negative ones are rare, and paths are made only for them.
        if any((probe.get(field) or 0) < 0 for field in _PROBE_NUMBERS):
            for field in _PROBE_NUMBERS:
                errors += not_negative(f"{at}.{field}", probe.get(field))
        seconds = probe.get("terminationGracePeriodSeconds")
        if seconds is not None and seconds <= 0:
            errors.append(invalid(f"{at}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
        # A failed readiness probe ends no container.
        if kind == "readinessProbe" and seconds is not None:
            detail = "must not be set for readinessProbes"
            errors.append(invalid(f"{at}.terminationGracePeriodSeconds", seconds, detail))
        # Liveness and startup are decided by the first success.
        if kind != "readinessProbe" and probe.get("successThreshold") != 1:
            errors.append(invalid(f"{at}.successThreshold", probe.get("successThreshold"), "must be 1"))
    return errors


def _lifecycle_errors(container: Plain, path: str, grace: int) -> Errors:
    errors: Errors = []
    lifecycle = part(container, "lifecycle")
    for moment in ("postStart", "preStop"):
        handler = lifecycle.get(moment)
        if handler is not None:
            errors += handler_errors(handler, f"{path}.lifecycle.{moment}", grace)
    return errors


def _common_errors(container: Plain, path: str, pod: Surroundings) -> Errors:
    errors = given(f"{path}.name", container.get("name"), names.label)
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy")
    errors += one_of(f"{path}.terminationMessagePolicy", policy, _MESSAGE)
    errors += _port_errors(container, path)
    if container.get("env") or container.get("envFrom"):
        errors += env_errors(container, path) + env_from_errors(container, path)
    if container.get("volumeMounts"):
        errors += mount_errors(container, path, pod.volumes)
    if container.get("volumeDevices"):
        errors += device_errors(container, path, pod.volumes)
    errors += one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), PULL_POLICIES)
    if container.get("resources"):
        errors += requirement_errors(f"{path}.resources", container["resources"], pod.claims)
    if container.get("resizePolicy"):
        errors += resize_policy_errors(container, path, pod.restart_policy)
    if container.get("securityContext"):
        context = container["securityContext"]
        errors += container_context_errors(context, f"{path}.securityContext", has_host_users=pod.has_host_users)
    return errors


def _host_port_errors(containers: Iterable[tuple[str, Plain]]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for path, container in containers:
        for at, container_port in each_of(container, "ports", path):
            if container_port.get("hostPort"):
                # Other protocols and addresses may use the same number.
                key = (
                    f"{container_port.get('protocol')}/{container_port.get('hostIP', '')}/{container_port['hostPort']}"
                )
                errors += unique(f"{at}.hostPort", key, seen)
    return errors


def container_errors(spec: Plain, path: str, pod: Surroundings) -> Errors:
    """Validate the containers that make up a pod."""
    if not spec.get("containers"):
        return [required(f"{path}.containers")]
    errors: Errors = []
    seen: set[str] = set()
    for at, container in each_of(spec, "containers", path):
        errors += _common_errors(container, at, pod)
        errors += unique(f"{at}.name", text(container, "name"), seen)
        errors += _lifecycle_errors(container, at, pod.grace) + _probe_errors(container, at, pod.grace)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            errors += restart_errors(container, at)
    return errors + _host_port_errors(each_of(spec, "containers", path))


def init_container_errors(spec: Plain, path: str, pod: Surroundings) -> Errors:
    """Validate the containers that run before the others."""
    errors: Errors = []
    seen = {text(known_container, "name") for known_container in items(spec, "containers")}
    for at, container in each_of(spec, "initContainers", path):
        errors += _common_errors(container, at, pod) + init_restart_errors(container, at)
        name = text(container, "name")
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        elif name:
            seen.add(name)
        # Each is checked alone, because init containers run one after another; so the index is always 0.
        errors += _host_port_errors([(f"{path}.initContainers[0]", container)])
        if container.get("restartPolicy") == "Always":
            errors += _lifecycle_errors(container, at, pod.grace) + _probe_errors(container, at, pod.grace)
        else:
            errors += _once_errors(container, at)
    return errors


def _once_errors(container: Plain, path: str) -> Errors:
    """Refuse the fields that an init container has no use for, because it ends before the others start."""
    misplaced = [entry for entry in ("lifecycle", *_PROBES) if container.get(entry) is not None]
    errors = [forbidden(f"{path}.{item}", _NOT_IN_INIT) for item in misplaced]
    why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
    return errors + [
        invalid(f"{at}.restartPolicy", EnumText("RestartContainer"), why)
        for at, policy in each_of(container, "resizePolicy", path)
        if policy.get("restartPolicy") == "RestartContainer"
    ]


_NOT_EPHEMERAL: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    *_PROBES,
    "lifecycle",
)
_LISTS: Final = frozenset({"ports", "resources", "resizePolicy", "restartPolicyRules"})
"""Fields whose empty value is as good as none."""


def ephemeral_container_errors(spec: Plain, path: str, pod: Surroundings) -> Errors:
    """Validate the ephemeral containers."""
    errors: Errors = []
    seen = {text(element, "name") for element in (*items(spec, "containers"), *items(spec, "initContainers"))}
    # A target is never another ephemeral container.
    others = set(seen)
    for at, container in each_of(spec, "ephemeralContainers", path):
        errors += _common_errors(container, at, pod) + _space_errors(container, at)
        errors += unique(f"{at}.name", text(container, "name"), seen)
        target = text(container, "targetContainerName")
        if target and target not in others:
            errors.append(not_found(f"{at}.targetContainerName", target))
        misplaced = [
            f"{at}.{field}"
            for field in _NOT_EPHEMERAL
            if (container.get(field) if field in _LISTS else container.get(field) is not None)
        ]
        # Mounts of paths within volumes stay until the pod ends.
        for where, mount in each_of(container, "volumeMounts", at):
            misplaced += [f"{where}.{field}" for field in ("subPath", "subPathExpr") if mount.get(field)]
        errors += [forbidden(item, "cannot be set for an Ephemeral Container") for item in misplaced]
    return errors


def image_space_errors(spec: Plain, path: str) -> Errors:
    """Validate that images are named without blanks around them; templates may have some."""
    return [
        error
        for field in ("containers", "initContainers")
        for at, container in each_of(spec, field, path)
        for error in _space_errors(container, at)
    ]


def _space_errors(container: Plain, path: str) -> Errors:
    image = text(container, "image")
    why = "must not have leading or trailing whitespace"
    return [] if image == image.strip() else [invalid(f"{path}.image", image, why)]
