"""Validation of the containers of a pod."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.validation.addresses import PROTOCOLS
from masthead_server.resources.validation.checks import (
    choice_errors,
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
from masthead_server.resources.validation.internal_types import inner
from masthead_server.resources.validation.resource_requirements import requirement_errors
from masthead_server.resources.validation.volume_sources import backstep_errors, env_errors, env_from_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_RESTART: Final = {"restartPolicy": ("Always", "Never", "OnFailure")}
_PULL: Final = ("Always", "IfNotPresent", "Never")
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


_MOUNT_CHOICES: Final = {
    "mountPropagation": ("Bidirectional", "HostToContainer", "None"),
    "recursiveReadOnly": ("Disabled", "Enabled", "IfPossible"),
}


def _mount_errors(container: Plain, path: str, volumes: set[str]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    devices = {text(volume_device, "name") for volume_device in items(container, "volumeDevices")}
    for at, mount in each_of(container, "volumeMounts", path):
        name, where = text(mount, "name"), text(mount, "mountPath")
        # An empty name gets both errors.
        if not name:
            errors.append(required(f"{at}.name"))
        if name not in volumes:
            errors.append(not_found(f"{at}.name", name))
        if not where:
            errors.append(required(f"{at}.mountPath"))
        if where in seen:
            errors.append(invalid(f"{at}.mountPath", where, "must be unique"))
        seen.add(where)
        if name in devices:
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeDevices"))
        errors += choice_errors(f"{path}.volumeMounts", mount, _MOUNT_CHOICES)
        errors += _sub_path_errors(mount, f"{path}.volumeMounts", at)
    return errors


def _sub_path_errors(mount: Plain, path: str, at: str) -> Errors:
    errors: Errors = []
    for field in ("subPath", "subPathExpr") if "subPath" in mount or "subPathExpr" in mount else ():
        value = text(mount, field)
        if not value:
            continue
        # The paths of these errors differ, as in kube-apiserver: only this one has an index.
        if field == "subPathExpr" and mount.get("subPath"):
            errors.append(invalid(f"{at}.{field}", value, "subPathExpr and subPath are mutually exclusive"))
        if value.startswith("/"):
            errors.append(invalid(f"{path}.{field}", value, "must be a relative path"))
        errors += backstep_errors(f"{path}.{field}", value)
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


def _common_errors(container: Plain, path: str, volumes: set[str], claims: set[str]) -> Errors:
    errors = given(f"{path}.name", container.get("name"), names.label)
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy")
    errors += one_of(f"{path}.terminationMessagePolicy", policy, _MESSAGE)
    errors += _port_errors(container, path)
    if container.get("env") or container.get("envFrom"):
        errors += env_errors(container, path) + env_from_errors(container, path)
    if container.get("volumeMounts") or container.get("volumeDevices"):
        errors += _mount_errors(container, path, volumes)
    errors += one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULL)
    if container.get("resources"):
        errors += requirement_errors(f"{path}.resources", container["resources"], claims)
    if container.get("securityContext"):
        errors += _context_errors(container["securityContext"], f"{path}.securityContext")
    return errors


def _context_errors(context: Plain, path: str) -> Errors:
    errors = user_errors(context, path)
    errors += choice_errors(path, context, {"procMount": ("Default", "Unmasked")})
    if context.get("privileged") and context.get("allowPrivilegeEscalation") is False:
        why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(invalid(path, inner("SecurityContext", context), why))
    return errors


_ID: Final = "must be between 0 and 2147483647, inclusive"


def user_errors(context: Plain, path: str) -> Errors:
    """Validate the numbers of users and groups."""
    errors: Errors = []
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        number = context.get(field)
        if number is not None and not 0 <= number < 2**31:
            errors.append(invalid(f"{path}.{field}", number, _ID))
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


def container_errors(spec: Plain, path: str, volumes: set[str], claims: set[str]) -> Errors:
    """Validate the containers that make up a pod."""
    if not spec.get("containers"):
        return [required(f"{path}.containers")]
    errors: Errors = []
    grace, seen = spec.get("terminationGracePeriodSeconds") or 0, set[str]()
    for at, container in each_of(spec, "containers", path):
        errors += _common_errors(container, at, volumes, claims)
        errors += unique(f"{at}.name", text(container, "name"), seen)
        errors += _lifecycle_errors(container, at, grace) + _probe_errors(container, at, grace)
        errors += choice_errors(at, container, _RESTART)
    return errors + _host_port_errors(each_of(spec, "containers", path))


def init_container_errors(spec: Plain, path: str, volumes: set[str], claims: set[str]) -> Errors:
    """Validate the containers that run before the others."""
    errors: Errors = []
    grace = spec.get("terminationGracePeriodSeconds") or 0
    seen = {text(known_container, "name") for known_container in items(spec, "containers")}
    for at, container in each_of(spec, "initContainers", path):
        errors += _common_errors(container, at, volumes, claims)
        name = text(container, "name")
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        elif name:
            seen.add(name)
        # Each is checked alone, because init containers run one after another; so the index is always 0.
        errors += _host_port_errors([(f"{path}.initContainers[0]", container)])
        errors += choice_errors(at, container, _RESTART)
        if container.get("restartPolicy") == "Always":
            errors += _lifecycle_errors(container, at, grace) + _probe_errors(container, at, grace)
        else:
            misplaced = [entry for entry in ("lifecycle", *_PROBES) if container.get(entry) is not None]
            errors += [forbidden(f"{at}.{item}", _NOT_IN_INIT) for item in misplaced]
    return errors


def ephemeral_container_errors(spec: Plain, path: str, volumes: set[str], claims: set[str]) -> Errors:
    """Validate the ephemeral containers."""
    errors: Errors = []
    seen = {text(element, "name") for element in (*items(spec, "containers"), *items(spec, "initContainers"))}
    # A target is never another ephemeral container.
    others = set(seen)
    for at, container in each_of(spec, "ephemeralContainers", path):
        errors += _common_errors(container, at, volumes, claims)
        errors += unique(f"{at}.name", text(container, "name"), seen)
        target = text(container, "targetContainerName")
        if target and target not in others:
            errors.append(not_found(f"{at}.targetContainerName", target))
        misplaced = [entry for entry in ("ports", *_PROBES, "lifecycle") if container.get(entry)]
        why = "cannot be set for an Ephemeral Container"
        errors += [forbidden(f"{at}.{item}", why) for item in misplaced]
    return errors


def image_space_errors(spec: Plain, path: str) -> Errors:
    """Validate that images are named without blanks around them; templates may have some."""
    return [
        invalid(f"{at}.image", container["image"], "must not have leading or trailing whitespace")
        for field in ("containers", "initContainers")
        for at, container in each_of(spec, field, path)
        if text(container, "image") != text(container, "image").strip()
    ]
