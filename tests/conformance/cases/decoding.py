"""Values that do not fit the fields of built-in kinds, and what becomes of those that do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod, pod_spec, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Decoding")

WRONG: tuple[object, ...] = ("text", 7, 1.5, True, [], {}, ["text"], [{}], {"key": "text"})


def container(**fields: object) -> Plain:
    return pod("a", spec={"containers": [{"name": "main", "image": "image", **fields}]})


def pod_with(**fields: object) -> Plain:
    return {**pod("a"), "spec": {**pod_spec(), **fields}}


def send_each(api: Api, resource: str, make: Any, values: tuple[object, ...] = WRONG) -> None:
    for value in values:
        api.create(resource, make(value), dryRun="All")


@case("a string of a named type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(restartPolicy=value))


@case("a pointer to a string of a named type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(preemptionPolicy=value))


@case("a protocol, a scheme and a pull policy that are no strings")
def _(api: Api) -> None:
    api.create("pods", container(ports=[{"containerPort": 1, "protocol": 6}]))
    api.create("pods", container(livenessProbe={"httpGet": {"port": 1, "scheme": True}}))
    api.create("pods", container(imagePullPolicy=["Always"]))
    api.create("services", service("a", spec={"ports": [{"port": 80, "protocol": {}}]}))
    api.create("services", service("a", spec={"type": 1, "sessionAffinity": 2}))


@case("a string of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(nodeName=value))


@case("a boolean of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(hostNetwork=value))


@case("a pointer to a boolean of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(enableServiceLinks=value))


@case("an integer of 32 bits of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(priority=value), (*WRONG, 2**31, -(2**31), -(2**31) - 1, 2**63))


@case("an integer of 64 bits of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(activeDeadlineSeconds=value), (*WRONG, 2**31, 2**63, -1.25))


@case("integers that are written as other numbers")
def _(api: Api) -> None:
    body = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"priority": %s}}'
    for number in ("1.0", "1e3", "1E3", "-0", "0.5", "99999999999999999999"):
        api.create("pods", body % number)


@case("a struct of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(securityContext=value))
    send_each(api, "deployments", lambda value: {**deployment("a"), "spec": value})
    send_each(api, "configmaps", lambda value: {**config_map("a"), "metadata": value})


@case("a list of structs of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(containers=value))
    send_each(api, "pods", lambda value: pod_with(tolerations=value))


@case("a list of strings of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: container(args=value))


@case("lists of named strings and of integers that are none")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: container(securityContext={"capabilities": {"add": value}}))
    send_each(api, "pods", lambda value: pod_with(securityContext={"supplementalGroups": value}))
    api.create("pods", pod_with(securityContext={"supplementalGroups": [1.5]}))


@case("a map of strings of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: pod_with(nodeSelector=value))
    send_each(api, "configmaps", lambda value: {**config_map("a"), "data": {"key": value}})


@case("labels and annotations that are no maps of strings")
def _(api: Api) -> None:
    send_each(api, "configmaps", lambda value: config_map("a", labels=value))
    send_each(api, "configmaps", lambda value: config_map("a", annotations={"key": value}))


@case("a list of resources of the wrong type")
def _(api: Api) -> None:
    send_each(api, "pods", lambda value: container(resources={"limits": value}))
    send_each(api, "resourcequotas", lambda value: named("v1", "ResourceQuota", "a", spec={"hard": value}), WRONG)


@case("quantities that are none")
def _(api: Api) -> None:
    values: tuple[object, ...] = (
        "",
        " ",
        "x",
        "1x",
        "1ki",
        "1 Gi",
        "1.2.3",
        "0x1",
        "--1",
        "1e",
        "Mi",
        "-",
        True,
        [],
        {},
        [1],
    )
    send_each(api, "pods", lambda value: container(resources={"limits": {"cpu": value}}), values)


@case("quantities in all their forms")
def _(api: Api) -> None:
    values: tuple[object, ...] = (
        0,
        1,
        1.5,
        "0",
        "1.",
        ".5",
        "+1",
        " 1 ",
        "1k",
        "1024Ki",
        "1e3",
        "1E3",
        "1000m",
        "0.0001",
        "1Ei",
        "1.500",
        "0.500",
        "+5Ki",
        "8Ki",
        "1024",
        "100000",
        "-1.5",
        "007",
        "1e-3",
        "2E",
    )
    for value in values:
        api.create(
            "limitranges",
            named("v1", "LimitRange", "a", spec={"limits": [{"type": "Pod", "max": {"cpu": value}}]}),
            dryRun="All",
        )


@case("integers that may be strings")
def _(api: Api) -> None:
    values: tuple[object, ...] = (*WRONG, 2**31, "80", "name")
    send_each(
        api,
        "services",
        lambda value: service("a", spec={"ports": [{"port": 80, "targetPort": value}]}),
        values,
    )
    send_each(
        api,
        "deployments",
        lambda value: {
            **deployment("a"),
            "spec": {**deployment()["spec"], "strategy": {"rollingUpdate": {"maxSurge": value}}},
        },
        values,
    )


@case("times that are none")
def _(api: Api) -> None:
    values: tuple[object, ...] = (
        *WRONG,
        "",
        "2001",
        "2001-1-01T00:00:00Z",
        "2001-13-01T00:00:00Z",
        "2001-02-30T00:00:00Z",
        "2001-01-01 00:00:00Z",
        "2001-01-01T24:00:00Z",
        "2001-01-01T00:60:00Z",
        "2001-01-01T00:00:61Z",
        "2001-01-01T00:00:00",
        "2001-01-01T00:00:00z",
        "2001-01-01T00:00:00+0100",
        "2001-01-01T00:00:00+25:00",
        "2001-01-01T00:00:00Z more",
        '2001-01-01"T00:00:00Z',
        "2001-01-01T00:00:00Zé",
    )
    send_each(api, "pods", lambda value: {**pod("a"), "status": {"startTime": value}}, values)


@case("times in all their forms")
def _(api: Api) -> None:
    values: tuple[object, ...] = (
        "2001-01-01T00:00:00Z",
        "2001-01-01T1:00:00Z",
        "2001-01-01T00:00:00.5Z",
        "2001-01-01T00:00:00,999999999Z",
        "2001-01-01T23:30:00-01:30",
        "0001-01-01T00:00:00Z",
        None,
    )
    for number, value in enumerate(values):
        name = f"{api.namespace}-{number}"
        taints = [{"key": "example.com/key", "effect": "NoExecute", "timeAdded": value}]
        api.create("nodes", named("v1", "Node", name, spec={"taints": taints}), dryRun="All")


@case("times with a fraction that are none")
def _(api: Api) -> None:
    values: tuple[object, ...] = (
        7,
        "",
        "2001-01-01T00:00:00Z",
        "2001-01-01T00:00:00.5Z",
        "2001-01-01T00:00:00.1234567Z",
    )
    send_each(
        api,
        "leases",
        lambda value: named("coordination.k8s.io/v1", "Lease", "a", spec={"renewTime": value}),
        (*values, "2001-01-01T00:00:00.123456+01:00", "2001-01-01T00:00:00,123456Z"),
    )


@case("bytes that are none")
def _(api: Api) -> None:
    values: tuple[object, ...] = (
        "a",
        "aa",
        "aaa",
        "a===",
        "aa=",
        "aa=a",
        "aa==a",
        "a b=",
        "****",
        "aaa\n",
        7,
        True,
        {},
        [256],
    )
    send_each(api, "secrets", lambda value: named("v1", "Secret", "a", data={"key": value}), values)


@case("bytes in all their forms")
def _(api: Api) -> None:
    for value in ("", "YQ==", "YR==", "Y\nQ==", [], [97, 98], [None]):
        api.create("secrets", named("v1", "Secret", "a", data={"key": value}), dryRun="All")


@case("a mismatch in an embedded struct")
def _(api: Api) -> None:
    api.create("pods", pod_with(volumes=[{"name": "a", "configMap": {"name": 7}}]))
    api.create("pods", pod_with(volumes=[{"name": "a", "emptyDir": []}]))
    api.create("pods", pod_with(volumes=[{"name": "a", "hostPath": {"type": 1}}]))
    api.create("pods", container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": True}}}]))
    api.create("pods", container(readinessProbe={"exec": []}))
    api.create("pods", pod_with(ephemeralContainers=[{"name": "a", "image": 1}]))
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": {"path": 1}}
    api.create("persistentvolumes", named("v1", "PersistentVolume", f"{api.namespace}-a", spec=spec))


@case("a mismatch in the template of a claim")
def _(api: Api) -> None:
    body = deployment("a")
    body["kind"] = "StatefulSet"
    claims: list[Plain] = [
        {"kind": 1},
        {"apiVersion": []},
        {"metadata": {"name": 1}},
        {"spec": {"accessModes": "x"}},
    ]
    for claim in claims:
        body["spec"]["volumeClaimTemplates"] = [claim]
        api.create("statefulsets", body)


@case("of several mismatches the first is reported")
def _(api: Api) -> None:
    api.create("pods", pod_with(hostPID=1, hostNetwork=2, nodeName=3))
    api.create("pods", {**pod("a"), "spec": {"nodeName": 3, "hostPID": 1}, "status": 7})
    api.create("pods", {**pod("a"), "status": 7, "spec": 8})


@case("a type with a decoder of its own stops at its error")
def _(api: Api) -> None:
    api.create("pods", pod_with(hostPID=1, overhead={"cpu": "x"}, hostNetwork=2))
    api.create("pods", {**pod("a"), "spec": {"hostPID": 1}, "status": {"startTime": "x"}})
    api.create("services", service("a", spec={"ports": [{"port": "x", "targetPort": True}]}))


@case("mismatches of several kinds")
def _(api: Api) -> None:
    api.create("jobs", named("batch/v1", "Job", "a", spec={"completionMode": 1}))
    api.create("cronjobs", named("batch/v1", "CronJob", "a", spec={"concurrencyPolicy": 1}))
    api.create("ingresses", named("networking.k8s.io/v1", "Ingress", "a", spec={"rules": [{"http": []}]}))
    api.create("networkpolicies", named("networking.k8s.io/v1", "NetworkPolicy", "a", spec={"policyTypes": [1]}))
    api.create("roles", named("rbac.authorization.k8s.io/v1", "Role", "a", rules=[{"verbs": "get"}]))
    api.create("storageclasses", named("storage.k8s.io/v1", "StorageClass", "a", reclaimPolicy=1))
    api.create("poddisruptionbudgets", named("policy/v1", "PodDisruptionBudget", "a", spec={"minAvailable": []}))
    api.create("priorityclasses", named("scheduling.k8s.io/v1", "PriorityClass", "a", value="x"))
    metrics = [{"type": "Resource", "resource": {"name": 1}}]
    api.create(
        "horizontalpodautoscalers",
        named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec={"metrics": metrics}),
    )


@case("mismatches in schemas of schemas")
def _(api: Api) -> None:
    def definition(schema: object) -> Plain:
        versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
        return named(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "as.example.com",
            spec={"versions": versions},
        )

    resource = "customresourcedefinitions"
    schemas: list[Plain] = [
        {"type": 1},
        {"properties": {"a": []}},
        {"properties": {"a": {"items": {"type": 1}}}},
        {"items": [{"type": 1}]},
        {"items": {"externalDocs": {"url": 1}}},
        {"additionalProperties": 1},
        {"additionalProperties": {"minLength": "x"}},
        {"x-kubernetes-validations": {}},
        {"maximum": "x"},
        {"required": "a"},
    ]
    for schema in schemas:
        api.create(resource, definition(schema))


@case("null in a list of strings is an empty one")
def _(api: Api) -> None:
    api.create("pods", container(args=[None, "a"], command=[None]), dryRun="All")


@case("null in a list of structs is an empty one")
def _(api: Api) -> None:
    api.create("pods", container(env=[None]), dryRun="All")
    api.create("pods", pod_with(tolerations=[None]), dryRun="All")
    api.create("services", service("a", spec={"ports": [None]}), dryRun="All")


@case("null in a map of strings is an empty one")
def _(api: Api) -> None:
    api.create("configmaps", {**config_map("a"), "data": {"key": None}}, dryRun="All")
    api.create("configmaps", config_map("b", labels={"key": None}), dryRun="All")
    api.create("pods", pod_with(nodeSelector={"key": None}), dryRun="All")


@case("null in a list of resources is the empty list")
def _(api: Api) -> None:
    quota = named("v1", "ResourceQuota", "a", spec={"hard": {"limits.cpu": None, "pods": "1"}})
    api.create("resourcequotas", quota)
    api.create("pods", container(resources={"limits": {"cpu": None}, "requests": {"memory": None}}), dryRun="All")


@case("null in a list of integers is zero")
def _(api: Api) -> None:
    api.create("pods", pod_with(securityContext={"supplementalGroups": [None, 1]}), dryRun="All")


@case("null in a map of bytes is an empty one")
def _(api: Api) -> None:
    api.create("secrets", named("v1", "Secret", "a", data={"key": None}))
    api.get("secrets", "a")


@case("null for a field is nothing at all")
def _(api: Api) -> None:
    nothing: Plain = {
        "nodeName": None,
        "hostNetwork": None,
        "priority": None,
        "tolerations": None,
        "overhead": None,
    }
    api.create("pods", pod_with(**nothing, securityContext=None, terminationGracePeriodSeconds=None), dryRun="All")
    api.create("services", service("a", spec={"ports": [{"port": 80, "targetPort": None}]}), dryRun="All")


@case("null where an object needs something")
def _(api: Api) -> None:
    api.create("pods", pod_with(containers=None))
    api.create("pods", {**pod("a"), "spec": None})
    api.create("pods", {**pod("a"), "metadata": None})
    api.create("deployments", {**deployment("a"), "spec": {**deployment()["spec"], "selector": None}})


@case("zeros that stay and zeros that do not")
def _(api: Api) -> None:
    fields: Plain = {"nodeName": "", "hostNetwork": False, "priority": 0, "tolerations": []}
    api.create("pods", pod_with(**fields, terminationGracePeriodSeconds=0, enableServiceLinks=False), dryRun="All")
    secure: Plain = {"runAsUser": 0, "privileged": False, "capabilities": {}, "readOnlyRootFilesystem": False}
    api.create("pods", container(securityContext=secure, tty=False, stdin=False, workingDir=""), dryRun="All")
    api.create("configmaps", {**config_map("a"), "immutable": False, "data": {}, "binaryData": {}}, dryRun="All")


@case("what is written even if it is empty")
def _(api: Api) -> None:
    api.create("roles", named("rbac.authorization.k8s.io/v1", "Role", "a"), dryRun="All")
    api.create("roles", named("rbac.authorization.k8s.io/v1", "Role", "a", rules=[]), dryRun="All")
    api.create("endpointslices", named("discovery.k8s.io/v1", "EndpointSlice", "a", addressType="IPv4"), dryRun="All")
    api.create("leases", named("coordination.k8s.io/v1", "Lease", "a"), dryRun="All")
    api.create(
        "replicationcontrollers",
        named("v1", "ReplicationController", "a", spec={"replicas": 0}),
        dryRun="All",
    )


@case("mismatches of an update")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", {**config_map("a"), "data": {"key": 1}})
    api.update("configmaps", "a", {**config_map("a"), "immutable": "x"})


@case("mismatches of a merge patch")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"data": {"key": 1}})
    api.patch("configmaps", "a", {"immutable": "x"})
    api.patch("configmaps", "a", {"metadata": {"labels": []}})
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a", {"spec": {"replicas": 1.5}})
    api.patch("deployments", "a", {"spec": {"template": {"spec": {"containers": [{"name": 1}]}}}})


@case("mismatches of a JSON patch")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", [{"op": "add", "path": "/data", "value": {"key": 1}}], by="json")
    api.patch("configmaps", "a", [{"op": "add", "path": "/data", "value": []}], by="json")


@case("null in a merge patch inside of a list")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    api.patch("pods", "a", {"spec": {"tolerations": [None]}})
    api.create("configmaps", config_map("a", data={"key": "value"}))
    api.patch("configmaps", "a", {"data": {"key": None, "other": "value"}})


@case("strict errors stand in the order of the document")
def _(api: Api) -> None:
    body = (
        '{"z": 1, "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s", "y": 1, "name": "%s"},'
        ' "data": {"k": "1", "k": "2"}, "a": 2, "data": {"l": "3"}}'
    )
    for strictness in ("Strict", "Warn", "Ignore"):
        name = strictness.lower()
        api.create("configmaps", body % (name, name), fieldValidation=strictness, dryRun="All")


@case("an unknown field that stands twice is unknown")
def _(api: Api) -> None:
    body = '{"metadata": {"name": "a"}, "x": {"y": 1, "y": 2}, "data": {}, "x": 3}'
    api.create("configmaps", body, fieldValidation="Strict")
    api.create("configmaps", body, dryRun="All")


@case("the values of keys that stand twice are merged")
def _(api: Api) -> None:
    body = (
        '{"metadata": {"name": "a", "labels": {"a": "1"}}, "metadata": {"labels": {"b": "2"}, "name": null},'
        ' "data": {"k": "1"}, "data": {"l": "2"}, "immutable": true, "immutable": null}'
    )
    api.create("configmaps", body, dryRun="All")
    first = '[{"name": "a", "image": "x", "env": [{"name": "A", "value": "1"}]}]'
    second = '[{"image": "y", "env": [{"value": "2"}]}, {"name": "b", "image": "z"}]'
    body = f'{{"metadata": {{"name": "a"}}, "spec": {{"containers": {first}, "containers": {second}}}}}'
    api.create("pods", body, dryRun="All")


@case("unknown fields in lists and maps of structs")
def _(api: Api) -> None:
    body = container(ports=[{"containerPort": 1}, {"x": 1, "containerPort": 2, "y": 2}], z=1)
    api.create("pods", body, fieldValidation="Strict")
    claim: Plain = {"metadata": {"name": "a", "x": 1}, "spec": {"resources": {"y": 1}}, "status": {"z": 1}}
    stateful = {**deployment("a"), "kind": "StatefulSet"}
    stateful["spec"] = {**stateful["spec"], "volumeClaimTemplates": [claim]}
    api.create("statefulsets", stateful, fieldValidation="Strict")


@case("names of unknown fields that need quotes")
def _(api: Api) -> None:
    for name in ('quote"', "back\\slash", "new\nline", "é", "a.b", "a[0]", "", "\u2028"):
        api.create("configmaps", {**config_map("a"), name: 1}, fieldValidation="Strict")


@case("an unknown field beside a mismatch")
def _(api: Api) -> None:
    api.create("configmaps", {**config_map("a"), "x": 1, "data": 2, "y": 3}, fieldValidation="Strict")


@case("unknown fields of YAML are sorted")
def _(api: Api) -> None:
    body = "z: 1\nmetadata:\n  x: 1\n  name: a\n  b: 2\nkind: ConfigMap\napiVersion: v1\na: 3\n"
    headers = {"Content-Type": "application/yaml"}
    path = api.path("configmaps")
    api.request("POST", path, body, headers=headers, query={"fieldValidation": "Strict"})
    api.request("POST", path, body, headers=headers, query={"dryRun": "All"})


@case("mismatches in YAML")
def _(api: Api) -> None:
    headers = {"Content-Type": "application/yaml"}
    for spec in ("{priority: x}", "{hostPID: 1, containers: {}}", "{priority: 1.5}", "{nodeName: 7}"):
        body = f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec: {spec}\n"
        api.request("POST", api.path("pods"), body, headers=headers)


@case("keys that stand twice in YAML")
def _(api: Api) -> None:
    headers = {"Content-Type": "application/yaml"}
    body = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  name: a\ndata:\n  k: '1'\n  k: '2'\n  k: '3'\n"
        "data:\n  z: '1'\nbogus: 1\nbogus: 2\n"
    )
    for strictness in ("Strict", "Warn", "Ignore"):
        query: dict[str, Any] = {"dryRun": "All", "fieldValidation": strictness}
        api.request("POST", api.path("configmaps"), body, headers=headers, query=query)
    nested = "metadata: {name: a, labels: {a: b, a: c}, labels: {d: e}}\n"
    query = {"fieldValidation": "Strict"}
    api.request("POST", api.path("configmaps"), nested, headers=headers, query=query)
