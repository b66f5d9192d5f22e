"""Validation of the security contexts of pods and containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required, too_long
from masthead_server.resources.validation.checks import choice_errors, unsupported, words
from masthead_server.resources.validation.internal_types import inner
from masthead_server.resources.validation.local_paths import descending_errors
from masthead_server.resources.validation.sysctls import sysctl_errors
from masthead_server.resources.validation.windows_options import windows_option_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["container_context_errors", "host_user_errors", "pod_context_errors"]

_ID: Final = "must be between 0 and 2147483647, inclusive"
_MAX_PROFILE_LENGTH: Final = 4095
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")


def pod_context_errors(spec: Plain, path: str) -> Errors:
    """Validate the security context of a pod.

    Args:
        spec: The spec of the pod.
        path: The path of the context.
    """
    context = part(spec, "securityContext")
    errors = _id_errors(context, path, "fsGroup", "runAsUser", "runAsGroup")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += _id_error(f"{path}.supplementalGroups[{index}]", group)
    # In kube-apiserver's own type, the field is a part of the context.
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, why))
    errors += sysctl_errors(spec, path)
    errors += choice_errors(path, context, {"fsGroupChangePolicy": ("Always", "OnRootMismatch")})
    errors += _seccomp_errors(context, f"{path}.seccompProfile")
    errors += windows_option_errors(part(context, "windowsOptions"), f"{path}.windowsOptions")
    errors += _apparmor_errors(context, f"{path}.appArmorProfile")
    # The feature gate of other SELinux policies is off.
    known = {"supplementalGroupsPolicy": ("Merge", "Strict"), "seLinuxChangePolicy": ("Recursive",)}
    return errors + choice_errors(path, context, known)


def container_context_errors(context: Plain, path: str, *, has_host_users: bool) -> Errors:
    """Validate the security context of a container.

    Args:
        context: The context.
        path: Its path.
        has_host_users: Whether the users of the pod are those of the host.
    """
    errors = _id_errors(context, path, "runAsUser", "runAsGroup")
    errors += choice_errors(path, context, {"procMount": ("Default", "Unmasked")})
    if has_host_users and context.get("procMount") == "Unmasked":
        errors.append(invalid(f"{path}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`"))
    errors += _seccomp_errors(context, f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        errors += _escalation_errors(context, path)
    errors += windows_option_errors(part(context, "windowsOptions"), f"{path}.windowsOptions")
    return errors + _apparmor_errors(context, f"{path}.appArmorProfile")


def _escalation_errors(context: Plain, path: str) -> Errors:
    """Refuse privileges that would be an escalation, which the context excludes."""
    has_privileges = ["`privileged` to true"] if context.get("privileged") else []
    added = words(part(context, "capabilities"), "add")
    has_privileges += ["`capabilities.Add` CAP_SYS_ADMIN" for name in added if name == "CAP_SYS_ADMIN"]
    shown = inner("SecurityContext", context) if has_privileges else {}
    why = "cannot set `allowPrivilegeEscalation` to false and"
    return [invalid(path, shown, f"{why} {privilege}") for privilege in has_privileges]


def _id_errors(context: Plain, path: str, *fields: str) -> Errors:
    return [error for field in fields for error in _id_error(f"{path}.{field}", context.get(field))]


def _id_error(path: str, number: object) -> Errors:
    return [invalid(path, number, _ID)] if isinstance(number, int) and not 0 <= number < 2**31 else []


def _seccomp_errors(context: Plain, path: str) -> Errors:
    profile = context.get("seccompProfile")
    if profile is None:
        return []
    kind, file = text(profile, "type"), profile.get("localhostProfile")
    errors = _profile_type_errors(path, kind, "type is required when seccompProfile is set")
    if kind == "Localhost":
        if file is None:
            return [required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")]
        return descending_errors(f"{path}.localhostProfile", file)
    if file is not None:
        why = "can only be set when seccomp type is Localhost"
        errors.append(invalid(f"{path}.localhostProfile", inner("Profile", profile), why))
    return errors


def _apparmor_errors(context: Plain, path: str) -> Errors:
    profile = context.get("appArmorProfile")
    if profile is None:
        return []
    kind, name, at = text(profile, "type"), profile.get("localhostProfile"), f"{path}.localhostProfile"
    if kind != "Localhost":
        errors = _profile_type_errors(path, kind, "type is required when appArmorProfile is set")
        if not errors and name is not None:
            errors.append(invalid(at, name, "can only be set when AppArmor type is Localhost"))
        return errors
    if not name:
        return [required(at, "must be set when AppArmor type is Localhost")]
    errors = [] if name == name.strip() else [invalid(at, name, "must not be padded with whitespace")]
    return [*errors, too_long(at, _MAX_PROFILE_LENGTH)] if len(name.encode()) > _MAX_PROFILE_LENGTH else errors


def _profile_type_errors(path: str, kind: str, why: str) -> Errors:
    if not kind:
        return [required(f"{path}.type", why)]
    return [] if kind in _PROFILES else [unsupported(f"{path}.type", kind, _PROFILES)]


def host_user_errors(spec: Plain, path: str) -> Errors:
    """Validate that a pod with a user namespace shares nothing else with the host."""
    if spec.get("hostUsers") is not False:
        return []
    # kube-apiserver writes two of these paths with a capital.
    shared = {"hostNetwork": "hostNetwork", "hostPID": "HostPID", "hostIPC": "HostIPC"}
    stated = [written for field, written in shared.items() if spec.get(field)]
    errors = [forbidden(f"{path}.{written}", "when `hostUsers` is false") for written in stated]
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(items(spec, field)):
            # Devices cannot be mapped to other users.
            if container.get("volumeDevices"):
                errors.append(forbidden(f"{path}.{field}[{index}].volumeDevices", "when `hostUsers` is false"))
    return errors
