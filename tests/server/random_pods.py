"""Random pods that differ in what the Pod Security Standards are about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from random import Random

Plain: TypeAlias = dict[str, Any]

CAPABILITIES = ("ALL", "AUDIT_WRITE", "BPF", "CHOWN", "KILL", "NET_BIND_SERVICE", "NET_RAW", "SYS_ADMIN", "SYS_CHROOT")
SYSCTLS = (
    "kernel.msgmax",
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
)
SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t", "spc_t", "x_t")
VOLUMES: tuple[Plain, ...] = (
    {"configMap": {"name": "a"}},
    {"csi": {"driver": "a.example"}},
    {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"emptyDir": {}},
    {"hostPath": {"path": "/a"}},
    {"iscsi": {"targetPortal": "a:1", "iqn": "iqn.2001-04.com.example:a", "lun": 0}},
    {"nfs": {"server": "a", "path": "/a"}},
    {"persistentVolumeClaim": {"claimName": "a"}},
    {"projected": {"sources": [{"configMap": {"name": "a"}}]}},
    {"rbd": {"monitors": ["a"], "image": "b"}},
    {"secret": {"secretName": "a"}},
)
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"


class RandomPods:
    """Makes pods, most of which a real server finds valid.

    Args:
        random: Where the choices come from.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def make(self) -> Plain:
        """Make a pod, restricted or bad in a few ways."""
        random = self._random
        # Most settings are good, so that pods of every level occur.
        self._badness = random.choice((0.02, 0.1, 0.4))
        host_fields = self._host_fields()
        self._shares_host = bool(host_fields.keys() - {"hostUsers"})
        self._unmasks = host_fields.get("hostUsers") is False
        self._annotates_seccomp = self._is_bad()
        spec: Plain = {"containers": [self._container(f"c{number}") for number in range(random.randint(1, 3))]}
        if random.random() < 0.3:
            spec["initContainers"] = [self._container(f"i{number}") for number in range(random.randint(1, 2))]
        if random.random() < 0.2:
            spec["os"] = {"name": "linux"}
        spec |= host_fields
        if context := self._pod_context():
            spec["securityContext"] = context
        if random.random() < 0.5:
            chosen = random.sample(VOLUMES, random.randint(1, 4))
            wanted = [source for source in chosen if not self._is_bad_volume(source) or self._is_bad()]
            spec["volumes"] = [{"name": f"v{number}", **source} for number, source in enumerate(wanted)]
        pod: Plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
        if annotations := self._annotations(spec):
            pod["metadata"]["annotations"] = annotations
        return self._for_windows(pod) if random.random() < 0.08 else pod

    def _is_bad(self) -> bool:
        return self._random.random() < self._badness

    @staticmethod
    def _is_bad_volume(source: Plain) -> bool:
        return next(iter(source)) in {"hostPath", "iscsi", "nfs", "rbd"}

    def _host_fields(self) -> Plain:
        fields: Plain = {field: True for field in ("hostNetwork", "hostPID", "hostIPC") if self._is_bad()}
        if self._random.random() < 0.25:
            fields["hostUsers"] = bool(fields) or self._random.random() < 0.5
        return fields

    def _container(self, name: str) -> Plain:
        container: Plain = {"name": name, "image": "image"}
        if self._random.random() < 0.9:
            container["securityContext"] = self._context()
        if self._is_bad():
            # Different ports for each container, and on the host's network the same port on both sides.
            port = self._random.choice((8080, 9090, 10000)) + ord(name[-1]) + 10 * ord(name[0])
            container["ports"] = [{"containerPort": port, "hostPort": self._random.choice((0, port))}]
        if self._is_bad() and name.startswith("c"):
            host = self._random.choice(("", "a.example.com", "127.0.0.1"))
            action = self._random.choice(("httpGet", "tcpSocket"))
            handler = {action: {"port": 80, "host": host}}
            where = self._random.choice(("livenessProbe", "readinessProbe", "postStart"))
            container |= {"lifecycle": {where: handler}} if where == "postStart" else {where: handler}
        return container

    def _context(self) -> Plain:
        random = self._random
        context: Plain = {}
        if not self._is_bad():
            context["allowPrivilegeEscalation"] = False
        if random.random() < 0.9:
            drop = [] if self._is_bad() else ["ALL"]
            context["capabilities"] = {"drop": drop or random.sample(CAPABILITIES[1:], 1)}
            if random.random() < 0.3:
                added: list[str] = (
                    random.sample(CAPABILITIES, random.randint(1, 3)) if self._is_bad() else ["NET_BIND_SERVICE"]
                )
                context["capabilities"]["add"] = added
        if self._is_bad() and context.get("allowPrivilegeEscalation") is not False:
            context["privileged"] = random.random() < 0.7
        if self._is_bad():
            context["procMount"] = "Unmasked" if self._unmasks else "Default"
        return context | self._shared_context()

    def _pod_context(self) -> Plain:
        context = self._shared_context()
        if self._random.random() < 0.7:
            context.setdefault("runAsNonRoot", True)
            if not self._annotates_seccomp:
                context.setdefault("seccompProfile", {"type": "RuntimeDefault"})
        if self._is_bad() and not self._shares_host:
            chosen = self._random.sample(SYSCTLS, self._random.randint(1, 3))
            context["sysctls"] = [{"name": name, "value": "1"} for name in chosen]
        return context

    def _shared_context(self) -> Plain:
        """Fields that a pod and a container have."""
        random = self._random
        context: Plain = {}
        if random.random() < 0.3:
            context["runAsNonRoot"] = not self._is_bad()
        if random.random() < 0.2:
            context["runAsUser"] = 0 if self._is_bad() else 1000
        for field, chance in (("seccompProfile", 0.3), ("appArmorProfile", 0.15)):
            if random.random() < chance and not (field == "seccompProfile" and self._annotates_seccomp):
                kind = "Unconfined" if self._is_bad() else random.choice(("RuntimeDefault", "Localhost"))
                context[field] = {"type": kind, **({"localhostProfile": "a.json"} if kind == "Localhost" else {})}
        if self._is_bad():
            context["seLinuxOptions"] = {
                field: value
                for field, value in (
                    ("type", random.choice(SELINUX_TYPES)),
                    ("user", random.choice(("", "", "u"))),
                    ("role", random.choice(("", "", "r"))),
                    ("level", "s0"),
                )
                if value or random.random() < 0.1
            }
        return context

    def _annotations(self, spec: Plain) -> Plain:
        names = [container["name"] for field in ("containers", "initContainers") for container in spec.get(field, ())]
        found: Plain = {}
        profiles = ("unconfined", "runtime/default", "localhost/a")
        if self._annotates_seccomp:
            found[f"{SECCOMP}{self._random.choice(names)}"] = self._random.choice((*profiles, "docker/default"))
            found[SECCOMP_OF_POD] = self._random.choice(profiles)
        has_fields = "appArmorProfile" in json.dumps(spec)
        for name in names:
            # A field of the container or the pod must say the same.
            if self._is_bad() and not has_fields:
                found[f"{APPARMOR}{name}"] = self._random.choice(profiles)
        return found

    @staticmethod
    def _for_windows(pod: Plain) -> Plain:
        """Make a pod for Windows: fields for Linux are invalid there."""
        spec = pod["spec"]
        spec["os"] = {"name": "windows"}
        for field in ("hostPID", "hostIPC", "hostUsers"):
            spec.pop(field, None)
        for owner in (spec, *spec["containers"], *spec.get("initContainers", ())):
            context = owner.get("securityContext", {})
            owner["securityContext"] = {field: context[field] for field in context if field == "runAsNonRoot"}
        # Processes of the host need its network, and are all of them.
        if spec.get("hostNetwork"):
            spec["securityContext"]["windowsOptions"] = {"hostProcess": True}
        return pod
