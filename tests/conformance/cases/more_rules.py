"""Rules of built-in kinds that few clients write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import job, named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Rules of rare kinds")

NETWORKING = "networking.k8s.io/v1"
STORAGE = "storage.k8s.io/v1"


def dry(api: Api, path: str, body: Plain) -> None:
    api.request("POST", path, body, query={"dryRun": "All"})


@case("finalizers of a namespace")
def _(api: Api) -> None:
    for finalizers in (["plain"], [""], ["example.com/a"], ["a/b/c"], ["kubernetes"], ["orphan"]):
        spec = {"finalizers": finalizers}
        dry(api, "/api/v1/namespaces", named("v1", "Namespace", f"{api.namespace}-b", spec=spec))


@case("the scope selector of a resource quota")
def _(api: Api) -> None:
    expressions: list[Plain] = [
        {},
        {"scopeName": "nonsense", "operator": "In", "values": ["a"]},
        {"scopeName": "BestEffort", "operator": "In", "values": ["a"]},
        {"scopeName": "BestEffort", "operator": "Exists"},
        {"scopeName": "PriorityClass", "operator": "In"},
        {"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]},
        {"scopeName": "PriorityClass", "operator": "NotIn", "values": ["a"]},
    ]
    for expression in expressions:
        spec = {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [expression]}}
        api.create("resourcequotas", named("v1", "ResourceQuota", "a", spec=spec), dryRun="All")
    pair = [{"scopeName": name, "operator": "Exists"} for name in ("Terminating", "NotTerminating")]
    spec = {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": pair}}
    api.create("resourcequotas", named("v1", "ResourceQuota", "a", spec=spec))


@case("the networks of a service CIDR")
def _(api: Api) -> None:
    path = f"/apis/{NETWORKING}/servicecidrs"
    for networks in (
        [],
        ["nonsense"],
        ["192.0.2.1"],
        ["192.0.2.0/24", "198.51.100.0/24"],
        ["192.0.2.0/24", "2001:db8::/64"],
        ["192.0.2.0/24", "nonsense"],
        ["192.0.2.0/24", "2001:db8::/64", "198.51.100.0/24"],
    ):
        dry(api, path, named(NETWORKING, "ServiceCIDR", api.namespace, spec={"cidrs": networks}))
    dry(api, path, named(NETWORKING, "ServiceCIDR", api.namespace))


@case("the parent of an IP address")
def _(api: Api) -> None:
    path = f"/apis/{NETWORKING}/ipaddresses"
    parents: list[Plain | None] = [
        None,
        {},
        {"resource": "services"},
        {"name": "a"},
        {"resource": "a/b", "name": "c/d", "namespace": "e/f", "group": "G"},
        {"resource": "services", "name": "a", "namespace": "b", "group": "example.com"},
    ]
    for parent in parents:
        dry(api, path, named(NETWORKING, "IPAddress", "192.0.2.9", spec={"parentRef": parent}))
    dry(api, path, named(NETWORKING, "IPAddress", "192.0.2.9"))


@case("a change of the parent of an IP address")
def _(api: Api) -> None:
    path = f"/apis/{NETWORKING}/ipaddresses"
    parent = {"resource": "services", "name": "a", "namespace": "b"}
    api.request("POST", path, named(NETWORKING, "IPAddress", "192.0.2.77", spec={"parentRef": parent}))
    headers = {"Content-Type": "application/merge-patch+json"}
    patch = {"spec": {"parentRef": {"name": "other"}}}
    api.request("PATCH", f"{path}/192.0.2.77", patch, headers=headers)


@case("candidates for a lease")
def _(api: Api) -> None:
    version = "coordination.k8s.io/v1beta1"
    path = f"/apis/{version}/namespaces/{api.namespace}/leasecandidates"
    good = {
        "leaseName": "a",
        "binaryVersion": "1.36.0",
        "emulationVersion": "1.36.0",
        "strategy": "OldestEmulationVersion",
    }
    for change in (
        {"leaseName": ""},
        {"binaryVersion": ""},
        {"binaryVersion": "nonsense"},
        {"binaryVersion": "1.35.0"},
        {"emulationVersion": ""},
        {"emulationVersion": "nonsense"},
        {"emulationVersion": "1.36"},
        {"strategy": ""},
        {"strategy": "nonsense"},
        {"strategy": "example.com/a"},
        {"strategy": "example.com/a/b"},
        {"binaryVersion": "1.36.0-alpha.1"},
        {"binaryVersion": "v1.36.0"},
    ):
        dry(api, path, named(version, "LeaseCandidate", "a", spec={**good, **change}))
    dry(api, path, named(version, "LeaseCandidate", "a"))


@case("drivers of a CSI node")
def _(api: Api) -> None:
    path = f"/apis/{STORAGE}/csinodes"
    good = {"name": "csi.example.com", "nodeID": "a"}
    drivers: list[list[Plain]] = [
        [{}],
        [{**good, "nodeID": "a" * 257}],
        [{**good, "name": "A_b"}],
        [{**good, "name": "a" * 64}],
        [{**good, "allocatable": {"count": -1}}],
        [{**good, "topologyKeys": ["", "a/b/c", "a", "a"]}],
        [good, good],
        [good],
    ]
    for driver in drivers:
        dry(api, path, named(STORAGE, "CSINode", api.namespace, spec={"drivers": driver}))


@case("CSI storage capacities")
def _(api: Api) -> None:
    path = f"/apis/{STORAGE}/namespaces/{api.namespace}/csistoragecapacities"
    selector = {"matchExpressions": [{"key": "", "operator": "x"}], "matchLabels": {"a": "b c"}}
    bodies: list[Plain] = [
        {"storageClassName": ""},
        {"storageClassName": "A"},
        {"storageClassName": "a", "capacity": "-1"},
        {"storageClassName": "a", "nodeTopology": selector},
        {"storageClassName": "a", "capacity": "1Gi"},
    ]
    for body in bodies:
        dry(api, path, named(STORAGE, "CSIStorageCapacity", "a", **body))


@case("a change of a CSI storage capacity")
def _(api: Api) -> None:
    path = f"/apis/{STORAGE}/namespaces/{api.namespace}/csistoragecapacities"
    api.request("POST", path, named(STORAGE, "CSIStorageCapacity", "a", storageClassName="a"))
    headers = {"Content-Type": "application/merge-patch+json"}
    patches: list[Plain] = [{"storageClassName": "b"}, {"nodeTopology": {}}, {"capacity": "1Gi"}]
    for patch in patches:
        api.request("PATCH", f"{path}/a", patch, headers=headers)


@case("topologies of a storage class")
def _(api: Api) -> None:
    good = {"key": "example.com/zone", "values": ["a"]}
    terms: list[list[Plain]] = [
        [{}],
        [{"matchLabelExpressions": [{}]}],
        [{"matchLabelExpressions": [{**good, "values": ["a", "a"]}]}],
        [{"matchLabelExpressions": [good, good]}],
        [{"matchLabelExpressions": [good]}, {"matchLabelExpressions": [good]}],
        [{"matchLabelExpressions": [good]}],
    ]
    for term in terms:
        body = named(STORAGE, "StorageClass", api.namespace, provisioner="a", allowedTopologies=term)
        dry(api, f"/apis/{STORAGE}/storageclasses", body)


@case("the classes of a claim")
def _(api: Api) -> None:
    for field in ("volumeAttributesClassName", "storageClassName"):
        for name in ("A", "", "a.b"):
            spec = {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1"}},
                field: name,
            }
            api.create("persistentvolumeclaims", named("v1", "PersistentVolumeClaim", "a", spec=spec), dryRun="All")


@case("selectors of an aggregated role")
def _(api: Api) -> None:
    selectors: list[Plain] = [
        {"matchExpressions": [{"key": "a"}]},
        {"matchLabels": {"a": "b c"}},
        {"matchLabels": {"a": "b"}},
        {},
    ]
    for selector in selectors:
        rule = {"clusterRoleSelectors": [selector]}
        body = named("rbac.authorization.k8s.io/v1", "ClusterRole", api.namespace, aggregationRule=rule)
        dry(api, "/apis/rbac.authorization.k8s.io/v1/clusterroles", body)


@case("parameters of an ingress class")
def _(api: Api) -> None:
    for parameters in (
        {"kind": "A", "name": "a", "apiGroup": "G"},
        {"kind": "A", "name": "a", "apiGroup": ""},
        {"kind": "A", "name": "a", "apiGroup": "example.com"},
        {"kind": "A", "name": "a", "scope": "Namespace", "namespace": "B"},
        {"kind": "A", "name": "a", "scope": "Namespace", "namespace": ""},
    ):
        spec = {"controller": "example.com/a", "parameters": parameters}
        api.create("ingressclasses", named(NETWORKING, "IngressClass", api.namespace, spec=spec), dryRun="All")


@case("the failure policy of a job without an action")
def _(api: Api) -> None:
    body = job("a")
    body["spec"]["podFailurePolicy"] = {"rules": [{"onPodConditions": [{"type": "a"}]}]}
    api.create("jobs", body)
    body["spec"]["podFailurePolicy"] = {"rules": [{"action": "nonsense"}]}
    api.create("jobs", body)


@case("the failure policy of a job")
def _(api: Api) -> None:
    codes: list[Plain] = [
        {},
        {"operator": "In", "values": [0, 1, 1]},
        {"operator": "In", "values": [3, 2]},
        {"operator": "x", "values": [1], "containerName": "other"},
        {"operator": "NotIn", "values": [0], "containerName": "main"},
    ]
    rules: list[Plain] = [{"action": "FailJob", "onExitCodes": code} for code in codes]
    rules += [
        {"action": "FailIndex", "onPodConditions": [{"type": "a", "status": "True"}]},
        {"action": "Ignore", "onPodConditions": [{"type": "", "status": "x"}]},
        {"action": "Count", "onPodConditions": [{"type": "a"}], "onExitCodes": codes[4]},
    ]
    for rule in rules:
        body = job("a")
        body["spec"]["podFailurePolicy"] = {"rules": [rule]}
        api.create("jobs", body, dryRun="All")


@case("the success policy of a job")
def _(api: Api) -> None:
    rules: list[list[Plain]] = [
        [],
        [{}],
        [{"succeededCount": -1}],
        [{"succeededCount": 9}],
        [{"succeededIndexes": ""}],
        [{"succeededIndexes": "0,2-3"}],
        [{"succeededIndexes": "0-1", "succeededCount": 3}],
        [{"succeededIndexes": "1,0"}],
        [{"succeededIndexes": "1-1"}],
        [{"succeededIndexes": "0-1-2"}],
        [{"succeededIndexes": "x"}],
        [{"succeededIndexes": "7"}],
    ]
    for rule in rules:
        body = job("a")
        body["spec"] |= {"completionMode": "Indexed", "completions": 4, "successPolicy": {"rules": rule}}
        api.create("jobs", body, dryRun="All")
    body = job("a")
    body["spec"] |= {"completionMode": "NonIndexed", "completions": 4, "successPolicy": {"rules": rules[-1]}}
    api.create("jobs", body)


ADMISSION = "admissionregistration.k8s.io/v1"


def hook(**fields: object) -> Plain:
    return {
        "name": "a.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://a.example.com/path"},
        **fields,
    }


def send_hooks(api: Api, *hooks: Plain) -> None:
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        path = f"/apis/{ADMISSION}/{kind.lower()}s"
        dry(api, path, named(ADMISSION, kind, api.namespace, webhooks=list(hooks)))


@case("a webhook that says nothing")
def _(api: Api) -> None:
    send_hooks(api, {})
    send_hooks(api, hook())


@case("names of webhooks")
def _(api: Api) -> None:
    for name in ("a", "a.b", "A.b.c", "a_b.c.d"):
        send_hooks(api, hook(name=name))
    send_hooks(api, hook(), hook())


@case("choices of a webhook")
def _(api: Api) -> None:
    send_hooks(api, hook(failurePolicy="x", matchPolicy="y", sideEffects="Some", timeoutSeconds=31))
    send_hooks(api, hook(failurePolicy="", matchPolicy="", sideEffects="", timeoutSeconds=0))
    send_hooks(api, hook(namespaceSelector={"matchLabels": {"a": "b c"}}, objectSelector={"matchExpressions": [{}]}))


@case("versions of reviews of a webhook")
def _(api: Api) -> None:
    for versions in ([], ["v2"], ["v1", "v1"], ["V1"], ["v1beta1", "v2"]):
        send_hooks(api, hook(admissionReviewVersions=versions))


@case("how a webhook is reached")
def _(api: Api) -> None:
    configs: list[Plain] = [
        {},
        {"url": "https://a", "service": {"name": "a", "namespace": "b"}},
        {"url": "http://a"},
        {"url": "nonsense"},
        {"url": "https://user@a?b#c"},
        {"service": {}},
        {"service": {"name": "a", "namespace": "b", "port": 0, "path": "x"}},
        {"service": {"name": "a", "namespace": "b", "path": "/x//Y"}},
        {"service": {"name": "a"}},
        {"service": {"namespace": "b"}},
        {"service": {"name": "a", "namespace": "b"}},
    ]
    for config in configs:
        send_hooks(api, hook(clientConfig=config))


@case("rules of a webhook")
def _(api: Api) -> None:
    good = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    changes: list[Plain] = [
        {"operations": [], "apiGroups": [], "apiVersions": [], "resources": []},
        {"operations": ["*", "CREATE", "x"], "apiGroups": ["*", "a"], "apiVersions": ["*", ""]},
        {"resources": ["pods/*", "pods/status", "*/scale", "a/scale"]},
        {"resources": ["*/*", "pods", ""]},
        {"resources": ["*", "pods"]},
        {"resources": ["pods", "*"]},
        {"scope": "x"},
        {"scope": "Namespaced"},
    ]
    for change in changes:
        send_hooks(api, hook(rules=[{**good, **change}]))


@case("match conditions of a webhook")
def _(api: Api) -> None:
    good = {"name": "a", "expression": "true"}
    conditions: list[list[Plain]] = [
        [{}],
        [{**good, "name": "a b"}],
        [{**good, "expression": "  "}],
        [good, good],
        [{**good, "name": f"a{each}"} for each in range(65)],
        [good],
    ]
    for condition in conditions:
        send_hooks(api, hook(matchConditions=condition))


@case("the name servers of a pod")
def _(api: Api) -> None:
    configs: list[Plain] = [
        {"nameservers": ["nonsense", "192.0.2.1"]},
        {"nameservers": ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]},
        {"searches": ["", ".", "a.", "_a.b", "A", "a-"]},
        {"searches": [f"a{each}" for each in range(33)]},
        {"searches": ["a." * 120 + "b"] * 9},
        {"options": [{"value": "1"}, {"name": ""}, {"name": "ndots"}]},
    ]
    for config in configs:
        api.create("pods", pod("a", spec={"dnsConfig": config}), dryRun="All")
    fields: list[Plain] = [{}, {"dnsConfig": {}}, {"dnsConfig": {"nameservers": ["192.0.2.1"]}}]
    for more in fields:
        api.create("pods", pod("a", spec={"dnsPolicy": "None", **more}), dryRun="All")


@case("the resource claims of a pod")
def _(api: Api) -> None:
    claims: list[list[Plain]] = [
        [{}],
        [{"name": "A", "resourceClaimName": "B"}],
        [{"name": "a", "resourceClaimName": "a", "resourceClaimTemplateName": "C"}],
        [{"name": "a", "resourceClaimName": "a"}, {"name": "a", "resourceClaimName": "b"}],
        [{"name": "a", "resourceClaimName": "a"}],
    ]
    for claim in claims:
        api.create("pods", pod("a", spec={"resourceClaims": claim}), dryRun="All")


@case("the operating system of a pod")
def _(api: Api) -> None:
    for system in ({}, {"name": "plan9"}, {"name": "linux"}, {"name": "windows"}):
        api.create("pods", pod("a", spec={"os": system}), dryRun="All")


@case("items of lists that stand twice")
def _(api: Api) -> None:
    body = (
        '{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "x", "args": ["1"]}],'
        ' "containers": [null], "tolerations": [{"key": "a"}], "tolerations": [null, null]}}'
    )
    api.create("pods", body, dryRun="All")
