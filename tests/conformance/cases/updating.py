"""PUT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, job, metadata, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Updating")


@case("update puts the new object in place of the old")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a", data={"k": "1"}, labels={"l": "1"}))
    api.update("configmaps", "a", config_map("a", data={"k2": "2"}, version=made.version))
    api.get("configmaps", "a")


@case("update with a stale version is refused")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a", data={"k": "1"}, version=made.version))
    api.update("configmaps", "a", config_map("a", data={"k": "2"}, version=made.version))
    made = api.create("deployments", deployment("a"))
    api.update("deployments", "a", deployment("a", replicas=2, version=made.version))
    api.update("deployments", "a", deployment("a", replicas=3, version=made.version))


@case("update without a version is unconditional")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a", data={"k": "1"}))
    api.create("deployments", deployment("a"))
    api.update("deployments", "a", deployment("a", replicas=2))


@case("update with a version that is no number is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a", version="abc"))
    api.update("configmaps", "a", config_map("a", data={"k": "1"}, version="0"))


@case("kinds that want a version say so")
def _(api: Api) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    budget = named("policy/v1", "PodDisruptionBudget", "a", spec=spec)
    api.create("poddisruptionbudgets", budget)
    api.update("poddisruptionbudgets", "a", budget)
    lease = named("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me"})
    api.create("leases", lease)
    api.update("leases", "a", lease)
    api.create("services", service("a"))
    api.update("services", "a", service("a"))


@case("an update that changes nothing leaves the version")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a", data={"k": "1"}))
    api.update("configmaps", "a", config_map("a", data={"k": "1"}))
    api.update("configmaps", "a", config_map("a", data={"k": "1"}, version=made.version))
    made = api.create("deployments", deployment("a"))
    api.update("deployments", "a", made.body)


@case("update of what is not there is refused")
def _(api: Api) -> None:
    api.update("configmaps", "a", config_map("a"))
    api.update("pods", "a", pod("a"))
    api.update("configmaps", "a", config_map("a", version="1"))
    api.update("deployments", "a", deployment("a"))


@case("some kinds are created by an update")
def _(api: Api) -> None:
    api.update("leases", "a", named("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me"}))
    api.update("roles", "a", named("rbac.authorization.k8s.io/v1", "Role", "a", rules=[]))
    api.update("endpoints", "a", named("v1", "Endpoints", "a"))
    api.update("limitranges", "a", named("v1", "LimitRange", "a", spec={"limits": []}))
    api.update("events", "a", _event(api))
    api.update("services", "a", service("a"))


@case("creation by update with a version or a uid is refused")
def _(api: Api) -> None:
    lease = named("coordination.k8s.io/v1", "Lease", "a")
    lease["metadata"] = metadata("a", version="5")
    api.update("leases", "a", lease)
    lease["metadata"] = metadata("a", uid="11111111-2222-3333-4444-555555555555")
    api.update("leases", "a", lease)


@case("the body's name must be the path's")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("b"))
    api.update("configmaps", "a", config_map())


@case("the body's namespace must be the path's")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a", namespace="default"))


@case("another uid is a conflict")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a", uid="11111111-2222-3333-4444-555555555555"))
    api.update("configmaps", "a", config_map("a", data={"k": "1"}, uid=made.uid))


@case("uid, time and generation of the body are not taken")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.update("deployments", "a", deployment("a", creationTimestamp="2001-02-03T04:05:06Z", generation=9))
    api.update("deployments", "a", deployment("a", deletionTimestamp="2001-02-03T04:05:06Z"))


@case("generation goes up with the spec, and not with labels")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.update("deployments", "a", deployment("a", replicas=3))
    api.update("deployments", "a", deployment("a", replicas=3, labels={"l": "1"}))
    api.update("deployments", "a", deployment("a", replicas=3, annotations={"l": "1"}))
    api.update("deployments", "a", deployment("a", replicas=4, labels={"l": "2"}))


@case("an update keeps the status that is there")
def _(api: Api) -> None:
    made = api.create("deployments", deployment("a"))
    api.update(
        "deployments",
        "a/status",
        {**made.body, "status": {"replicas": 2}},
    )
    api.update("deployments", "a", {**deployment("a", replicas=2), "status": {"replicas": 7}})
    api.update("deployments", "a", deployment("a", replicas=3))


@case("a selector is immutable")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    other = deployment("a")
    other["spec"]["selector"] = {"matchLabels": {"app": "b"}}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "b"}
    api.update("deployments", "a", other)


@case("a pod's spec can hardly be changed")
def _(api: Api) -> None:
    made = api.create("pods", pod("a"))
    spec = made.body.get("spec", {})
    containers = [{**each, "image": "other"} for each in spec.get("containers", [])]
    api.update(
        "pods",
        "a",
        {**made.body, "spec": {**spec, "containers": containers}},
    )
    api.update("pods", "a", {**pod("a"), "spec": {**spec, "hostNetwork": True}})


@case("a job's template is immutable")
def _(api: Api) -> None:
    made = api.create("jobs", job("a"))
    spec = made.body.get("spec", {})
    api.update("jobs", "a", {**made.body, "spec": {**spec, "parallelism": 3}})
    api.update("jobs", "a", {**job("a"), "spec": {**spec, "completions": 5}})


@case("an immutable config map stays as it is")
def _(api: Api) -> None:
    fixed = {**config_map("a", data={"k": "1"}), "immutable": True}
    api.create("configmaps", fixed)
    api.update("configmaps", "a", {**fixed, "data": {"k": "2"}})
    api.update("configmaps", "a", config_map("a", data={"k": "1"}))
    api.update("configmaps", "a", {**fixed, "metadata": {"name": "a", "labels": {"may": "change"}}})


@case("a secret's type is immutable")
def _(api: Api) -> None:
    api.create("secrets", named("v1", "Secret", "a", stringData={"k": "v"}))
    api.update("secrets", "a", named("v1", "Secret", "a", type="other", data={"k": "dg=="}))
    api.update("secrets", "a", named("v1", "Secret", "a", stringData={"k2": "v"}))


@case("a role binding's role is immutable")
def _(api: Api) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"}
    binding = named("rbac.authorization.k8s.io/v1", "RoleBinding", "a", roleRef=role, subjects=[])
    api.create("rolebindings", binding)
    api.update("rolebindings", "a", {**binding, "roleRef": {**role, "name": "two"}})


@case("a service keeps its address")
def _(api: Api) -> None:
    api.create("services", service("a"))
    api.update("services", "a", service("a", spec={"ports": [{"port": 81}]}))
    api.update("services", "a", service("a", spec={"clusterIP": "None"}))


@case("an update of a kind in another of its versions")
def _(api: Api) -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}, "maxReplicas": 3}
    api.create("horizontalpodautoscalers", named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec))
    old = "autoscaling/v1/horizontalpodautoscalers"
    spec = {**spec, "targetCPUUtilizationPercentage": 55}
    api.update(old, "a", named("autoscaling/v1", "HorizontalPodAutoscaler", "a", spec=spec))
    api.get("horizontalpodautoscalers", "a")


@case("update of a collection is not allowed")
def _(api: Api) -> None:
    api.request("PUT", api.path("configmaps"), config_map("a"))


def _event(api: Api) -> dict[str, object]:
    involved = {"kind": "Pod", "name": "a", "namespace": api.namespace}
    return named("v1", "Event", "a", involvedObject=involved, reason="Tested", message="words", type="Normal")
