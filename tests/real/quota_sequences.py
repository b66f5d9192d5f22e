"""Random sequences of requests in a namespace with quotas and limit ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.conformance.bounds import claim, container
from tests.conformance.objects import config_map, deployment, job, named, pod, service
from tests.conformance.resources import path_of

if TYPE_CHECKING:
    from random import Random

Plain = dict[str, Any]
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
DONGLE = "example.com/dongle"
POD_LIMITS = (
    "pods",
    "count/pods",
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
)
OTHER_LIMITS = (
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
    f"requests.{DONGLE}",
    "services",
    "services.nodeports",
    "services.loadbalancers",
    "persistentvolumeclaims",
    "requests.storage",
    "gold.storageclass.storage.k8s.io/requests.storage",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
    "configmaps",
    "secrets",
    "count/configmaps",
    "count/deployments.apps",
    "count/jobs.batch",
)
SCOPES = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort")
CPU = ("0", "1m", "100m", "0.5", "1", "1500m", "2")
MEMORY = ("0", "1Mi", "100M", "512Mi", "1Gi", "1.5Gi", "1e9")
KINDS = ("configmaps", "secrets", "services", "persistentvolumeclaims", "deployments", "jobs")


@dataclass(frozen=True)
class Step:
    """A request.

    Attributes:
        method: Its method.
        path: Its path.
        body: Its body.
        content_type: The type of the body.
    """

    method: str
    path: str
    body: Plain | None = None
    content_type: str = "application/json"


class QuotaSequence:
    """A random sequence.

    Args:
        random: What it is made from.
        namespace: The namespace of all objects.
        is_generous: Whether the quotas refuse nothing.
    """

    def __init__(self, random: Random, namespace: str, *, is_generous: bool = False) -> None:
        self._random = random
        self._namespace = namespace
        self._is_generous = is_generous
        self._names: dict[str, list[str]] = {}
        self._count = 0

    def quotas(self) -> list[Plain]:
        """One to three quotas, with different scopes."""
        return [self._quota(f"q{number}") for number in range(self._random.randint(1, 3))]

    def limit_ranges(self) -> list[Plain]:
        """None, or limit ranges for containers and for others; one resource each, because the order is random."""
        if self._is_generous or self._random.random() < 0.6:
            return []
        name = self._random.choice(["cpu", "memory"])
        low, high = ("50m", "1500m") if name == "cpu" else ("10Mi", "1200Mi")
        sides: dict[str, Plain] = {"min": {name: low}, "max": {name: high}, "maxLimitRequestRatio": {name: "4"}}
        sides |= {"default": {name: high}, "defaultRequest": {name: low}}
        limit = {"type": "Container", **self._some(sides)}
        storage = {"type": "PersistentVolumeClaim", "max": {"storage": "3Gi"}, "min": {"storage": "1Mi"}}
        whole = {"type": "Pod", "max": {name: high}}
        others = [other for other in (storage, whole) if self._random.random() < 0.5]
        found = [[limit], others]
        return [named("v1", "LimitRange", f"l{number}", spec={"limits": limits}) for number, limits in enumerate(found)]

    def steps(self, count: int) -> list[Step]:
        """So many requests."""
        return [self._step() for _ in range(count)]

    def _quota(self, name: str) -> Plain:
        random = self._random
        spec: Plain = {}
        chosen = random.sample(POD_LIMITS, random.randint(1, 4))
        if random.random() < 0.4:
            scope = random.choice(SCOPES)
            spec["scopes"] = [scope]
            chosen = ["pods"] if scope == "BestEffort" else [limit for limit in chosen if limit in POD_LIMITS]
        else:
            chosen += random.sample(OTHER_LIMITS, random.randint(0, 6))
        if random.random() < 0.5:
            # Quotas of cpu and memory refuse most pods, because every container has to state them.
            chosen = [limit for limit in chosen if "cpu" not in limit and "memory" not in limit] or ["pods"]
        spec["hard"] = {limit: self._amount(limit) for limit in chosen}
        return named("v1", "ResourceQuota", name, spec=spec)

    def _amount(self, limit: str) -> str:
        if self._is_generous:
            return "1Ti" if "memory" in limit or "storage" in limit else "1k"
        if "cpu" in limit:
            return self._random.choice(["1", "2500m", "4"])
        if "memory" in limit or limit.endswith("storage"):
            return self._random.choice(["1Gi", "2500Mi", "4G"])
        return str(self._random.randint(0, 4))

    def _step(self) -> Step:
        changes = (self._delete, self._set_deadline, self._resize, self._change_service, self._end)
        roll = self._random.random()
        if roll < 0.4:
            return self._create("pods", self._pod)
        return self._create_other() if roll < 0.7 else self._random.choice(changes)()

    def _create_other(self) -> Step:
        makers = {
            "configmaps": config_map,
            "secrets": lambda name: named("v1", "Secret", name),
            "services": self._service,
            "persistentvolumeclaims": self._claim,
            "deployments": deployment,
            "jobs": job,
        }
        kind = self._random.choice(KINDS)
        return self._create(kind, makers[kind])

    def _create(self, kind: str, make: Any) -> Step:
        self._count += 1
        names = self._names.setdefault(kind, [])
        # Sometimes a name that is in use: the request is charged, and fails.
        is_repeated = bool(names) and self._random.random() < 0.1
        name = self._random.choice(names) if is_repeated else f"{kind[:3]}{self._count}"
        is_dry_run = self._random.random() < 0.1
        if not is_repeated and not is_dry_run:
            names.append(name)
        return Step("POST", path_of(kind, self._namespace) + ("?dryRun=All" if is_dry_run else ""), make(name))

    def _pick(self, kind: str) -> str:
        """The path of an object, which may not exist."""
        names = self._names.get(kind) or ["none"]
        return f"{path_of(kind, self._namespace)}/{self._random.choice(names)}"

    def _delete(self) -> Step:
        kind = self._random.choice(("pods", *KINDS))
        return Step("DELETE", f"{self._pick(kind)}?gracePeriodSeconds=0&propagationPolicy=Background")

    def _end(self) -> Step:
        phase = self._random.choice(["Running", "Succeeded", "Failed"])
        return Step("PATCH", f"{self._pick('pods')}/status", {"status": {"phase": phase}}, MERGE)

    def _set_deadline(self) -> Step:
        return Step("PATCH", self._pick("pods"), {"spec": {"activeDeadlineSeconds": 100}}, MERGE)

    def _resize(self) -> Step:
        resources = {"requests": {"cpu": self._random.choice(CPU)}, "limits": {"cpu": "2"}}
        body = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
        return Step("PATCH", f"{self._pick('pods')}/resize", body, STRATEGIC)

    def _change_service(self) -> Step:
        kind = self._random.choice(["ClusterIP", "NodePort", "LoadBalancer"])
        return Step("PATCH", self._pick("services"), {"spec": {"type": kind}}, MERGE)

    def _service(self, name: str) -> Plain:
        kind = self._random.choice(["ClusterIP", "NodePort", "LoadBalancer", "LoadBalancer"])
        ports = [{"name": f"p{number}", "port": 80 + number} for number in range(self._random.randint(1, 3))]
        spec: Plain = {"type": kind, "ports": ports}
        if kind == "LoadBalancer" and self._random.random() < 0.5:
            spec["allocateLoadBalancerNodePorts"] = False
        return service(name, spec=spec)

    def _claim(self, name: str) -> Plain:
        spec: Plain = {"storageClassName": "gold"} if self._random.random() < 0.5 else {}
        return claim(name, self._random.choice(["1", "1500m", "512Mi", "1Gi", "2G"]), **spec)

    def _pod(self, name: str) -> Plain:
        random = self._random
        spec: Plain = {"containers": [self._container("main")]}
        if random.random() < 0.3:
            spec["containers"].append(self._container("second"))
        if random.random() < 0.3:
            init = [self._container(f"init{number}") for number in range(random.randint(1, 3))]
            for item in init:
                if random.random() < 0.4:
                    item["restartPolicy"] = "Always"
            spec["initContainers"] = init
        if random.random() < 0.3:
            spec["activeDeadlineSeconds"] = 50
        if random.random() < 0.1:
            spec["resources"] = {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}}
        return pod(name, spec=spec)

    def _container(self, name: str) -> Plain:
        random = self._random
        requests = self._some({"cpu": random.choice(CPU), "memory": random.choice(MEMORY)})
        limits = self._some({"cpu": "2", "memory": "1.5Gi"})
        if random.random() < 0.2:
            requests["ephemeral-storage"] = "1Gi"
        if random.random() < 0.2:
            requests[DONGLE] = limits[DONGLE] = "1"
        return container(name, requests=requests, limits=limits)

    def _some(self, found: Plain) -> Plain:
        return {key: value for key, value in found.items() if self._random.random() < 0.7}
