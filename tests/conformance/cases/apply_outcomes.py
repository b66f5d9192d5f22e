"""Server-side apply: conflicts, subresources, and where nothing can be applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Outcomes of apply")

APPLY = "application/apply-patch+yaml"
CBOR = "application/apply-patch+cbor"


@case("one conflict")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"one": "1", "two": "2"}))
    api.apply("configmaps", "a", config_map("a", data={"one": "2"}), "two")
    api.apply("configmaps", "a", config_map("a", data={"one": "1"}), "two")
    api.apply("configmaps", "a", config_map("a", data={"one": "3"}), "three")
    api.apply("configmaps", "a", config_map("a", data={"one": "3"}), "three", force=True)
    api.apply("configmaps", "a", config_map("a", data={"one": "1", "two": "2"}))
    api.apply("configmaps", "a", config_map("a", data={"two": "2"}))


@case("several conflicts, with several managers")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a", replicas=1, labels={"a": "1", "b": "1"}), "one")
    extra = {"name": "extra", "image": "image"}
    two = {
        **named("apps/v1", "Deployment", "a"),
        "spec": {"paused": True, "template": {"spec": {"containers": [extra]}}},
    }
    api.apply("deployments", "a", two, "manager two")
    api.patch("deployments", "a", {"spec": {"minReadySeconds": 5}}, by="merge", fieldManager='three "quoted"')
    api.patch("deployments", "a", {"spec": {"progressDeadlineSeconds": 50}}, by="merge", fieldManager="four")
    four = deployment("a", replicas=2, labels={"a": "2", "b": "2"})
    four["spec"] |= {"paused": False, "minReadySeconds": 6, "progressDeadlineSeconds": 60}
    four["spec"]["template"]["spec"]["containers"] = [
        {"name": "main", "image": "other"},
        {"name": "extra", "image": "other"},
    ]
    api.apply("deployments", "a", four, "four")
    api.apply("deployments", "a", four, "five")
    api.apply("deployments", "a", four, "five", force=True)


@case("a conflict with an update of a subresource")
def _(api: Api) -> None:
    made = api.create("deployments", deployment("a", replicas=1))
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a", "namespace": api.namespace},
        "spec": {"replicas": 3},
    }
    api.update("deployments", "a/scale", scale)
    api.apply("deployments", "a", deployment("a", replicas=1))
    status = {**made.body, "status": {"observedGeneration": 1, "replicas": 1}}
    status["metadata"] = {"name": "a"}
    api.update("deployments", "a/status", status)
    head = named("apps/v1", "Deployment", "a")
    api.apply("deployments", "a/status", {**head, "status": {"replicas": 2, "observedGeneration": 1}})
    api.apply("deployments", "a/status", {**head, "status": {"replicas": 1, "observedGeneration": 1}})


@case("the status is applied by its subresource")
def _(api: Api) -> None:
    head = named("apps/v1", "Deployment", "a")
    api.apply("deployments", "a/status", {**head, "status": {"replicas": 1}})
    api.apply("deployments", "a", {**deployment("a"), "status": {"replicas": 1}})
    api.apply("deployments", "a/status", {**deployment("a", replicas=5), "status": {"replicas": 1}}, "two")
    conditions = [{"type": "Available", "status": "True"}]
    api.apply("deployments", "a/status", {**head, "status": {"conditions": conditions}}, "two")
    api.apply("deployments", "a/status", {**head, "status": {"conditions": conditions * 2}}, "two")
    api.apply("deployments", "a/status", {**head, "status": {"unknown": 1}}, "two")
    api.apply("deployments", "a/status", head, "two")


@case("the scale is applied by its subresource")
def _(api: Api) -> None:
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a"},
        "spec": {"replicas": 3},
    }
    api.apply("deployments", "a/scale", scale)
    api.apply("deployments", "a", deployment("a", replicas=1))
    api.apply("deployments", "a/scale", scale)
    api.apply("deployments", "a/scale", scale, "two")
    api.apply("deployments", "a/scale", scale, "two", force=True)
    api.get("deployments", "a")
    api.apply("deployments", "a/scale", {**scale, "spec": {"replicas": -1}}, "two")
    api.apply("deployments", "a/scale", {**scale, "unknown": 1}, "two")
    api.apply("deployments", "a/scale", {**scale, "apiVersion": "apps/v1"}, "two")
    api.apply("deployments", "a/scale", {**scale, "kind": "Deployment"}, "two")
    api.apply("deployments", "a/scale", {**scale, "metadata": {"name": "b"}}, "two")
    api.apply("deployments", "a/scale", {**scale, "metadata": {}}, "two")
    api.apply("deployments", "a/scale", {**scale, "spec": {}}, "two")
    api.get("deployments", "a")


@case("containers for debugging are applied by their subresource")
def _(api: Api) -> None:
    debug = {"name": "debug", "image": "debug", "targetContainerName": "main"}
    head = named("v1", "Pod", "a")
    api.apply("pods", "a", {**pod("a"), "spec": {**pod("a")["spec"], "ephemeralContainers": [debug]}})
    api.apply("pods", "a/ephemeralcontainers", {**head, "spec": {"ephemeralContainers": [debug]}})
    api.apply("pods", "a", pod("a"))
    api.apply("pods", "a/ephemeralcontainers", {**head, "spec": {"ephemeralContainers": [debug]}})
    api.apply("pods", "a/ephemeralcontainers", {**pod("a", labels={"a": "b"}), "status": {"phase": "Failed"}}, "two")
    api.apply("pods", "a/ephemeralcontainers", head)


@case("resources are applied by their subresource")
def _(api: Api) -> None:
    requests = {"requests": {"cpu": "2"}}
    api.apply("pods", "a", pod("a", spec={"containers": [{"name": "main", "image": "a", "resources": requests}]}))
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    api.apply("pods", "a/resize", {**named("v1", "Pod", "a"), "spec": {"containers": [container]}})
    api.apply("pods", "a/resize", {**named("v1", "Pod", "a"), "spec": {"containers": [container]}}, "two")


@case("nothing is applied where nothing can be patched")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    for sub in ("binding", "eviction", "log", "exec"):
        api.apply("pods", f"a/{sub}", pod("a"))
    api.apply("configmaps", "a/status", config_map("a"))
    api.request(
        "PATCH",
        f"/api/v1/namespaces/{api.namespace}/bindings/a",
        named("v1", "Binding", "a"),
        query={"fieldManager": "one"},
        headers={"Content-Type": APPLY},
    )
    api.request(
        "PATCH",
        f"/api/v1/namespaces/{api.namespace}/configmaps",
        config_map("a"),
        query={"fieldManager": "one"},
        headers={"Content-Type": APPLY},
    )
    api.request(
        "PATCH",
        "/apis/authentication.k8s.io/v1/tokenreviews/a",
        {},
        query={"fieldManager": "one"},
        headers={"Content-Type": APPLY},
    )


@case("a namespace must be there")
def _(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}-no/configmaps/a"
    query = {"fieldManager": "one"}
    api.request("PATCH", path, config_map("a"), query=query, headers={"Content-Type": APPLY})
    api.request("PATCH", path, config_map("a", labels={"a b": "c"}), query=query, headers={"Content-Type": APPLY})
    api.request("PATCH", path, {**config_map("a"), "x": 1}, query=query, headers={"Content-Type": APPLY})
    api.request(
        "PATCH",
        "/api/v1/configmaps/a",
        config_map("a"),
        query=query,
        headers={"Content-Type": APPLY},
    )


@case("a namespace that is going takes nothing new")
def _(api: Api) -> None:
    other = f"{api.namespace}-going"
    api.apply("namespaces", other, {**named("v1", "Namespace", other), "spec": {"finalizers": ["kubernetes"]}})
    api.request("POST", f"/api/v1/namespaces/{other}/configmaps", config_map("b"))
    api.delete("namespaces", other)
    query, headers = {"fieldManager": "one"}, {"Content-Type": APPLY}
    path = f"/api/v1/namespaces/{other}/configmaps"
    api.request("PATCH", f"{path}/a", config_map("a"), query=query, headers=headers)
    api.request("PATCH", f"{path}/b", config_map("b", data={"a": "b"}), query=query, headers=headers)


@case("an object that is going can be applied")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", finalizers=["a/b"]))
    api.delete("configmaps", "a")
    api.apply("configmaps", "a", config_map("a", finalizers=["a/b", "a/c"], data={"one": "1"}))
    api.apply("configmaps", "a", config_map("a", finalizers=["a/b"], data={"one": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"one": "2"}))
    api.get("configmaps", "a")


@case("media types of apply")
def _(api: Api) -> None:
    for media in (
        CBOR,
        f"{APPLY}; charset=utf-8",
        f"{APPLY};charset=utf-8",
        f"{APPLY} ; a=b",
        "application/Apply-Patch+YAML",
        "application/apply-patch+json",
        "application/apply-patch",
        "application/apply-patch+yaml, application/json",
        "application/yaml",
        "application/json",
    ):
        api.patch("configmaps", "a", config_map("a"), by=media, fieldManager="one")


@case("an immutable object takes what does not change it")
def _(api: Api) -> None:
    found = {**config_map("a", data={"one": "1"}), "immutable": True}
    api.apply("configmaps", "a", found)
    api.apply("configmaps", "a", found, "two")
    api.apply("configmaps", "a", {**config_map("a", data={"one": "2"}), "immutable": True})
    api.apply("configmaps", "a", config_map("a"))


@case("base64 text of secrets")
def _(api: Api) -> None:
    head = named("v1", "Secret", "a")
    api.apply("secrets", "a", {**head, "data": {"one": "MQ=="}, "stringData": {"two": "2"}})
    api.apply("secrets", "a", {**head, "data": {"one": "MQ=="}, "stringData": {"two": "2"}})
    api.apply("secrets", "a", {**head, "data": {"one": "?"}})
    api.apply("secrets", "a", {**head, "data": {"one": 1}})
    api.apply("secrets", "a", {**head, "stringData": {"two": "3"}})


@case("a configuration in another version of the kind")
def _(api: Api) -> None:
    def of(version: str, **spec: object) -> dict[str, object]:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
        return {
            **named(f"autoscaling/{version}", "HorizontalPodAutoscaler", "a"),
            "spec": {"scaleTargetRef": target, "maxReplicas": 5, **spec},
        }

    one, two = "autoscaling/v1/horizontalpodautoscalers", "autoscaling/v2/horizontalpodautoscalers"
    api.apply(two, "a", of("v1"))
    api.apply(one, "a", of("v1", targetCPUUtilizationPercentage=50))
    api.apply(two, "a", of("v2", minReplicas=2), "two")
    api.apply(two, "a", of("v2"))
    api.apply(one, "a", of("v1", targetCPUUtilizationPercentage=60), "three")
    api.get(one, "a")


@case("kubectl takes over what it applied by itself")
def _(api: Api) -> None:
    import json

    annotation = "kubectl.kubernetes.io/last-applied-configuration"

    def of(last: str, **data: str) -> dict[str, object]:
        return config_map("a", annotations={annotation: last}, data=data)

    last = json.dumps({**config_map("a", data={"one": "1", "two": "2"})})
    api.create("configmaps", of(last, one="1", two="2", three="3"), fieldManager="kubectl-client-side-apply")
    api.apply("configmaps", "a", config_map("a", data={"one": "9"}), "other")
    api.apply("configmaps", "a", config_map("a", data={"one": "9", "three": "9"}), "kubectl")
    api.apply("configmaps", "a", config_map("a", data={"one": "9"}), "kubectl")
    api.apply("configmaps", "a", config_map("a", data={"one": "8", "two": "8"}), "kubectl")


@case("kubectl finds conflicts with what others changed since")
def _(api: Api) -> None:
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    for last in (
        "{",
        "[]",
        '{"apiVersion":"v2","kind":"ConfigMap","data":{"one":"1"}}',
        '{"apiVersion":"v1"}',
        "",
    ):
        api.create("configmaps", config_map("a", annotations={annotation: last}, data={"one": "1"}))
        api.apply("configmaps", "a", config_map("a", data={"one": "2"}), "kubectl")
        api.delete("configmaps", "a")
