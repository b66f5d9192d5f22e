"""Validation of the operating system of a pod, and of the fields that it excludes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, required
from masthead_server.resources.validation.checks import each_of, unsupported
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["system_errors"]

_SYSTEMS: Final = ("linux", "windows")
_NOT_ON_WINDOWS: Final = "cannot be set for a windows pod"
_NOT_ON_LINUX: Final = "windows options cannot be set for a linux pod"
_CONTEXT: Final = "securityContext"
# In the order of kube-apiserver's checks.
_OF_POD: Final = (
    f"{_CONTEXT}.appArmorProfile",
    f"{_CONTEXT}.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    f"{_CONTEXT}.seccompProfile",
    f"{_CONTEXT}.fsGroup",
    f"{_CONTEXT}.fsGroupChangePolicy",
    f"{_CONTEXT}.sysctls",
    "shareProcessNamespace",
    f"{_CONTEXT}.runAsUser",
    f"{_CONTEXT}.runAsGroup",
    f"{_CONTEXT}.supplementalGroups",
    f"{_CONTEXT}.supplementalGroupsPolicy",
    f"{_CONTEXT}.seLinuxChangePolicy",
)
_FLAGS: Final = frozenset({"hostPID", "hostIPC", f"{_CONTEXT}.sysctls"})
"""Fields whose zero is as good as none."""
_OF_CONTAINER: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def system_errors(spec: Plain, path: str) -> Errors:
    """Validate the operating system of a pod."""
    if spec.get("os") is None:
        return []
    name = text(part(spec, "os"), "name")
    if not name:
        return [required(f"{path}.os.name")]
    if name not in _SYSTEMS:
        return [unsupported(f"{path}.os", name, _SYSTEMS)]
    return (_linux_errors if name == "linux" else _windows_errors)(spec, path)


def _linux_errors(spec: Plain, path: str) -> Errors:
    owners = [(path, spec), *_containers(spec, path)]
    return [
        forbidden(f"{at}.{_CONTEXT}.windowsOptions", _NOT_ON_LINUX)
        for at, owner in owners
        if part(owner, _CONTEXT).get("windowsOptions") is not None
    ]


def _windows_errors(spec: Plain, path: str) -> Errors:
    errors: Errors = []
    for field in _OF_POD:
        first, _, rest = field.partition(".")
        value = part(spec, first).get(rest) if rest else spec.get(first)
        if value if field in _FLAGS else value is not None:
            errors.append(forbidden(f"{path}.{field}", _NOT_ON_WINDOWS))
    for at, container in _containers(spec, path):
        context = part(container, _CONTEXT)
        stated = [field for field in _OF_CONTAINER if context.get(field) is not None]
        errors += [forbidden(f"{at}.{_CONTEXT}.{field}", _NOT_ON_WINDOWS) for field in stated]
    return errors


def _containers(spec: Plain, path: str) -> Iterator[tuple[str, Plain]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from each_of(spec, field, path)
