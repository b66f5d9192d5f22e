"""Managed fields: the entries that every verb writes, and how they change hands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.conformance.api import PATCH_TYPES
from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Managed fields")


def quietly_patch(api: Api, resource: str, patch: Plain, manager: str, *, by: str = "merge") -> None:
    """Patch the object `a` as a manager, without a record of it."""
    path = f"{api.path(resource, 'a')}?fieldManager={manager}"
    status, found = api.quietly("PATCH", path, patch, Content_Type=PATCH_TYPES[by])
    if status >= 400:
        raise RuntimeError(f"the patch was refused: {found}")


@case("a create, an update and patches of all types by one manager make one entry")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    api.update("configmaps", "a", config_map("a", data={"k": "2", "l": "1"}))
    api.patch("configmaps", "a", {"data": {"m": "1"}})
    api.patch("configmaps", "a", [{"op": "add", "path": "/data/n", "value": "1"}], by="json")
    api.patch("configmaps", "a", {"data": {"o": "1"}}, by="strategic")


@case("a create, an update and patches by several managers")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.update("configmaps", "a", config_map("a", data={"k": "1", "l": "1"}), fieldManager="two")
    api.patch("configmaps", "a", {"data": {"m": "1"}}, fieldManager="three")
    api.patch("configmaps", "a", {"metadata": {"labels": {"l": "1"}}}, by="strategic", fieldManager="four")


@case("the manager is the user agent up to the first slash")
def _(api: Api) -> None:
    path = api.path("configmaps", "a")
    api.create("configmaps", config_map("a", data={"k": "1"}))
    agents = ("kubectl/v1.36 (linux/amd64) x", "/x", "plain", "two words/1", "a//b", " led", "x" * 200, "é/1")
    for number, agent in enumerate(agents):
        headers = {
            "User-Agent": agent.encode().decode("latin-1"),
            "Content-Type": "application/merge-patch+json",
        }
        api.request("PATCH", path, {"data": {f"k{number}": "1"}}, headers=headers)


@case("a client without a user agent")
def _(api: Api) -> None:
    path = api.path("configmaps")
    api.request("POST", path, config_map("a", data={"k": "1"}), headers={"User-Agent": ""})
    api.request("PUT", f"{path}/a", config_map("a", data={"k": "2"}), headers={"User-Agent": ""})


@case("a named manager goes before the user agent")
def _(api: Api) -> None:
    headers = {"User-Agent": "agent/1"}
    path = api.path("configmaps")
    api.request("POST", path, config_map("a", data={"k": "1"}), query={"fieldManager": "named"}, headers=headers)
    api.request("PUT", f"{path}/a", config_map("a", data={"k": "2"}), query={"fieldManager": ""}, headers=headers)


@case("a field that an update changes goes to its manager")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1", "l": "1"}), fieldManager="one")
    api.patch("configmaps", "a", {"data": {"k": "2"}}, fieldManager="two")
    api.patch("configmaps", "a", {"data": {"l": "2"}}, fieldManager="two")


@case("a field that an update leaves alone stays with its manager")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.update("configmaps", "a", config_map("a", data={"k": "1", "l": "1"}), fieldManager="two")
    api.update("configmaps", "a", config_map("a", data={"k": "1", "l": "1"}), fieldManager="three")


@case("a field that is removed is no one's, and an entry that becomes empty goes")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.patch("configmaps", "a", {"data": {"l": "1"}}, fieldManager="two")
    api.patch("configmaps", "a", {"data": {"l": None}}, fieldManager="three")
    api.patch("configmaps", "a", {"data": None}, fieldManager="three")


@case("a field that is removed and set again belongs to who set it")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1", "l": "1"}), fieldManager="one")
    api.patch("configmaps", "a", {"data": {"k": None}}, fieldManager="two")
    api.patch("configmaps", "a", {"data": {"k": "1"}}, fieldManager="two")


@case("an object without managed fields stays so by updates")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"), fieldManager="one")
    api.patch("configmaps", "a", {"data": {"k": "1"}}, fieldManager="two")
    api.update("configmaps", "a", config_map("a", data={"k": "2"}), fieldManager="three")
    api.apply("configmaps", "a", config_map("a", labels={"l": "1"}), "four")
    api.patch("configmaps", "a", {"data": {"k": "3"}}, fieldManager="two")


@case("a write that changes nothing leaves version, time and managers")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.update("configmaps", "a", config_map("a", data={"k": "1"}), fieldManager="two")
    api.patch("configmaps", "a", {"data": {"k": "1"}}, fieldManager="two")
    api.patch("configmaps", "a", [], by="json", fieldManager="two")
    api.patch("configmaps", "a", {}, by="strategic", fieldManager="two")
    api.apply("configmaps", "a", config_map("a"), "two")
    api.get("configmaps", "a")


@case("values that mean the same do not change hands")
def _(api: Api) -> None:
    resources: Plain = {"requests": {"cpu": "1000m"}}
    containers = [{"name": "main", "image": "image", "resources": resources}]
    api.create("pods", pod("a", spec={"containers": containers}), fieldManager="one")
    found = api.get("pods", "a").body
    api.update("pods", "a", found, fieldManager="two")


@case("the eleventh updater and the entry of ancient changes")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k00": "1"}), fieldManager="m00")
    for number in range(1, 9):
        quietly_patch(api, "configmaps", {"data": {f"k{number:02}": "1"}}, f"m{number:02}")
    for number in range(9, 13):
        api.patch("configmaps", "a", {"data": {f"k{number:02}": "1"}}, fieldManager=f"m{number:02}")


@case("ancient changes are merged by version")
def _(api: Api) -> None:
    old, new = "autoscaling/v1/horizontalpodautoscalers", "autoscaling/v2/horizontalpodautoscalers"
    target = {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3}
    api.create(old, named("autoscaling/v1", "HorizontalPodAutoscaler", "a", spec=spec), fieldManager="m00")
    for number in range(1, 10):
        labels = {"metadata": {"labels": {f"l{number:02}": "1"}}}
        quietly_patch(api, new if number % 2 else old, labels, f"m{number:02}")
    for number in range(10, 14):
        labels = {"metadata": {"labels": {f"l{number:02}": "1"}}}
        api.patch(new if number % 2 else old, "a", labels, fieldManager=f"m{number:02}")


@case("appliers are not capped")
def _(api: Api) -> None:
    for number in range(13):
        body = config_map("a", data={f"k{number:02}": "1"})
        quietly_patch(api, "configmaps", body, f"m{number:02}", by="apply")
    for number in range(3):
        api.patch("configmaps", "a", {"data": {f"u{number}": "1"}}, fieldManager=f"u{number}")


@case("an updater that writes again when there are many")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k0": "1"}), fieldManager="m0")
    for number in range(1, 10):
        quietly_patch(api, "configmaps", {"data": {f"k{number}": "1"}}, f"m{number}")
    api.patch("configmaps", "a", {"data": {"k0": "2"}}, fieldManager="m0")
    api.patch("configmaps", "a", {"data": {"x": "1"}}, fieldManager="ancient-changes")


@case("an apply of ten updaters' fields")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k0": "1"}), fieldManager="m0")
    for number in range(1, 12):
        quietly_patch(api, "configmaps", {"data": {f"k{number}": "1"}}, f"m{number:02}")
    api.apply("configmaps", "a", config_map("a", data={"k0": "2"}))
    api.apply("configmaps", "a", config_map("a", data={"k0": "2"}), force="true")


@case("labels, annotations and what else stands in the metadata")
def _(api: Api) -> None:
    owner = api.create("configmaps", config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
    body = config_map(generateName="a-", labels={"l": "1"}, annotations={"a": "1"}, finalizers=["example.com/a"])
    body["metadata"]["ownerReferences"] = [reference]
    made = api.create("configmaps", body)
    patch = {"metadata": {"finalizers": ["example.com/b", "example.com/a"], "ownerReferences": None}}
    api.patch("configmaps", made.name, patch, fieldManager="two")


@case("defaults belong to who creates the object")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    api.create("services", service("a"))
    api.patch("services", "a", {"spec": {"type": "NodePort"}}, fieldManager="two")


@case("a template's list items")
def _(api: Api) -> None:
    made = deployment("a")
    api.create("deployments", made, fieldManager="one")
    containers = [{"name": "main", "image": "new"}, {"name": "log", "image": "log", "args": ["a"]}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    api.patch("deployments", "a", patch, by="strategic", fieldManager="two")
    patch = {"spec": {"template": {"spec": {"containers": containers[:1]}}}}
    api.patch("deployments", "a", patch, fieldManager="three")


@case("a list whose order alone changes")
def _(api: Api) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    made = deployment("a")
    made["spec"]["template"]["spec"]["containers"][0]["env"] = env
    api.create("deployments", made, fieldManager="one")
    made["spec"]["template"]["spec"]["containers"][0]["env"] = env[::-1]
    api.update("deployments", "a", made, fieldManager="two")
    finalizers = ["example.com/a", "example.com/b"]
    api.create("configmaps", config_map("a", finalizers=finalizers), fieldManager="one")
    api.update("configmaps", "a", config_map("a", finalizers=finalizers[::-1]), fieldManager="two")


@case("a list with an item twice")
def _(api: Api) -> None:
    made = deployment("a")
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B", "value": "1"}]
    api.create("deployments", made, fieldManager="one")
    container["env"] = [{"name": "A", "value": "2"}, {"name": "B", "value": "1"}]
    api.update("deployments", "a", made, fieldManager="two")


@case("maps and lists that are empty")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={}, labels={}, annotations={}, finalizers=[]))
    volumes = [{"name": "v", "emptyDir": {}}]
    api.create("pods", pod("a", spec={"volumes": volumes, "securityContext": {}, "tolerations": []}))
    rules: Plain = {"podSelector": {}, "ingress": [{}]}
    api.create("networkpolicies", named("networking.k8s.io/v1", "NetworkPolicy", "a", spec=rules))


@case("a dry run shows the entries that would be")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), dryRun="All", fieldManager="dry")
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.patch("configmaps", "a", {"data": {"k": "2"}}, dryRun="All", fieldManager="dry")
    api.get("configmaps", "a")


@case("a deletion that waits for finalizers leaves the managers")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/a"]), fieldManager="one")
    api.delete("configmaps", "a")
    api.patch("configmaps", "a", {"metadata": {"finalizers": None}}, fieldManager="two")


@case("a deletion that adds a finalizer")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.delete("configmaps", "a", propagationPolicy="Foreground")
    api.get("configmaps", "a")
    api.patch("configmaps", "a", {"metadata": {"finalizers": None}}, fieldManager="two")


@case("an update that creates")
def _(api: Api) -> None:
    lease = named("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me"})
    made = api.update("leases", "a", lease, fieldManager="one")
    api.update("leases", "a", {**made.body, "spec": {"holderIdentity": "you"}}, fieldManager="two")


@case("the order of the fields in an entry")
def _(api: Api) -> None:
    body = service(
        "a", spec={"ports": [{"name": "b", "port": 443}, {"name": "a", "port": 80}, {"name": "c", "port": 9}]}
    )
    body["metadata"]["labels"] = {"b": "1", "a": "1", "B": "1", "a.b": "1", "a-b": "1"}
    body["metadata"]["finalizers"] = ["example.com/z", "example.com/a"]
    api.request(
        "POST",
        api.path("services"),
        body,
        pick=lambda made: json.dumps([entry["fieldsV1"] for entry in made["metadata"]["managedFields"]]),
    )


@case("lists, watches and tables show managed fields")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    api.list("configmaps")
    api.watch("configmaps", events=1)
    for form in ("Table", "PartialObjectMetadataList"):
        headers = {"Accept": f"application/json;as={form};g=meta.k8s.io;v=v1"}
        api.request("GET", api.path("configmaps"), headers=headers)


@case("what the server makes of itself")
def _(api: Api) -> None:
    rbac, flow = "/apis/rbac.authorization.k8s.io/v1", "/apis/flowcontrol.apiserver.k8s.io/v1"
    for path in (
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/kube-system",
        "/api/v1/namespaces/default/services/kubernetes",
        f"{rbac}/clusterroles/cluster-admin",
        f"{rbac}/clusterroles/system:basic-user",
        f"{rbac}/clusterroles/system:controller:job-controller",
        f"{rbac}/clusterrolebindings/cluster-admin",
        f"{rbac}/namespaces/kube-system/roles/system:controller:token-cleaner",
        f"{rbac}/namespaces/kube-system/rolebindings/system:controller:token-cleaner",
        f"{flow}/flowschemas/exempt",
        f"{flow}/flowschemas/probes",
        f"{flow}/prioritylevelconfigurations/workload-low",
        "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
        "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
    ):
        api.request("GET", path, pick=_owned)


def _owned(found: Plain) -> Plain:
    """What its managers own: the objects themselves are compared by other cases."""
    return {"metadata": {"managedFields": found["metadata"].get("managedFields")}}


@case("a namespace and a service account")
def _(api: Api) -> None:
    api.get("namespaces", api.namespace)
    api.create("serviceaccounts", named("v1", "ServiceAccount", "a"))
    api.create("namespaces", named("v1", "Namespace", f"{api.namespace}-b"), fieldManager="one")
    api.patch("namespaces", f"{api.namespace}-b", {"metadata": {"labels": {"l": "1"}}}, fieldManager="two")
