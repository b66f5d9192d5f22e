"""Random objects with random states, of the kinds whose rows depend on more than a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

Plain: TypeAlias = dict[str, Any]

# Long ago, so that no age changes while a test runs.
TIMES = [f"{year}-03-0{day}T0{hour}:15:20Z" for year in (2001, 2019) for day in (1, 2) for hour in (1, 5)]
LABELS: list[Plain] = [{}, {"app": "web"}, {"app": "web", "a-b": "c", "a": "d"}]
CONDITION_STATUSES = ("True", "False", "Unknown")


@dataclass(frozen=True)
class RandomObject:
    """An object to create, and the status to give it.

    Attributes:
        path: Of the collection, with ``{ns}`` for the namespace.
        body: Without a name.
        status: Set by a patch of the subresource, if there is one.
        metadata: More metadata.
        is_deleted: Whether it is deleted then, and held by a finalizer.
    """

    path: str
    body: Plain
    status: Plain | None = None
    metadata: Plain = field(default_factory=dict)
    is_deleted: bool = False


def maybe(random: Random, **fields: Any) -> Plain:
    """Some of the fields."""
    return {name: value for name, value in fields.items() if random.random() < 0.6}


def some(random: Random, choices: Sequence[Any], most: int = 4) -> list[Any]:
    return [random.choice(choices) for _ in range(random.randint(0, most))]


def selector(random: Random, labels: Plain) -> Plain:
    expressions: list[Plain] = [
        {"key": key, "operator": "In", "values": [value, "other"]} for key, value in labels.items()
    ]
    extra: list[Plain] = [
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "zone", "operator": "NotIn", "values": ["z", "a"]},
    ]
    return {
        "matchLabels": labels,
        "matchExpressions": random.sample(expressions + extra, random.randint(0, 2)),
    }


def containers(random: Random, prefix: str = "c", least: int = 1, **more: Any) -> list[Plain]:
    count = random.randint(least, 3)
    return [{"name": f"{prefix}{number}", "image": f"image{number}", **more} for number in range(count)]


def template(random: Random, labels: Plain, **spec: Any) -> Plain:
    return {"metadata": {"labels": labels}, "spec": {"containers": containers(random), **spec}}


# Pods


def state(random: Random) -> Plain:
    terminated = maybe(
        random,
        reason=random.choice(["Completed", "Error", "OOMKilled"]),
        signal=9,
        finishedAt=random.choice(TIMES),
    )
    return random.choice(
        [
            {},
            {"running": {}},
            {"running": {"startedAt": TIMES[0]}},
            {"waiting": maybe(random, reason=random.choice(["CrashLoopBackOff", "PodInitializing", "ErrImagePull"]))},
            {"terminated": {"exitCode": random.choice([0, 0, 1, 137]), **terminated}},
        ]
    )


def container_status(random: Random, name: str) -> Plain:
    return {
        "name": name,
        "image": "image",
        "imageID": "",
        "ready": random.random() < 0.6,
        "restartCount": random.choice([0, 0, 1, 17]),
        "state": state(random),
        **maybe(random, started=random.random() < 0.7, lastState=state(random)),
    }


def pod(random: Random) -> RandomObject:
    init = containers(random, "i", 0)
    for each in init:
        each.update(maybe(random, restartPolicy="Always") if random.random() < 0.5 else {})
    gates: list[Plain] = [{"conditionType": f"example.com/{each}"} for each in some(random, ["a", "b"], 2)]
    spec = {
        "containers": containers(random),
        "restartPolicy": random.choice(["Always", "Never", "OnFailure"]),
        **maybe(random, initContainers=init, nodeName="node-1", readinessGates=gates),
    }
    kinds = ("Ready", "Initialized", "PodScheduled", "example.com/a", "example.com/b")
    conditions = [
        {
            "type": kind,
            "status": random.choice(CONDITION_STATUSES),
            **maybe(random, reason=random.choice(["SchedulingGated", "Unschedulable"])),
        }
        for kind in random.sample(kinds, random.randint(0, 5))
    ]
    names = [each["name"] for each in spec["containers"]]
    init_names = [each["name"] for each in spec.get("initContainers", [])]
    status = {
        "phase": random.choice(["Pending", "Running", "Succeeded", "Failed", "Unknown"]),
        "conditions": conditions,
        "containerStatuses": [container_status(random, name) for name in names if random.random() < 0.9],
        "initContainerStatuses": [container_status(random, name) for name in init_names if random.random() < 0.9],
        **maybe(random, podIPs=[{"ip": "192.0.2.1"}], nominatedNodeName="node-2"),
        **({"reason": random.choice(["Evicted", "NodeLost"])} if random.random() < 0.3 else {}),
    }
    return RandomObject("/api/v1/namespaces/{ns}/pods", {"spec": spec}, status, is_deleted=random.random() < 0.25)


# Workloads


def counts(random: Random, *names: str) -> Plain:
    return {name: random.randint(0, 5) for name in names}


def deployment(random: Random) -> RandomObject:
    labels = random.choice(LABELS[1:])
    spec = {
        "selector": selector(random, labels),
        "template": template(random, labels),
        **counts(random, "replicas"),
    }
    status = {"replicas": 5, **counts(random, "updatedReplicas", "readyReplicas")}
    status["availableReplicas"] = random.randint(0, status["readyReplicas"])
    return RandomObject("/apis/apps/v1/namespaces/{ns}/deployments", {"spec": spec}, status)


def replica_set(random: Random) -> RandomObject:
    labels = random.choice(LABELS[1:])
    spec = {
        "selector": selector(random, labels),
        "template": template(random, labels),
        **counts(random, "replicas"),
    }
    status = {"replicas": 5, **counts(random, "readyReplicas")}
    return RandomObject("/apis/apps/v1/namespaces/{ns}/replicasets", {"spec": spec}, status)


def replication_controller(random: Random) -> RandomObject:
    labels = random.choice(LABELS[1:])
    spec = {"selector": labels, "template": template(random, labels), **counts(random, "replicas")}
    status = {"replicas": 5, **counts(random, "readyReplicas")}
    return RandomObject("/api/v1/namespaces/{ns}/replicationcontrollers", {"spec": spec}, status)


def stateful_set(random: Random) -> RandomObject:
    labels = random.choice(LABELS[1:])
    spec = {
        "selector": selector(random, labels),
        "template": template(random, labels),
        **counts(random, "replicas"),
    }
    return RandomObject(
        "/apis/apps/v1/namespaces/{ns}/statefulsets",
        {"spec": spec},
        {"replicas": 5, **counts(random, "readyReplicas")},
    )


def daemon_set(random: Random) -> RandomObject:
    labels = random.choice(LABELS[1:])
    made = template(random, labels, nodeSelector=random.choice(LABELS))
    names = (
        *("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberMisscheduled"),
        *("updatedNumberScheduled", "numberAvailable"),
    )
    return RandomObject(
        "/apis/apps/v1/namespaces/{ns}/daemonsets",
        {"spec": {"selector": selector(random, labels), "template": made}},
        counts(random, *names),
    )


def pod_template(random: Random) -> RandomObject:
    return RandomObject("/api/v1/namespaces/{ns}/podtemplates", {"template": template(random, random.choice(LABELS))})


def job(random: Random) -> RandomObject:
    spec = {
        "template": {"spec": {"containers": containers(random), "restartPolicy": "Never"}},
        **maybe(random, completions=random.randint(1, 5), parallelism=random.randint(0, 4), suspend=False),
    }
    started = random.choice(TIMES[:4])
    condition = {"status": "True", "lastTransitionTime": TIMES[-1], "lastProbeTime": TIMES[-1]}
    met, failing = {**condition, "type": "SuccessCriteriaMet"}, {**condition, "type": "FailureTarget"}
    status: Plain = random.choice(
        [
            {},
            {"startTime": started, "active": 1},
            {"startTime": started, "conditions": [met]},
            {"startTime": started, "conditions": [failing]},
            {
                "startTime": started,
                "completionTime": random.choice(TIMES[4:]),
                "succeeded": 1,
                "conditions": [met, {**condition, "type": "Complete"}],
            },
            {"startTime": started, "conditions": [failing, {**condition, "type": "Failed"}]},
        ]
    )
    return RandomObject("/apis/batch/v1/namespaces/{ns}/jobs", {"spec": spec}, status, is_deleted=random.random() < 0.2)


def cron_job(random: Random) -> RandomObject:
    inner = {"template": {"spec": {"containers": containers(random), "restartPolicy": "Never"}}}
    spec = {
        "schedule": random.choice(["* * * * *", "@daily"]),
        "jobTemplate": {"spec": inner},
        **maybe(random, timeZone="Etc/UTC", suspend=random.random() < 0.5),
    }
    status = maybe(random, lastScheduleTime=random.choice(TIMES), active=some(random, [{"kind": "Job", "name": "a"}]))
    return RandomObject("/apis/batch/v1/namespaces/{ns}/cronjobs", {"spec": spec}, status)


# Networks


def service(random: Random) -> RandomObject:
    kind = random.choice(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"])
    ports: list[Plain] = [
        {"name": f"p{number}", "port": number, "protocol": random.choice(["TCP", "UDP"])}
        for number in range(1, random.randint(2, 5))
    ]
    spec: Plain = {
        "type": kind,
        "ports": ports,
        **maybe(random, selector=random.choice(LABELS), externalIPs=["198.51.100.1", "198.51.100.2"]),
    }
    if kind == "ExternalName":
        spec["externalName"] = "example.com"
    addresses: list[Plain] = [{"ip": "192.0.2.9"}, {"hostname": "lb.example.com"}, {"ip": "192.0.2.1"}]
    status = {"loadBalancer": {"ingress": some(random, addresses)}} if kind == "LoadBalancer" else None
    return RandomObject("/api/v1/namespaces/{ns}/services", {"spec": spec}, status)


def endpoints(random: Random) -> RandomObject:
    def subset() -> Plain:
        ips = random.sample(["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "2001:db8::1"], random.randint(0, 4))
        ports: list[Plain] = [{"name": f"p{each}", "port": each} for each in range(1, random.randint(1, 5))]
        named = {"addresses" if ips else "notReadyAddresses": [{"ip": ip} for ip in ips or ["192.0.2.9"]]}
        return {**named, "ports": ports}

    return RandomObject(
        "/api/v1/namespaces/{ns}/endpoints", {"subsets": [subset() for _ in range(random.randint(0, 3))]}
    )


def endpoint_slice(random: Random) -> RandomObject:
    ports: list[Plain] = [{"name": f"p{each}", **maybe(random, port=each)} for each in range(1, random.randint(1, 6))]
    body = {
        "addressType": "IPv4",
        "ports": ports,
        "endpoints": [{"addresses": [f"192.0.2.{each}"]} for each in range(1, random.randint(1, 6))],
    }
    return RandomObject("/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices", body)


def ingress(random: Random) -> RandomObject:
    backend = {"service": {"name": "a", "port": {"number": 80}}}
    paths = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
    hosts = some(random, ["", "a.example.com", "b.example.com", "c.example.com"], 6)
    rules: list[Plain] = [{"http": paths, **({"host": host} if host else {})} for host in hosts]
    spec = {
        "defaultBackend": backend,
        "rules": rules,
        **maybe(random, ingressClassName="nginx", tls=[{"hosts": ["a.example.com"]}]),
    }
    addresses: list[Plain] = [{"ip": "192.0.2.9"}, {"hostname": "lb.example.com"}]
    return RandomObject(
        "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
        {"spec": spec},
        {"loadBalancer": {"ingress": some(random, addresses)}},
    )


def network_policy(random: Random) -> RandomObject:
    chosen = selector(random, random.choice(LABELS))
    return RandomObject("/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies", {"spec": {"podSelector": chosen}})


# Nodes and storage


def node(random: Random) -> RandomObject:
    labels = {
        label: random.choice(["", "x"])
        for label in random.sample(
            ["node-role.kubernetes.io/worker", "node-role.kubernetes.io/a", "kubernetes.io/role", "other"], 2
        )
    }
    info = {
        name: random.choice(["", name])
        for name in (
            *("kubeletVersion", "osImage", "kernelVersion", "containerRuntimeVersion", "architecture"),
            *("machineID", "systemUUID", "bootID", "kubeProxyVersion", "operatingSystem"),
        )
    }
    kinds = random.sample(["Ready", "MemoryPressure"], random.randint(0, 2))
    addresses = [
        {"type": kind, "address": f"192.0.2.{number}"}
        for number, kind in enumerate(some(random, ["Hostname", "InternalIP", "ExternalIP"]))
    ]
    status = {
        "conditions": [{"type": kind, "status": random.choice(CONDITION_STATUSES)} for kind in kinds],
        "nodeInfo": info,
        "addresses": addresses,
    }
    spec = maybe(random, unschedulable=random.random() < 0.5)
    return RandomObject("/api/v1/nodes", {"spec": spec}, status, {"labels": labels})


MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany")
SIZES = ("1Gi", "1024Mi", "1500M", "0.5Ti", "1e9", "1048577")
BETA_CLASS = {"volume.beta.kubernetes.io/storage-class": "beta"}


def persistent_volume(random: Random) -> RandomObject:
    spec = {
        "accessModes": random.sample(MODES, random.randint(1, 3)),
        "capacity": {"storage": random.choice(SIZES)},
        "hostPath": {"path": "/data"},
        **maybe(
            random,
            storageClassName="fast",
            claimRef={"namespace": "x", "name": "y"},
            volumeMode=random.choice(["Block", "Filesystem"]),
            persistentVolumeReclaimPolicy=random.choice(["Retain", "Delete"]),
        ),
    }
    status = maybe(random, phase=random.choice(["Bound", "Released", "Failed"]), reason="Because")
    metadata = {"annotations": BETA_CLASS} if random.random() < 0.3 else {}
    return RandomObject("/api/v1/persistentvolumes", {"spec": spec}, status, metadata, is_deleted=random.random() < 0.2)


def persistent_volume_claim(random: Random) -> RandomObject:
    spec = {
        "accessModes": random.sample(MODES, random.randint(1, 3)),
        "resources": {"requests": {"storage": random.choice(SIZES)}},
        **maybe(random, storageClassName="fast", volumeName="v", volumeMode="Block"),
    }
    status = maybe(
        random,
        phase=random.choice(["Bound", "Lost", "Pending"]),
        accessModes=random.sample(MODES, 2),
        capacity={"storage": random.choice(SIZES)},
    )
    return RandomObject(
        "/api/v1/namespaces/{ns}/persistentvolumeclaims",
        {"spec": spec},
        status,
        is_deleted=random.random() < 0.2,
    )


def storage_class(random: Random) -> RandomObject:
    body = {
        "provisioner": "example.com/p",
        **maybe(
            random,
            reclaimPolicy=random.choice(["Retain", "Delete"]),
            volumeBindingMode="WaitForFirstConsumer",
            allowVolumeExpansion=random.random() < 0.5,
        ),
    }
    prefix = random.choice(["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"])
    annotations = {f"{prefix}/is-default-class": random.choice(["true", "false"])}
    return RandomObject("/apis/storage.k8s.io/v1/storageclasses", body, metadata=maybe(random, annotations=annotations))


def csi_driver(random: Random) -> RandomObject:
    spec = maybe(
        random,
        attachRequired=random.random() < 0.5,
        podInfoOnMount=True,
        storageCapacity=True,
        requiresRepublish=True,
        tokenRequests=[{"audience": "a"}, {"audience": "b"}],
        volumeLifecycleModes=["Persistent", "Ephemeral"],
    )
    return RandomObject("/apis/storage.k8s.io/v1/csidrivers", {"spec": spec})


# Others


def autoscaler(random: Random) -> RandomObject:
    amounts = ("100m", "1500m", "2", "1k", "0.5")

    def value(name: str) -> Plain:
        if name == "averageUtilization":
            return {"type": "Utilization", name: random.randint(1, 90)}
        return {"type": "Value" if name == "value" else "AverageValue", name: random.choice(amounts)}

    def metric() -> tuple[Plain, Plain]:
        kind = random.choice(["Resource", "ContainerResource", "Pods", "Object", "External"])
        section = kind[0].lower() + kind[1:]
        about: Plain = {"metric": {"name": "m"}}
        if kind in {"Resource", "ContainerResource"}:
            about = {"name": random.choice(["cpu", "memory"])}
            target = value(random.choice(["averageUtilization", "averageValue"]))
            current = {
                "averageValue": random.choice(amounts),
                **maybe(random, averageUtilization=random.randint(0, 200)),
            }
        elif kind == "Pods":
            target, current = value("averageValue"), {"averageValue": random.choice(amounts)}
        else:
            name = random.choice(["value", "averageValue"])
            target, current = value(name), {"value": "7", "averageValue": random.choice(amounts)}
        if kind == "ContainerResource":
            about["container"] = "main"
        if kind == "Object":
            about["describedObject"] = {"kind": "Service", "name": "s"}
        return {"type": kind, section: {**about, "target": target}}, {
            "type": kind,
            section: {**about, "current": current},
        }

    metrics = [metric() for _ in range(random.randint(1, 4))]
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
        "maxReplicas": 9,
        "metrics": [spec for spec, _ in metrics],
        **maybe(random, minReplicas=random.randint(1, 9)),
    }
    current = [now for _, now in metrics][: random.randint(0, 4)]
    status = {"desiredReplicas": 1, "currentReplicas": random.randint(0, 5), "currentMetrics": current}
    return RandomObject("/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers", {"spec": spec}, status)


def disruption_budget(random: Random) -> RandomObject:
    limits: list[Plain] = [{"minAvailable": 2}, {"maxUnavailable": "20%"}, {"minAvailable": "50%"}, {}]
    limit = random.choice(limits)
    spec = {**limit, "selector": {"matchLabels": {"a": "b"}}}
    status = counts(random, "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return RandomObject("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", {"spec": spec}, status)


def event(random: Random) -> RandomObject:
    about = {
        "namespace": "{ns}",
        **maybe(random, kind="Pod", name="web", fieldPath="spec.containers{main}"),
    }
    body = {
        "involvedObject": about,
        **maybe(
            random,
            message=random.choice(["hello", "  blank \n", "two\nlines"]),
            type=random.choice(["Normal", "Warning"]),
            reason="Started",
            count=random.randint(0, 9),
            firstTimestamp=random.choice(TIMES),
            lastTimestamp=random.choice(TIMES),
            source=maybe(random, component="kubelet", host="node-1"),
        ),
    }
    return RandomObject("/api/v1/namespaces/{ns}/events", body)


def resource_quota(random: Random) -> RandomObject:
    hard = maybe(random, pods="10", **{"limits.cpu": "2000m", "requests.cpu": "1", "limits.memory": "1.5Gi"})
    used = {name: random.choice(["0", "0.5", "250m", "1"]) for name in hard if random.random() < 0.7}
    return RandomObject(
        "/api/v1/namespaces/{ns}/resourcequotas", {"spec": {"hard": hard}}, {"hard": hard, "used": used}
    )


def role_binding(random: Random) -> RandomObject:
    group = "rbac.authorization.k8s.io"
    subjects: list[Plain] = [
        {"kind": "User", "name": "alice", "apiGroup": group},
        {"kind": "Group", "name": "admins", "apiGroup": group},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "x"},
    ]
    body = {
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": some(random, subjects),
    }
    return RandomObject(f"/apis/{group}/v1/namespaces/{{ns}}/rolebindings", body)


def config(random: Random) -> RandomObject:
    if random.random() < 0.5:
        return RandomObject(
            "/api/v1/namespaces/{ns}/secrets", maybe(random, stringData={"k": "v"}, type="example.com/x")
        )
    return RandomObject(
        "/api/v1/namespaces/{ns}/configmaps",
        maybe(random, data={"a": "b", "c": "d"}, binaryData={"b": "AA=="}),
    )


def lease(random: Random) -> RandomObject:
    return RandomObject(
        "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", {"spec": maybe(random, holderIdentity="me")}
    )


def resource_claim(random: Random) -> RandomObject:
    spec = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "class"}}]}}
    status: Plain = {"allocation": {}} if random.random() < 0.6 else {}
    if status and random.random() < 0.5:
        status["reservedFor"] = [{"resource": "pods", "name": "web", "uid": "1"}]
    return RandomObject(
        "/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims",
        {"spec": spec},
        status,
        is_deleted=random.random() < 0.3,
    )


def binding_of_a_policy(random: Random) -> RandomObject:
    reference = random.choice(
        [
            {"name": "p", "parameterNotFoundAction": "Allow"},
            {"name": "p", "namespace": "x", "parameterNotFoundAction": "Allow"},
            {"selector": selector(random, random.choice(LABELS)), "parameterNotFoundAction": "Allow"},
        ]
    )
    spec = {"policyName": "none", "validationActions": ["Warn"], **maybe(random, paramRef=reference)}
    return RandomObject("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", {"spec": spec})


KINDS: list[Callable[[Random], RandomObject]] = [
    *(
        pod,
        deployment,
        replica_set,
        replication_controller,
        stateful_set,
        daemon_set,
        pod_template,
        job,
        cron_job,
    ),
    *(service, endpoints, endpoint_slice, ingress, network_policy, node, persistent_volume),
    *(
        persistent_volume_claim,
        storage_class,
        csi_driver,
        autoscaler,
        disruption_budget,
        event,
        resource_quota,
    ),
    *(role_binding, config, lease, resource_claim, binding_of_a_policy),
]
