"""Pod security: the standards that labels of a namespace ask for, enforced on pods and warned about for workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import job, metadata, namespace, pod, template, workload

if TYPE_CHECKING:
    from tests.conformance.api import Api, CallResponse, Plain

case = area("Pod security")

PREFIX = "pod-security.kubernetes.io/"
GOOD_CONTEXT: Plain = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
GOOD_POD_CONTEXT: Plain = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
WINDOWS: Plain = {"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}}


def labels(**modes: str) -> dict[str, str]:
    """The labels of a namespace; an underscore stands for a dash."""
    return {PREFIX + mode.replace("_", "-"): value for mode, value in modes.items()}


def make(api: Api, **modes: str) -> str:
    """Create a namespace with labels from its first moment, so that no cache knows it without; return its name."""
    name = f"{api.namespace}-{len(api.steps)}"
    api.create("namespaces", namespace(name, labels=labels(**modes)))
    return name


def send(api: Api, place: str, body: Plain, **query: str) -> CallResponse:
    """Create a pod or a workload in a namespace."""
    paths = {"Pod": "/api/v1", "ReplicationController": "/api/v1", "PodTemplate": "/api/v1"}
    resource = f"{body['kind'].lower()}s"
    prefix = paths.get(body["kind"]) or f"/apis/{body['apiVersion']}"
    return api.request("POST", f"{prefix}/namespaces/{place}/{resource}", body, query=query)


def contained(*contexts: Plain | None, **spec: Any) -> Plain:
    """A pod with a container for each security context."""
    containers = [
        {"name": f"c{number}", "image": "image", **({} if context is None else {"securityContext": context})}
        for number, context in enumerate(contexts, 1)
    ]
    return pod("a", spec={"containers": containers, **spec})


def good(name: str = "a", **spec: Any) -> Plain:
    """A pod that meets the level restricted, unless the spec changes that."""
    containers = [{"name": "main", "image": "image", "securityContext": GOOD_CONTEXT}]
    return pod(name, spec={"containers": containers, "securityContext": GOOD_POD_CONTEXT, **spec})


@case("a namespace without labels admits everything")
def _(api: Api) -> None:
    api.create("pods", contained({"privileged": True}, hostNetwork=True, hostPID=True))


@case("a pod without any setting, at every level")
def _(api: Api) -> None:
    for level in ("privileged", "baseline", "restricted"):
        send(api, make(api, enforce=level), pod("a"))


@case("a pod that meets the level restricted")
def _(api: Api) -> None:
    place = make(api, enforce="restricted", warn="restricted", audit="restricted")
    send(api, place, good())


@case("a refused pod with a generated name, and as a dry run")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    send(api, place, pod(generateName="gen-", spec={"hostNetwork": True}))
    send(api, place, pod("a", spec={"hostNetwork": True}), dryRun="All")


@case("a refused pod is applied")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    path = f"/api/v1/namespaces/{place}/pods/a?fieldManager=one"
    headers = {"Content-Type": "application/apply-patch+yaml"}
    api.request("PATCH", path, pod("a", spec={"hostIPC": True}), headers=headers)
    api.request("PATCH", path, pod("a"), headers=headers)


@case("an invalid pod is refused for that")
def _(api: Api) -> None:
    place = make(api, enforce="restricted")
    send(api, place, pod("a", spec={"restartPolicy": "Perhaps"}))


@case("baseline: AppArmor profiles in fields")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    bad, fine = ({"appArmorProfile": {"type": kind}} for kind in ("Unconfined", "RuntimeDefault"))
    send(api, place, contained(fine, securityContext=bad))
    send(api, place, contained(bad, fine, bad))
    send(api, place, contained(bad, securityContext=bad))
    send(api, place, contained(fine, securityContext=fine))


@case("baseline: AppArmor profiles in annotations")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    key = "container.apparmor.security.beta.kubernetes.io/"
    send(api, place, pod("a", annotations={f"{key}main": "unconfined"}))
    send(api, place, pod("a", annotations={f"{key}main": "runtime/default"}))
    send(api, place, pod("b", annotations={f"{key}main": "localhost/mine"}))


@case("baseline: AppArmor annotations of several containers")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    key = "container.apparmor.security.beta.kubernetes.io/"
    body = contained({}, {"appArmorProfile": {"type": "Unconfined"}}, {})
    body["metadata"]["annotations"] = {f"{key}c1": "unconfined", f"{key}c3": "unconfined"}
    send(api, place, body)


@case("baseline: capabilities")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    send(api, place, contained({"capabilities": {"add": ["NET_RAW", "CHOWN", "BPF"]}}, {"capabilities": {}}))
    send(api, place, contained({"capabilities": {"add": ["SYS_ADMIN"]}}, {"capabilities": {"add": ["ALL"]}}))
    send(api, place, contained({"capabilities": {"add": ["NET_BIND_SERVICE", "SYS_CHROOT"], "drop": ["KILL"]}}))


@case("baseline: namespaces of the host")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    send(api, place, contained(None, hostNetwork=True, hostPID=True, hostIPC=True))
    send(api, place, contained(None, hostPID=True))
    send(api, place, contained(None, hostNetwork=False, hostPID=False))


@case("baseline: the host network makes host ports")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    containers = [{"name": "main", "image": "image", "ports": [{"containerPort": 80}]}]
    send(api, place, pod("a", spec={"containers": containers, "hostNetwork": True}))


@case("baseline: volumes of the host")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    path = {"hostPath": {"path": "/"}}
    send(api, place, contained(None, volumes=[{"name": "v1", **path}, {"name": "v2", "emptyDir": {}}]))
    send(api, place, contained(None, volumes=[{"name": "v1", **path}, {"name": "v2", **path}]))


@case("baseline: ports of the host")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    ports = [{"containerPort": 80, "hostPort": 9090}, {"containerPort": 81, "hostPort": 10000}, {"containerPort": 82}]
    first = {"name": "c1", "image": "image", "ports": ports}
    second = {"name": "c2", "image": "image", "ports": [{"containerPort": 83, "hostPort": 8080}]}
    send(api, place, pod("a", spec={"containers": [second]}))
    send(api, place, pod("a", spec={"containers": [first, second]}))


@case("baseline: probes and lifecycle handlers of other hosts")
def _(api: Api) -> None:
    probe = {"httpGet": {"port": 80, "host": "b.example.com"}}
    hooks = {"preStop": {"tcpSocket": {"port": 80, "host": "a.example.com"}}}
    containers = [
        {"name": "z", "image": "image", "livenessProbe": probe},
        {"name": "a", "image": "image", "lifecycle": hooks, "readinessProbe": {"tcpSocket": {"port": 80}}},
    ]
    for version in ("latest", "v1.34", "v1.33"):
        place = make(api, enforce="baseline", enforce_version=version)
        send(api, place, pod("a", spec={"containers": containers[:1]}))
        send(api, place, pod("b", spec={"containers": containers}))


@case("baseline: privileged containers")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    send(api, place, contained({"privileged": True}, {"privileged": False}, {"privileged": True}))
    body = contained(None, initContainers=[{"name": "i", "image": "image", "securityContext": {"privileged": True}}])
    send(api, place, body)


@case("baseline: an unmasked proc file system")
def _(api: Api) -> None:
    for level in ("baseline", "restricted"):
        for version in ("v1.34", "v1.35", "latest"):
            place = make(api, enforce=level, enforce_version=version)
            send(api, place, contained({**GOOD_CONTEXT, "procMount": "Unmasked"}, hostUsers=False))


@case("baseline: SELinux options")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    send(api, place, contained({"seLinuxOptions": {"type": "other_t", "user": "u"}}, {"seLinuxOptions": {"role": "r"}}))
    send(
        api, place, contained({"seLinuxOptions": {"type": "b_t"}}, securityContext={"seLinuxOptions": {"type": "a_t"}})
    )
    send(api, place, contained({"seLinuxOptions": {"type": "container_kvm_t", "level": "s0"}}))


@case("baseline: the SELinux type of container engines, by version")
def _(api: Api) -> None:
    for version in ("v1.30", "v1.31"):
        place = make(api, enforce="baseline", enforce_version=version)
        send(api, place, contained({"seLinuxOptions": {"type": "container_engine_t"}}))


@case("baseline: seccomp profiles")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    bad: Plain = {"seccompProfile": {"type": "Unconfined"}}
    local: Plain = {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}
    send(api, place, contained(bad, local, bad))
    send(api, place, contained(None, securityContext=bad))
    send(api, place, contained(local, securityContext=local))


@case("baseline: seccomp annotations in old versions")
def _(api: Api) -> None:
    annotations = {
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        "container.seccomp.security.alpha.kubernetes.io/main": "unconfined",
        "container.seccomp.security.alpha.kubernetes.io/missing": "unconfined",
    }
    for version in ("v1.0", "v1.18", "v1.19"):
        send(api, make(api, enforce="baseline", enforce_version=version), pod("a", annotations=annotations))


@case("annotations with invalid profiles")
def _(api: Api) -> None:
    seccomp, apparmor = (
        "container.seccomp.security.alpha.kubernetes.io/",
        "container.apparmor.security.beta.kubernetes.io/",
    )
    for sent in (
        {"seccomp.security.alpha.kubernetes.io/pod": "x", f"{seccomp}main": "localhost//a/../b"},
        {f"{apparmor}main": "x", f"{apparmor}missing": "unconfined"},
        {f"{apparmor}main": "localhost/"},
        {"kubernetes.io/config.mirror": "x"},
    ):
        api.create("pods", pod("a", annotations=sent))
    profile = {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}
    api.create("pods", pod("a", annotations={f"{apparmor}main": "unconfined"}, spec=profile))
    api.create("pods", pod("a", annotations={f"{apparmor}main": "runtime/default"}, spec=profile))
    api.patch("pods", "a", {"metadata": {"annotations": {f"{apparmor}main": "y"}}})


@case("baseline: sysctls, by version")
def _(api: Api) -> None:
    names = (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "kernel.msgmax",
    )
    sysctls = [{"name": name, "value": "1"} for name in names]
    for version in ("v1.26", "v1.27", "v1.29", "v1.32", "latest"):
        place = make(api, enforce="baseline", enforce_version=version)
        send(api, place, contained(None, securityContext={"sysctls": sysctls}))


@case("baseline: processes of a Windows host")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    options = {"windowsOptions": {"hostProcess": True}}
    send(api, place, contained(options, options, securityContext=options, hostNetwork=True))
    send(api, place, contained(None, securityContext=options, hostNetwork=True))


@case("restricted: privilege escalation, by version")
def _(api: Api) -> None:
    for version in ("v1.7", "v1.8", "latest"):
        place = make(api, enforce="restricted", enforce_version=version)
        contexts = [{**GOOD_CONTEXT, "allowPrivilegeEscalation": True}, {"capabilities": {"drop": ["ALL"]}}]
        send(api, place, contained(*contexts, securityContext=GOOD_POD_CONTEXT))


@case("restricted: capabilities, by version")
def _(api: Api) -> None:
    contexts = [
        {**GOOD_CONTEXT, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
        {**GOOD_CONTEXT, "capabilities": {"drop": ["KILL"], "add": ["CHOWN", "AUDIT_WRITE"]}},
        {**GOOD_CONTEXT, "capabilities": {}},
    ]
    for version in ("v1.21", "v1.22", "latest"):
        place = make(api, enforce="restricted", enforce_version=version)
        send(api, place, contained(*contexts, securityContext=GOOD_POD_CONTEXT))
        send(api, place, contained(contexts[0], securityContext=GOOD_POD_CONTEXT))


@case("restricted: types of volumes")
def _(api: Api) -> None:
    place = make(api, enforce="restricted")
    volumes = [
        {"name": "v1", "hostPath": {"path": "/"}},
        {"name": "v2", "nfs": {"server": "a", "path": "/"}},
        {"name": "v3", "nfs": {"server": "b", "path": "/"}},
        {"name": "v4", "emptyDir": {}},
        {"name": "v5", "configMap": {"name": "a"}},
    ]
    send(api, place, good(volumes=volumes))
    send(api, place, good(volumes=volumes[1:2]))
    send(api, place, good(volumes=volumes[3:]))


@case("restricted: users other than root")
def _(api: Api) -> None:
    place = make(api, enforce="restricted")
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    root, other = {**GOOD_CONTEXT, "runAsNonRoot": False}, {**GOOD_CONTEXT, "runAsNonRoot": True}
    send(api, place, contained(other, GOOD_CONTEXT, GOOD_CONTEXT, securityContext=profile))
    send(api, place, contained(root, other, securityContext={**profile, "runAsNonRoot": False}))
    send(api, place, contained(root, other, securityContext={**profile, "runAsNonRoot": True}))
    send(api, place, contained(other, other, securityContext=profile))


@case("restricted: the user 0, by version")
def _(api: Api) -> None:
    for version in ("v1.22", "v1.23", "latest"):
        place = make(api, enforce="restricted", enforce_version=version)
        root = {**GOOD_CONTEXT, "runAsUser": 0}
        send(api, place, contained(root, root, securityContext={**GOOD_POD_CONTEXT, "runAsUser": 0}))


@case("restricted: seccomp profiles, by version")
def _(api: Api) -> None:
    own = {**GOOD_CONTEXT, "seccompProfile": {"type": "RuntimeDefault"}}
    bad = {**GOOD_CONTEXT, "seccompProfile": {"type": "Unconfined"}}
    for version in ("v1.18", "v1.19", "latest"):
        place = make(api, enforce="restricted", enforce_version=version)
        send(api, place, contained(own, GOOD_CONTEXT, securityContext={"runAsNonRoot": True}))
        send(api, place, contained(own, bad, securityContext=GOOD_POD_CONTEXT))


@case("restricted: pods for Windows, by version")
def _(api: Api) -> None:
    for version in ("v1.24", "v1.25", "latest"):
        place = make(api, enforce="restricted", enforce_version=version)
        send(api, place, pod("a", spec=WINDOWS))


@case("restricted: pods in a user namespace, by version")
def _(api: Api) -> None:
    root = {**GOOD_CONTEXT, "runAsUser": 0, "runAsNonRoot": False}
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    for version in ("v1.34", "v1.35", "latest"):
        place = make(api, enforce="restricted", enforce_version=version)
        send(api, place, contained(root, securityContext=profile, hostUsers=False))
        send(api, place, contained(root, securityContext=profile, hostUsers=True))


@case("versions of the future and of the past")
def _(api: Api) -> None:
    for version in ("v1.99", "v1.1000", "v1.0"):
        place = make(api, enforce="restricted", enforce_version=version)
        send(api, place, contained(None, hostNetwork=True))


@case("invalid labels of a new namespace")
def _(api: Api) -> None:
    for number, modes in enumerate(
        (
            {"enforce": "Baseline"},
            {"enforce": ""},
            {"enforce_version": "1.20"},
            {"enforce_version": "v1.01"},
            {"enforce_version": "v2.0"},
            {"enforce_version": "v1.99999999999999999999"},
            {"audit": "a", "audit_version": "b", "warn": "c", "warn_version": "d", "enforce": "e"},
        )
    ):
        api.create("namespaces", namespace(f"{api.namespace}-n{number}", labels=labels(**modes)))


@case("invalid labels of a stored namespace")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    api.patch("namespaces", place, {"metadata": {"labels": labels(enforce="none")}})
    api.patch("namespaces", place, {"metadata": {"labels": labels(warn_version="newest")}})
    api.patch("namespaces", place, {"metadata": {"labels": {PREFIX + "enforce": None, PREFIX + "other": "x"}}})


@case("a label that relaxes the level")
def _(api: Api) -> None:
    place = make(api, enforce="restricted")
    api.patch("namespaces", place, {"metadata": {"labels": labels(enforce="baseline")}})
    api.patch("namespaces", place, {"metadata": {"labels": labels(enforce="privileged", enforce_version="v1.20")}})


@case("a stricter level warns of existing pods")
def _(api: Api) -> None:
    place = make(api)
    for name in ("b", "a", "c"):
        send(api, place, pod(name))
    send(api, place, contained({"privileged": True}, hostNetwork=True) | {"metadata": metadata("host")})
    send(api, place, good("good"))
    path = f"/api/v1/namespaces/{place}/pods"
    api.await_event(path, "good", lambda event: event["object"]["metadata"]["name"] == "good")
    api.patch("namespaces", place, {"metadata": {"labels": labels(enforce="baseline")}}, dryRun="All")
    api.patch("namespaces", place, {"metadata": {"labels": labels(enforce="restricted")}})
    api.patch("namespaces", place, {"metadata": {"labels": labels(enforce_version="v1.7")}})
    api.patch("namespaces", place, {"metadata": {"labels": {"other": "label"}}})


@case("warnings without enforcement")
def _(api: Api) -> None:
    place = make(api, warn="restricted", warn_version="v1.20", audit="baseline")
    send(api, place, contained(None, hostNetwork=True))


@case("enforcement without warnings, and with those of another level")
def _(api: Api) -> None:
    send(api, make(api, enforce="baseline", warn="restricted"), pod("a"))
    send(api, make(api, enforce="restricted", warn="privileged"), workload("Deployment", "a"))
    send(api, make(api, enforce="restricted", warn_version="v1.7"), workload("Deployment", "a"))
    send(api, make(api, enforce="restricted", enforce_version="v1.7"), workload("Deployment", "a"))


@case("workloads are admitted with a warning")
def _(api: Api) -> None:
    place = make(api, enforce="restricted")
    for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        send(api, place, workload(kind, "a"))
    send(api, place, job("a"))


@case("templates of other kinds are admitted with a warning")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    host = {**template(), "spec": {**template()["spec"], "hostPID": True}}
    cron: Plain = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": host}}}
    cron["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    send(api, place, {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata("a"), "spec": cron})
    host = {**template(), "spec": {**template()["spec"], "hostPID": True}}
    send(api, place, {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata("a"), "template": host})
    spec = {"selector": {"app": "a"}, "template": host}
    send(api, place, {"apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata("a"), "spec": spec})


@case("updates of workloads")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    send(api, place, workload("Deployment", "a"))
    path = f"/apis/apps/v1/namespaces/{place}/deployments/a"
    headers = {"Content-Type": "application/merge-patch+json"}
    api.request("PATCH", path, {"spec": {"template": {"spec": {"hostNetwork": True}}}}, headers=headers)
    api.request("PATCH", path, {"spec": {"replicas": 2}}, headers=headers)
    api.request("PATCH", f"{path}/scale", {"spec": {"replicas": 3}}, headers=headers)


@case("updates of a pod that violates a new level")
def _(api: Api) -> None:
    body = contained({"privileged": True})
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    api.create("pods", body)
    api.patch("namespaces", api.namespace, {"metadata": {"labels": labels(enforce="baseline")}})
    probe = {**body, "metadata": {"name": "probe"}}
    path = f"{api.path('pods')}?dryRun=All"
    api.await_response(path, lambda status, _: status == 403, method="POST", body=probe)
    api.patch("pods", "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch("pods", "a", {"spec": {"containers": [{"name": "c1", "image": "other"}]}}, by="strategic")
    api.patch("pods", "a/status", {"status": {"phase": "Running"}})
    resources = {"spec": {"containers": [{"name": "c1", "resources": {"requests": {"cpu": "2"}}}]}}
    api.patch("pods", "a/resize", resources, by="strategic")
    api.patch("pods", "a/resize", {"spec": {"containers": [{"name": "c1", "image": "other"}]}}, by="strategic")


@case("ephemeral containers")
def _(api: Api) -> None:
    place = make(api, enforce="baseline")
    send(api, place, pod("a"))
    path = f"/api/v1/namespaces/{place}/pods/a/ephemeralcontainers"
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    bad = {"name": "bad", "image": "image", "securityContext": {"privileged": True}}
    for container in (bad, {"name": "good", "image": "image"}):
        api.request("PATCH", path, {"spec": {"ephemeralContainers": [container]}}, headers=headers)
