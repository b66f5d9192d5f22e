"""The checks of the level baseline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.admission.podsecurity.pod_fields import (
    Violation,
    choose_plural,
    in_user_namespace,
    list_containers,
    name_containers,
    name_setters,
    quote_all,
    security_context,
)
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = [
    "SAFE_PROFILES",
    "check_apparmor_profile",
    "check_capabilities",
    "check_host_namespaces",
    "check_host_path_volumes",
    "check_host_ports",
    "check_host_probes",
    "check_privileged",
    "check_proc_mount",
    "check_proc_mount_1_35",
    "check_seccomp_1_0",
    "check_seccomp_1_19",
    "check_selinux_1_0",
    "check_selinux_1_31",
    "check_sysctls_1_0",
    "check_sysctls_1_27",
    "check_sysctls_1_29",
    "check_sysctls_1_32",
    "check_windows_host_process",
]

_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
SAFE_PROFILES: Final = frozenset({"RuntimeDefault", "Localhost"})
"""The types of AppArmor and seccomp profiles that baseline allows."""
_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_SELINUX_TYPES_1_0: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
_SYSCTLS_1_0: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    }
)
_SYSCTLS_1_27: Final = _SYSCTLS_1_0 | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_1_29: Final = _SYSCTLS_1_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_1_32: Final = _SYSCTLS_1_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def check_apparmor_profile(meta: Plain, spec: Plain) -> Violation | None:
    """Refuse AppArmor profiles other than the runtime's and the node's, in fields and in annotations."""
    values: set[str] = set()

    def is_bad(context: Plain) -> bool:
        profile = context.get("appArmorProfile")
        if profile is None or text(profile, "type") in SAFE_PROFILES:
            return False
        values.add(text(profile, "type"))
        return True

    setters = name_setters(spec, is_bad)
    annotations = sorted(
        f"{key}={quoted(value)}"
        for key, value in part(meta, "annotations").items()
        if key.startswith(_APPARMOR) and value not in {"", "runtime/default"} and not value.startswith("localhost/")
    )
    if annotations:
        setters = " and ".join(filter(None, (setters, choose_plural("annotation", "annotations", annotations))))
    if not setters:
        return None
    bad = [*sorted(values), *annotations]
    reason = choose_plural("forbidden AppArmor profile", "forbidden AppArmor profiles", bad)
    return Violation(reason, f"{setters} must not set AppArmor profile type to {quote_all(bad)}")


def check_capabilities(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse capabilities that a container does not have by default."""
    names: list[str] = []
    added: set[str] = set()
    for container in list_containers(spec):
        extra = set(part(security_context(container), "capabilities").get("add") or ()) - _CAPABILITIES
        if extra:
            names.append(text(container, "name"))
            added |= extra
    if not names:
        return None
    detail = f"{name_containers(names)} must not include {quote_all(sorted(added))} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def check_host_namespaces(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse the network, the processes and the IPC of the host."""
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def check_host_path_volumes(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse volumes of the host's file system."""
    names = [text(volume, "name") for volume in items(spec, "volumes") if volume.get("hostPath") is not None]
    if not names:
        return None
    return Violation("hostPath volumes", f"{choose_plural('volume', 'volumes', names)} {quote_all(names)}")


def check_host_ports(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse ports of the host."""
    names: list[str] = []
    ports: set[str] = set()
    for container in list_containers(spec):
        used = {str(port["hostPort"]) for port in items(container, "ports") if port.get("hostPort")}
        if used:
            names.append(text(container, "name"))
            ports |= used
    if not names:
        return None
    what = choose_plural("hostPort", "hostPorts", ports)
    verb = choose_plural("uses", "use", names)
    return Violation("hostPort", f"{name_containers(names)} {verb} {what} {', '.join(sorted(ports))}")


def check_host_probes(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse probes and lifecycle handlers that call another host."""
    names: set[str] = set()
    hosts: set[str] = set()
    for container in list_containers(spec):
        if called := set(_list_hosts(container)):
            names.add(text(container, "name"))
            hosts |= called
    if not names:
        return None
    verb = choose_plural("uses", "use", names)
    what = choose_plural("probe or lifecycle host", "probe or lifecycle hosts", hosts)
    detail = f"{name_containers(sorted(names))} {verb} {what} {quote_all(sorted(hosts))}"
    return Violation("probe or lifecycle host", detail)


def _list_hosts(container: Plain) -> Iterator[str]:
    lifecycle = part(container, "lifecycle")
    handlers = [part(container, name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    for handler in (*handlers, part(lifecycle, "postStart"), part(lifecycle, "preStop")):
        for action in ("httpGet", "tcpSocket"):
            if host := text(part(handler, action), "host"):
                yield host


def check_privileged(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse privileged containers."""
    names = [text(item, "name") for item in list_containers(spec) if security_context(item).get("privileged")]
    if not names:
        return None
    return Violation("privileged", f"{name_containers(names)} must not set securityContext.privileged=true")


def check_proc_mount(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse a `/proc` without its masks."""
    names: list[str] = []
    mounts: set[str] = set()
    for container in list_containers(spec):
        mount = text(security_context(container), "procMount")
        if mount not in {"", "Default"}:
            names.append(text(container, "name"))
            mounts.add(mount)
    if not names:
        return None
    detail = f"{name_containers(names)} must not set securityContext.procMount to {quote_all(sorted(mounts))}"
    return Violation("procMount", detail)


def check_proc_mount_1_35(meta: Plain, spec: Plain) -> Violation | None:
    """Refuse a `/proc` without its masks, except in a user namespace."""
    return None if in_user_namespace(spec) else check_proc_mount(meta, spec)


def _check_selinux(types: frozenset[str], _meta: Plain, spec: Plain) -> Violation | None:
    """Refuse SELinux users and roles, and all but some types."""
    bad_types: set[str] = set()
    bad_fields: set[str] = set()

    def is_bad(context: Plain) -> bool:
        options = context.get("seLinuxOptions")
        if options is None:
            return False
        fields = {field for field in ("user", "role") if options.get(field)}
        wrong = {text(options, "type")} - types
        bad_fields.update(fields)
        bad_types.update(wrong)
        return bool(fields or wrong)

    setters = name_setters(spec, is_bad)
    if not setters:
        return None
    problems = [f"{field} may not be set" for field in ("user", "role") if field in bad_fields]
    if bad_types:
        problems.insert(0, f"{choose_plural('type', 'types', bad_types)} {quote_all(sorted(bad_types))}")
    return Violation("seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(problems)}")


check_selinux_1_0: Final = partial(_check_selinux, _SELINUX_TYPES_1_0)
check_selinux_1_31: Final = partial(_check_selinux, _SELINUX_TYPES_1_0 | {"container_engine_t"})


def check_seccomp_1_0(meta: Plain, spec: Plain) -> Violation | None:
    """Refuse annotations with seccomp profiles other than the runtime's and the node's."""
    annotations = part(meta, "annotations")
    names = (text(container, "name") for container in list_containers(spec))
    keys = {_SECCOMP_OF_POD, *(_SECCOMP_OF_CONTAINER + name for name in names)} & annotations.keys()
    bad = sorted(f"{key}={quoted(annotations[key])}" for key in keys if not _is_safe_annotation(annotations[key]))
    if not bad:
        return None
    return Violation("seccompProfile", f"forbidden {choose_plural('annotation', 'annotations', bad)} {', '.join(bad)}")


def _is_safe_annotation(profile: str) -> bool:
    return profile in {"runtime/default", "docker/default"} or profile.startswith("localhost/")


def check_seccomp_1_19(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse seccomp profiles other than the runtime's and the node's."""
    values: set[str] = set()

    def is_bad(context: Plain) -> bool:
        profile = context.get("seccompProfile")
        if profile is None or text(profile, "type") in SAFE_PROFILES:
            return False
        values.add(text(profile, "type"))
        return True

    setters = name_setters(spec, is_bad)
    if not setters:
        return None
    detail = f"{setters} must not set securityContext.seccompProfile.type to {quote_all(sorted(values))}"
    return Violation("seccompProfile", detail)


def _check_sysctls(safe: frozenset[str], _meta: Plain, spec: Plain) -> Violation | None:
    """Refuse sysctls that are not isolated from other pods."""
    names = [text(sysctl, "name") for sysctl in items(security_context(spec), "sysctls")]
    bad = [name for name in names if name not in safe]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


check_sysctls_1_0: Final = partial(_check_sysctls, _SYSCTLS_1_0)
check_sysctls_1_27: Final = partial(_check_sysctls, _SYSCTLS_1_27)
check_sysctls_1_29: Final = partial(_check_sysctls, _SYSCTLS_1_29)
check_sysctls_1_32: Final = partial(_check_sysctls, _SYSCTLS_1_32)


def check_windows_host_process(_meta: Plain, spec: Plain) -> Violation | None:
    """Refuse processes of a Windows host."""
    setters = name_setters(spec, lambda context: bool(part(context, "windowsOptions").get("hostProcess")))
    if not setters:
        return None
    return Violation("hostProcess", f"{setters} must not set securityContext.windowsOptions.hostProcess=true")
