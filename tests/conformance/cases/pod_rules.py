"""Rules of pods about two fields, and about references within a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Rules of pods")

SELECTOR = {"matchLabels": {"a": "b"}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EMPTY = {"name": "v", "emptyDir": {}}


def send(api: Api, *specs: Plain, labels: dict[str, str] | None = None) -> None:
    for spec in specs:
        api.create("pods", pod("a", spec=spec, labels=labels), dryRun="All")


def container(**fields: Any) -> Plain:
    return {"containers": [{"name": "main", "image": "image", **fields}]}


def volume(**source: Any) -> Plain:
    return {"volumes": [{"name": "v", **source}]}


def spread(**fields: Any) -> Plain:
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}
    return {"topologySpreadConstraints": [{**constraint, **fields}]}


def near(**fields: Any) -> Plain:
    return {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "z", **fields}]}}}


@case("spread constraints count domains only if they are required")
def _(api: Api) -> None:
    send(api, spread(minDomains=2), spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"), spread(minDomains=0))


@case("label keys need a selector that does not mention them")
def _(api: Api) -> None:
    send(
        api,
        *({**spread(**fields)} for fields in ({"labelSelector": None, "matchLabelKeys": ["a"]},)),
        spread(matchLabelKeys=["a"]),
        spread(matchLabelKeys=["A b"]),
        near(matchLabelKeys=["a"]),
        near(mismatchLabelKeys=["a"]),
        near(labelSelector=SELECTOR, matchLabelKeys=["a", "c"], mismatchLabelKeys=["c"]),
        near(labelSelector={}, matchLabelKeys=["c"], mismatchLabelKeys=["d", "A b"]),
        labels={"a": "b", "c": "d"},
    )


@case("label keys become requirements of the stored selectors")
def _(api: Api) -> None:
    term = {"topologyKey": "z", "labelSelector": SELECTOR, "matchLabelKeys": ["v", "w"], "mismatchLabelKeys": ["x"]}
    bare = {"topologyKey": "z", "labelSelector": {}, "mismatchLabelKeys": ["v"]}
    spec = {
        "affinity": {
            "podAffinity": {REQUIRED: [term], PREFERRED: [{"weight": 1, "podAffinityTerm": bare}]},
            "podAntiAffinity": {REQUIRED: [bare], PREFERRED: [{"weight": 1, "podAffinityTerm": term}]},
        },
        **spread(matchLabelKeys=["v", "w"]),
    }
    api.create("pods", pod("a", spec=spec, labels={"v": "1", "x": "2"}))
    api.patch("pods", "a", {"metadata": {"labels": {"v": "3", "w": "4"}}})


@case("a pod does not share processes in two ways")
def _(api: Api) -> None:
    send(
        api,
        {"hostPID": True, "shareProcessNamespace": True},
        {"hostNetwork": True, "hostUsers": False},
        {"hostPID": True, "hostIPC": True, "hostUsers": False},
        {"hostUsers": False, **container(volumeDevices=[{"name": "v", "devicePath": "/d"}])},
    )


@case("the operating system of a pod excludes fields")
def _(api: Api) -> None:
    everything = {"runAsUser": 1, "runAsGroup": 1, "procMount": "Default", "privileged": False}
    send(
        api,
        {"os": {"name": "windows"}, "securityContext": {"runAsUser": 1, "fsGroup": 1, "supplementalGroups": [1]}},
        {"os": {"name": "windows"}, "hostPID": True, "hostUsers": True, "shareProcessNamespace": False},
        {"os": {"name": "windows"}, **container(securityContext={**everything, "capabilities": {}})},
        {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}},
        {"os": {"name": "linux"}, **container(securityContext={"windowsOptions": {"runAsUserName": "a"}})},
    )


@case("options of Windows")
def _(api: Api) -> None:
    users = ("", "a\tb", "a\\b\\c", "\\a", "a.b\\", "..", "a|b", "d" * 256 + "\\a", "a" * 105, "DOMAIN\\user")
    send(
        api,
        *(container(securityContext={"windowsOptions": {"runAsUserName": user}}) for user in users),
        {"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "A_b", "gmsaCredentialSpec": ""}}},
        container(securityContext={"windowsOptions": {"hostProcess": True}}),
        {
            "hostNetwork": True,
            "securityContext": {"windowsOptions": {"hostProcess": True}},
            **container(securityContext={"windowsOptions": {"hostProcess": False}}),
        },
        {"hostNetwork": True, "securityContext": {"windowsOptions": {"hostProcess": True}}},
    )


@case("profiles of seccomp and AppArmor")
def _(api: Api) -> None:
    for kind in ("seccompProfile", "appArmorProfile"):
        for profile in (
            {"type": "Localhost"},
            {"type": "Localhost", "localhostProfile": ""},
            {"type": "Localhost", "localhostProfile": " a"},
            {"type": "Localhost", "localhostProfile": "/a/../b"},
            {"type": "RuntimeDefault", "localhostProfile": "a"},
            {"type": "nonsense", "localhostProfile": "a"},
            {"type": ""},
        ):
            send(api, {"securityContext": {kind: profile}}, container(securityContext={kind: profile}))


@case("annotations that were fields once agree with the fields")
def _(api: Api) -> None:
    for key, value in (
        ("seccomp.security.alpha.kubernetes.io/pod", "unconfined"),
        ("container.seccomp.security.alpha.kubernetes.io/main", "localhost/b"),
        ("controller.kubernetes.io/pod-deletion-cost", "+1"),
        ("controller.kubernetes.io/pod-deletion-cost", "2147483648"),
        ("controller.kubernetes.io/pod-deletion-cost", "-1"),
    ):
        spec = {
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            **container(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}}),
        }
        api.create("pods", pod("a", spec=spec, annotations={key: value}), dryRun="All")
        template = {"metadata": {"annotations": {key: value, "A b": "c"}}, "spec": spec}
        api.create("podtemplates", {**named("v1", "PodTemplate", "a"), "template": template}, dryRun="All")


@case("security contexts")
def _(api: Api) -> None:
    send(
        api,
        {"securityContext": {"supplementalGroups": [1, -1, 2**31]}},
        {"securityContext": {"seLinuxChangePolicy": "MountOption"}},
        {"securityContext": {"seLinuxChangePolicy": "Recursive"}},
        container(securityContext={"procMount": "Unmasked"}),
        {"hostUsers": False, **container(securityContext={"procMount": "Unmasked"})},
        container(securityContext={"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}),
    )


@case("restarts of containers")
def _(api: Api) -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
    odd = {"action": "nonsense", "exitCodes": {"operator": "nonsense", "values": [0] * 256}}
    send(
        api,
        container(restartPolicyRules=[rule]),
        container(restartPolicy="Never", restartPolicyRules=[odd, {"action": "Restart"}]),
        container(restartPolicy="Never", restartPolicyRules=[rule] * 21),
        {"initContainers": [{"name": "i", "image": "a", "restartPolicyRules": [odd]}]},
    )


@case("policies of resizes")
def _(api: Api) -> None:
    cpu = {"resourceName": "cpu", "restartPolicy": "NotRequired"}
    send(
        api,
        container(resizePolicy=[{"resourceName": "foo", "restartPolicy": "nonsense"}]),
        container(resizePolicy=[{"resourceName": "", "restartPolicy": ""}]),
        container(resizePolicy=[cpu, cpu]),
        {"restartPolicy": "Never", **container(resizePolicy=[{**cpu, "restartPolicy": "RestartContainer"}])},
        {
            "initContainers": [
                {"name": "i", "image": "a", "resizePolicy": [{**cpu, "restartPolicy": "RestartContainer"}]}
            ]
        },
    )


@case("divisors of amounts")
def _(api: Api) -> None:
    for resource, divisor in (
        *(("limits.cpu", divisor) for divisor in ("1", "1m", "1000m", "3", "0")),
        *(("requests.memory", divisor) for divisor in ("1Mi", "1024Ki", "2")),
        ("limits.ephemeral-storage", "3"),
        ("requests.hugepages-2Mi", "3"),
        ("nonsense", "3"),
    ):
        reference = {"resource": resource, "divisor": divisor}
        send(api, container(env=[{"name": "a", "valueFrom": {"resourceFieldRef": reference}}]))


@case("variables in files are in empty directories")
def _(api: Api) -> None:
    for reference in (
        {"key": "A=", "volumeName": "A b", "path": "../a"},
        {"key": "", "volumeName": "", "path": ""},
        {"key": "A", "volumeName": "v", "path": "a"},
        {"key": "A", "volumeName": "w", "path": "a"},
    ):
        spec = container(env=[{"name": "a", "valueFrom": {"fileKeyRef": reference}}])
        send(api, {"volumes": [EMPTY, {"name": "w", "hostPath": {"path": "/a"}}], **spec})


@case("mounts and devices")
def _(api: Api) -> None:
    claim = {"name": "c", "persistentVolumeClaim": {"claimName": "c"}}
    mount = {"name": "v", "mountPath": "/v"}
    device = {"name": "c", "devicePath": "/c"}
    for fields in (
        {"volumeMounts": [{**mount, "recursiveReadOnly": "Enabled"}]},
        {
            "volumeMounts": [
                {**mount, "readOnly": True, "recursiveReadOnly": "IfPossible", "mountPropagation": "HostToContainer"}
            ]
        },
        {"volumeMounts": [{**mount, "mountPropagation": "Bidirectional"}]},
        {"volumeMounts": [{**mount, "mountPath": "/c"}], "volumeDevices": [device]},
        {"volumeDevices": [device, device]},
        {"volumeDevices": [{"name": "x", "devicePath": "/a/../b"}, {"name": "v", "devicePath": "/v"}, {}]},
        {"volumeDevices": [device]},
    ):
        send(api, {"volumes": [EMPTY, claim], **container(**fields)})


@case("files of a projected volume do not conflict")
def _(api: Api) -> None:
    files = [{"key": "x", "path": "p"}]
    facts = {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}
    sources = [{"configMap": {"name": "a", "items": files}}, {"secret": {"name": "b", "items": files}}]
    send(
        api,
        volume(projected={"sources": sources}),
        volume(projected={"sources": [sources[0], {"downwardAPI": facts}]}),
        volume(projected={"sources": [{"serviceAccountToken": {"path": "p", "expirationSeconds": 2**32 + 1}}]}),
    )


@case("sources of storage")
def _(api: Api) -> None:
    scsi = {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:a", "lun": 1}
    send(
        api,
        *(volume(csi={"driver": driver}) for driver in ("A B", "", "a" * 64, "A.example.com")),
        volume(csi={"driver": "a", "nodePublishSecretRef": {}}),
        volume(csi={"driver": "a", "nodePublishSecretRef": {"name": "A b"}}),
        *(volume(iscsi={**scsi, "iqn": name}) for name in ("", "bad", "iqn.1", "eui.1", "naa." + "a" * 32)),
        volume(iscsi={**scsi, "lun": 256, "chapAuthSession": True, "initiatorName": "x"}),
        volume(iscsi={**scsi, "targetPortal": "a" * 64, "initiatorName": scsi["iqn"]}),
        volume(image={"reference": "", "pullPolicy": "x"}),
        volume(gcePersistentDisk={"partition": 256}),
        volume(flocker={}),
        volume(flocker={"datasetName": "a/b", "datasetUUID": "c"}),
        volume(quobyte={"registry": "a,b:1,[::1]:2,c:1:2", "volume": ""}),
        volume(quobyte={"registry": "a:1", "volume": "v", "tenant": "t" * 65}),
        volume(fc={}),
        volume(fc={"targetWWNs": ["a"], "wwids": ["b"]}),
        volume(fc={"targetWWNs": ["a"], "lun": 256}),
        volume(flexVolume={"driver": "a", "options": {"x.kubernetes.io/y": "z"}}),
        volume(azureDisk={"diskName": "a", "diskURI": "b", "kind": "Managed", "cachingMode": "x"}),
        volume(azureDisk={"diskName": "a", "diskURI": "b"}),
        volume(scaleIO={"gateway": "", "system": "", "secretRef": None}),
        volume(storageos={"volumeName": "A b", "secretRef": {}}),
        volume(gitRepo={"repository": "a", "directory": "/a/../b"}),
        volume(cephfs={"monitors": []}, emptyDir={}),
        volume(downwardAPI={}, emptyDir={}),
    )


@case("claims of ephemeral volumes are named after their pod")
def _(api: Api) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    ephemeral = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    send(api, {"volumes": [ephemeral, {"name": "w", "persistentVolumeClaim": {"claimName": "a-v"}}]})
    api.create("pods", pod("a" * 253, spec={"volumes": [ephemeral]}), dryRun="All")
    metadata = {"name": "x", "labels": {"A b": "c"}, "annotations": {"A b": "c"}, "finalizers": ["a/b"]}
    send(api, volume(ephemeral={"volumeClaimTemplate": {"metadata": metadata, "spec": claim}}))


@case("amounts in large pages, and overhead")
def _(api: Api) -> None:
    for amounts in ({"hugepages-2Mi": "3Mi"}, {"hugepages-2Mi": "4Mi"}, {"hugepages-x": "4Mi"}):
        send(api, container(resources={"limits": {**amounts, "cpu": "1"}}))


@case("requests of claims")
def _(api: Api) -> None:
    known = {"resourceClaims": [{"name": "c", "resourceClaimName": "d"}, {"name": "a.b", "resourceClaimName": "d"}]}
    for claims in (
        [{"name": ""}],
        [{"name": "c", "request": "A b"}, {"name": "c", "request": "A b"}],
        [{"name": "c", "request": "x"}, {"name": "c", "request": "y"}, {"name": "c"}],
        [{"name": "c"}, {"name": "c", "request": "x"}],
    ):
        send(api, {**known, **container(resources={"claims": claims})})


@case("fields whose features are off are dropped")
def _(api: Api) -> None:
    sources = [
        {"clusterTrustBundle": {"name": "a", "path": "p"}},
        {"podCertificate": {"signerName": "example.com/a", "keyType": "ED25519", "keyPath": "k"}},
    ]
    pause = {"sleep": {"seconds": 1}}
    spec = {
        "containers": [
            {"name": "one", "image": "image", "lifecycle": {"stopSignal": "SIGUSR1"}},
            {"name": "two", "image": "image", "lifecycle": {"stopSignal": "SIGUSR1", "preStop": pause}},
        ],
        "schedulingGroup": {"podGroupName": "a"},
        **volume(projected={"sources": sources}),
    }
    api.create("pods", pod("a", spec=spec))
    api.patch("pods", "a", {"spec": {"schedulingGroup": {"podGroupName": "a"}}}, dryRun="All")
    status = {
        "nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "a"}],
        "containerStatuses": [
            {
                "name": "one",
                "image": "image",
                "imageID": "x",
                "ready": False,
                "restartCount": 0,
                "volumeMounts": [{"name": "v", "mountPath": "/x", "volumeStatus": {"image": {"imageRef": "a"}}}],
            }
        ],
    }
    api.patch("pods", "a/status", {"status": status})
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    for version, kind in (
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
    ):
        body = named(version, kind, "a", spec={"selector": {"matchLabels": {"app": "a"}}, "template": template})
        api.create(f"{kind.lower()}s", body)
    api.create("replicationcontrollers", named("v1", "ReplicationController", "a", spec={"template": template}))
    api.create("podtemplates", {**named("v1", "PodTemplate", "a"), "template": template})
    once = {"template": {"spec": {**spec, "restartPolicy": "Never"}}}
    api.create("jobs", named("batch/v1", "Job", "a", spec=once), dryRun="All")
    cron = {"schedule": "* * * * *", "jobTemplate": {"spec": once}}
    api.create("cronjobs", named("batch/v1", "CronJob", "a", spec=cron))


@case("a gated pod may limit its nodes further")
def _(api: Api) -> None:
    def nodes(*keys: list[str]) -> Plain:
        terms = [
            {"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys_of_term]} for keys_of_term in keys
        ]
        return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}

    gates = {"schedulingGates": [{"name": "a"}]}
    api.create("pods", pod("a", spec={**gates, "nodeSelector": {"a": "b"}, **nodes(["x"], ["y"])}))
    for change in (
        {"nodeSelector": {"c": "d"}},
        {"nodeSelector": {"a": "d"}},
        {"nodeSelector": None},
        nodes(["x", "z"], ["y"]),
        nodes(["z"], ["y"]),
        nodes(["x"]),
        {"affinity": None},
        {"activeDeadlineSeconds": -1},
    ):
        api.patch("pods", "a", {"spec": change}, dryRun="All")
    api.create("pods", pod("b", spec=gates))
    for change in (nodes(["x"]), near(labelSelector={}), {"affinity": {}}):
        api.patch("pods", "b", {"spec": change}, dryRun="All")


@case("ephemeral containers have few fields")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"volumes": [EMPTY]}))
    odd = {
        "name": "e",
        "image": "x ",
        "ports": [{"containerPort": 80}],
        "restartPolicy": "Always",
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        "resources": {"limits": {"cpu": "1"}},
        "volumeMounts": [{"name": "v", "mountPath": "/x", "subPath": "y"}],
    }
    for item in (odd, {"name": "main", "image": "x"}, {"name": "e", "image": "x"}):
        api.patch("pods", "a/ephemeralcontainers", {"spec": {"ephemeralContainers": [item]}}, dryRun="All")
