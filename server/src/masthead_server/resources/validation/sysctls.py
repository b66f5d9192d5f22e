"""Validation of the kernel parameters that a pod sets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources.validation.checks import each_of, unique
from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["sysctl_errors"]

_MAX_LENGTH: Final = 253
_FORMAT: Final = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_WELL_FORMED: Final = re.compile(_FORMAT.removesuffix("$"))
_OF_IPC: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)


def sysctl_errors(spec: Plain, path: str) -> Errors:
    """Validate the kernel parameters in the security context of a pod.

    Args:
        spec: The spec of the pod, which may share namespaces with its host.
        path: The path of the security context.
    """
    errors: Errors = []
    seen: set[str] = set()
    for at, sysctl in each_of(spec["securityContext"], "sysctls", path):
        name = text(sysctl, "name")
        where = f"{at}.name"
        if not name:
            errors.append(required(where))
        elif len(name) > _MAX_LENGTH or not _WELL_FORMED.fullmatch(name):
            why = f"must have at most {_MAX_LENGTH} characters and match regex {_FORMAT}"
            errors.append(invalid(where, name, why))
        else:
            errors += unique(where, name, seen)
        if shared := _shared_namespace(spec, name):
            errors.append(invalid(where, name, f"may not be specified when '{shared}' is true"))
    return errors


def _shared_namespace(spec: Plain, sysctl: str) -> str:
    """The field of a pod that lets it share the namespace of a parameter with its host; empty if it does not."""
    name = _with_dots(sysctl).partition("*")[0]
    if spec.get("hostNetwork") and name.startswith("net."):
        return "hostNetwork"
    if spec.get("hostIPC") and (name in _OF_IPC or name.startswith("fs.mqueue.")):
        return "hostIPC"
    return ""


def _with_dots(name: str) -> str:
    """Write a name with dots between its parts; one whose first separator is a slash has dots within them."""
    first = re.search(r"[./]", name)
    return name.translate(str.maketrans("./", "/.")) if first is not None and first[0] == "/" else name
