"""The checks of a level in a version, and what they say about a pod."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from masthead_server.admission.podsecurity import baseline, restricted
from masthead_server.admission.podsecurity.pod_fields import Violation
from masthead_server.admission.podsecurity.policy import Level
from masthead_server.wire.plain import Plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead_server.admission.podsecurity.policy import LevelVersion

__all__ = ["NEWEST_MINOR", "describe", "evaluate", "list_reasons"]

CheckPod: TypeAlias = Callable[[Plain, Plain], Violation | None]
"""Checks the metadata and the spec of a pod or a template."""


class _Check(NamedTuple):
    """A check.

    Attributes:
        name: Its name, by which checks are sorted.
        level: The level that it belongs to.
        versions: The functions, by the first minor version that has them, the oldest first.
        replaces: The check of baseline that it includes.
    """

    name: str
    level: Level
    versions: tuple[tuple[int, CheckPod], ...]
    replaces: str = ""


_CHECKS: Final = (
    _Check("appArmorProfile", Level.BASELINE, ((0, baseline.check_apparmor_profile),)),
    _Check("capabilities_baseline", Level.BASELINE, ((0, baseline.check_capabilities),)),
    _Check("hostNamespaces", Level.BASELINE, ((0, baseline.check_host_namespaces),)),
    _Check("hostPathVolumes", Level.BASELINE, ((0, baseline.check_host_path_volumes),)),
    _Check("hostPorts", Level.BASELINE, ((0, baseline.check_host_ports),)),
    _Check("hostProbesAndHostLifecycle", Level.BASELINE, ((34, baseline.check_host_probes),)),
    _Check("privileged", Level.BASELINE, ((0, baseline.check_privileged),)),
    _Check("procMount", Level.BASELINE, ((0, baseline.check_proc_mount), (35, baseline.check_proc_mount_1_35))),
    _Check("seLinuxOptions", Level.BASELINE, ((0, baseline.check_selinux_1_0), (31, baseline.check_selinux_1_31))),
    _Check(
        "seccompProfile_baseline",
        Level.BASELINE,
        ((0, baseline.check_seccomp_1_0), (19, baseline.check_seccomp_1_19)),
    ),
    _Check(
        "sysctls",
        Level.BASELINE,
        (
            (0, baseline.check_sysctls_1_0),
            (27, baseline.check_sysctls_1_27),
            (29, baseline.check_sysctls_1_29),
            (32, baseline.check_sysctls_1_32),
        ),
    ),
    _Check("windowsHostProcess", Level.BASELINE, ((0, baseline.check_windows_host_process),)),
    _Check(
        "allowPrivilegeEscalation",
        Level.RESTRICTED,
        ((8, restricted.check_privilege_escalation_1_8), (25, restricted.check_privilege_escalation_1_25)),
    ),
    _Check(
        "capabilities_restricted",
        Level.RESTRICTED,
        ((22, restricted.check_capabilities_1_22), (25, restricted.check_capabilities_1_25)),
        "capabilities_baseline",
    ),
    _Check("procMount_restricted", Level.RESTRICTED, ((35, baseline.check_proc_mount),), "procMount"),
    _Check("restrictedVolumes", Level.RESTRICTED, ((0, restricted.check_volumes),), "hostPathVolumes"),
    _Check(
        "runAsNonRoot",
        Level.RESTRICTED,
        ((0, restricted.check_run_as_non_root_1_0), (35, restricted.check_run_as_non_root_1_35)),
    ),
    _Check(
        "runAsUser",
        Level.RESTRICTED,
        ((23, restricted.check_run_as_user_1_23), (35, restricted.check_run_as_user_1_35)),
    ),
    _Check(
        "seccompProfile_restricted",
        Level.RESTRICTED,
        ((19, restricted.check_seccomp_required_1_19), (25, restricted.check_seccomp_required_1_25)),
        "seccompProfile_baseline",
    ),
)
"""All checks, in the order in which messages list their violations."""
NEWEST_MINOR: Final = max(minor for check in _CHECKS for minor, _ in check.versions)
"""The newest minor version that has a change; later versions have the same checks."""


def evaluate(mode: LevelVersion, meta: Plain, spec: Plain) -> tuple[Violation, ...]:
    """Return the violations of a pod or a template.

    Args:
        mode: The level and version.
        meta: The metadata.
        spec: The pod's spec.
    """
    minor = NEWEST_MINOR if mode.minor is None else min(mode.minor, NEWEST_MINOR)
    found = (check(meta, spec) for check in _choose_checks(mode.level, minor))
    return tuple(violation for violation in found if violation is not None)


def describe(violations: Sequence[Violation]) -> str:
    """Return the text about one pod."""
    return ", ".join(f"{reason} ({detail})" for reason, detail in violations)


def list_reasons(violations: Sequence[Violation]) -> str:
    """Return the text about several pods with the same violations."""
    return ", ".join(violation.reason for violation in violations)


@functools.cache
def _choose_checks(level: Level, minor: int) -> tuple[CheckPod, ...]:
    """Return the checks of a level in a version up to `NEWEST_MINOR`."""
    chosen = [check for check in _CHECKS if check.level <= level and check.versions[0][0] <= minor]
    replaced = {check.replaces for check in chosen}
    return tuple(next(_find_function(check, minor)) for check in chosen if check.name not in replaced)


def _find_function(check: _Check, minor: int) -> Iterator[CheckPod]:
    return (function for first, function in reversed(check.versions) if first <= minor)
