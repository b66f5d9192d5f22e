"""Rules of claims for devices, their templates and their status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.access import acting_as, grant, rule
from tests.conformance.case import area
from tests.conformance.objects import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conformance.api import Api, CallResponse, Plain

case = area("Rules of device claims")

VERSION = "resource.k8s.io/v1"
EXACT = {"deviceClassName": "gpu"}
REQUEST = {"name": "a", "exactly": EXACT}
CONFIG = {"opaque": {"driver": "example.com", "parameters": {}}}
SHARE = "00000000-0000-0000-0000-00000000000a"
RESULT = {"request": "a", "driver": "example.com", "pool": "pool", "device": "gpu-0"}
DEVICE = {"driver": "example.com", "pool": "pool", "device": "gpu-0"}
TIME = "2024-01-01T00:00:00Z"


def claim(**devices: object) -> Plain:
    return named(VERSION, "ResourceClaim", "a", spec={"devices": devices})


def create_claim(api: Api, **devices: object) -> CallResponse:
    return api.create("resourceclaims", claim(**devices), dryRun="All")


def create_exact(api: Api, **request: object) -> CallResponse:
    return create_claim(api, requests=[{"name": "a", "exactly": {**EXACT, **request}}])


def set_status(api: Api, **status: object) -> CallResponse:
    return api.patch("resourceclaims", "a/status", {"status": status}, dryRun="All")


def allocate(api: Api, *results: Plain, **more: object) -> CallResponse:
    return set_status(api, allocation={"devices": {"results": list(results), **more}})


@case("a device request has a name")
def _(api: Api) -> None:
    for name in ("", "-", "A", "a.b", "a" * 64, "a"):
        create_claim(api, requests=[{**REQUEST, "name": name}])
    create_claim(api)


@case("the names of device requests are unique")
def _(api: Api) -> None:
    create_claim(api, requests=[REQUEST, REQUEST])
    option = {"name": "b", **EXACT}
    create_claim(api, requests=[{"name": "a", "firstAvailable": [option, option]}])


@case("a device request is exact or has alternatives")
def _(api: Api) -> None:
    option = {"name": "b", **EXACT}
    request: Plain
    for request in ({}, {"exactly": EXACT, "firstAvailable": [option]}, {"firstAvailable": []}, {"exactly": {}}):
        create_claim(api, requests=[{"name": "a", **request}])


@case("there are limits to the length of device claims")
def _(api: Api) -> None:
    create_claim(api, requests=[{**REQUEST, "name": f"a-{index}"} for index in range(33)])
    create_claim(api, requests=[REQUEST], constraints=[{"matchAttribute": "example.com/a"}] * 33)
    create_claim(api, requests=[REQUEST], config=[CONFIG] * 33)
    options = [{"name": f"a-{index}", **EXACT} for index in range(9)]
    create_claim(api, requests=[{"name": "a", "firstAvailable": options}])
    create_exact(api, selectors=[{"cel": {"expression": "true"}}] * 33)


@case("a device request names a class")
def _(api: Api) -> None:
    for name in ("", "-", "A", "a.b"):
        create_exact(api, deviceClassName=name)
        create_claim(api, requests=[{"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": name}]}])


@case("a device request counts devices or takes all")
def _(api: Api) -> None:
    for mode in ("ExactCount", "All", "Other", "<>"):
        for count in (-1, 0, 2):
            create_exact(api, allocationMode=mode, count=count)


@case("a device request tolerates taints")
def _(api: Api) -> None:
    for toleration in (
        {},
        {"operator": "Exists", "value": "a"},
        {"operator": "Exists", "key": "a b"},
        {"operator": "Equal", "key": "a", "value": "a b"},
        {"operator": "Other", "effect": "Other"},
        {"operator": "Exists", "effect": "None", "tolerationSeconds": -1},
    ):
        create_exact(api, tolerations=[toleration])


@case("a device constraint names requests")
def _(api: Api) -> None:
    option = {"name": "b", **EXACT}
    requests = [REQUEST, {"name": "c", "firstAvailable": [option]}]
    for names in (["a"], ["b"], ["c/b"], ["a/b"], ["c/b/a"], ["A"], ["a", "a"], ["c", "c/b"], [""]):
        create_claim(api, requests=requests, constraints=[{"requests": names, "matchAttribute": "example.com/a"}])


@case("a device constraint names an attribute")
def _(api: Api) -> None:
    for name in ("example.com/a", "a", "/a", "example.com/", "Example.com/a", "example.com/a-b", "a/b/c", "a b/c", ""):
        create_claim(api, requests=[REQUEST], constraints=[{"matchAttribute": name}])
        create_claim(api, requests=[REQUEST], constraints=[{"distinctAttribute": name}])
    create_claim(api, requests=[REQUEST], constraints=[{}])
    create_claim(api, requests=[REQUEST], constraints=[{"matchAttribute": f"{'a' * 64}.com/{'b' * 33}"}])


@case("the configuration of devices is an object of a driver")
def _(api: Api) -> None:
    for opaque in (
        None,
        {},
        {"driver": "A b", "parameters": {}},
        {"driver": "Upper.com", "parameters": {}},
        {"driver": "a" * 64, "parameters": []},
        {"driver": "a", "parameters": 1},
        {"driver": "a", "parameters": None},
        {"driver": "a", "parameters": {"a": "b" * 10_240}},
    ):
        create_claim(api, requests=[REQUEST], config=[{"opaque": opaque}])
    create_claim(api, requests=[REQUEST], config=[{"requests": ["b"], **CONFIG}])


@case("the spec of a claim is immutable")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST], config=[CONFIG]))
    api.patch("resourceclaims", "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch("resourceclaims", "a", {"spec": {"devices": {"config": None}}})
    selectors = [{"cel": {"expression": "device.driver == 'a' && true"}}]
    requests = [{"name": "b", "exactly": {**EXACT, "selectors": selectors, "tolerations": [{"operator": "Exists"}]}}]
    api.patch("resourceclaims", "a", {"spec": {"devices": {"requests": requests}}})


@case("a claim of an older version has the errors of the newest")
def _(api: Api) -> None:
    for request in ({"name": "a"}, {"name": "a", "deviceClassName": "A", "count": -1}, {"name": "A", "count": 1}):
        body = named("resource.k8s.io/v1beta1", "ResourceClaim", "a", spec={"devices": {"requests": [request]}})
        api.create("resource.k8s.io/v1beta1/resourceclaims", body, dryRun="All")


@case("a device with admin access needs a label of the namespace")
def _(api: Api) -> None:
    create_exact(api, adminAccess=True)
    create_exact(api, adminAccess=True, count=-1)
    create_exact(api, adminAccess=False)
    body = named(VERSION, "ResourceClaimTemplate", "a", spec={"spec": claim(requests=[REQUEST])["spec"]})
    body["spec"]["spec"]["devices"]["requests"] = [{"name": "a", "exactly": {**EXACT, "adminAccess": True}}]
    api.create("resourceclaimtemplates", body, dryRun="All")
    api.patch("namespaces", api.namespace, {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}})
    create_exact(api, adminAccess=True)
    api.create("resourceclaimtemplates", body, dryRun="All")


@case("a template of claims has labels and annotations only")
def _(api: Api) -> None:
    for metadata in (
        {"labels": {"a": "b"}, "annotations": {"a": "b"}},
        {"labels": {"a b": "c d"}, "annotations": {"a b": "c"}},
        {"name": "a", "namespace": "b", "finalizers": ["a"], "generation": 1},
    ):
        spec = {"metadata": metadata, "spec": {"devices": {"requests": [REQUEST]}}}
        api.create("resourceclaimtemplates", named(VERSION, "ResourceClaimTemplate", "a", spec=spec), dryRun="All")


@case("the claim of a template is validated")
def _(api: Api) -> None:
    spec = {"spec": {"devices": {"requests": [{"name": "A"}], "constraints": [{}], "config": [{}]}}}
    api.create("resourceclaimtemplates", named(VERSION, "ResourceClaimTemplate", "a", spec=spec), dryRun="All")


@case("the spec of a template of claims is immutable")
def _(api: Api) -> None:
    spec = {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {"requests": [REQUEST]}}}
    api.create("resourceclaimtemplates", named(VERSION, "ResourceClaimTemplate", "a", spec=spec))
    api.patch("resourceclaimtemplates", "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch("resourceclaimtemplates", "a", {"spec": {"metadata": {"labels": {"a": "c"}}}})
    api.patch("resourceclaimtemplates", "a", {"spec": {"spec": {"devices": {"requests": [{"name": "B"}]}}}})


@case("an allocation is of requests of the claim")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    for result in (
        RESULT,
        {},
        {**RESULT, "request": "b"},
        {**RESULT, "driver": "A b"},
        {**RESULT, "pool": "a//b"},
        {**RESULT, "pool": "a/b"},
        {**RESULT, "device": "A"},
        {**RESULT, "pool": "a" * 254},
    ):
        allocate(api, result)


@case("an allocation is shared by an identifier")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    for share in (SHARE, SHARE.upper(), "a", f"urn:uuid:{SHARE}", f"{{{SHARE}}}", SHARE.replace("-", ""), "x" * 36):
        allocate(api, {**RESULT, "shareID": share})


@case("an allocation has conditions for binding")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    for conditions, failures in (
        (["a"], ["b"]),
        (["a"], []),
        ([], ["a"]),
        (["a", "a"], ["b", "b"]),
        (["a"], ["a"]),
        (["a b"], [""]),
        (["a", "b", "c", "d", "e"], ["f"]),
    ):
        allocate(api, {**RESULT, "bindingConditions": conditions, "bindingFailureConditions": failures})


@case("an allocation has configuration with a source")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    for config in ({}, {"source": "Other"}, {"source": "FromClass", **CONFIG, "requests": ["b"]}):
        allocate(api, RESULT, config=[config])
    allocate(api, *[RESULT] * 33)


@case("an allocation selects nodes")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    for term in (
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "B"]}]},
        {"matchFields": [{"key": "metadata.uid", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "a b", "operator": "Gt"}]},
    ):
        set_status(api, allocation={"devices": {}, "nodeSelector": {"nodeSelectorTerms": [term]}})
    set_status(api, allocation={"nodeSelector": {}})


@case("an allocation is immutable")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    api.patch("resourceclaims", "a/status", {"status": {"allocation": {"devices": {"results": [RESULT]}}}})
    allocate(api, RESULT)
    allocate(api, {**RESULT, "device": "gpu-1"})
    set_status(api, allocation=None)


@case("an allocated claim is reserved for consumers")
def _(api: Api) -> None:
    consumer = {"resource": "pods", "name": "a", "uid": "1"}
    api.create("resourceclaims", claim(requests=[REQUEST]))
    set_status(api, reservedFor=[consumer])
    allocation = {"devices": {"results": [RESULT]}}
    consumers: Sequence[object]
    for consumers in ([consumer], [{}], [consumer, consumer], [consumer] * 257):
        set_status(api, reservedFor=consumers, allocation=allocation)


@case("a claim that is deleted gets no new consumers")
def _(api: Api) -> None:
    consumer = {"resource": "pods", "name": "a", "uid": "1"}
    body = claim(requests=[REQUEST])
    body["metadata"]["finalizers"] = ["example.com/a"]
    api.create("resourceclaims", body)
    status = {"allocation": {"devices": {"results": [RESULT]}}, "reservedFor": [consumer]}
    api.patch("resourceclaims", "a/status", {"status": status})
    api.delete("resourceclaims", "a")
    set_status(api, reservedFor=[{**consumer, "uid": "2"}])
    set_status(api, reservedFor=[])
    api.patch("resourceclaims", "a", {"metadata": {"finalizers": None}})


@case("the status of a device is about an allocated one")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    allocation = {"devices": {"results": [RESULT]}}
    for device in (
        DEVICE,
        {},
        {**DEVICE, "device": "gpu-1"},
        {**DEVICE, "shareID": "a"},
        {**DEVICE, "data": []},
        {**DEVICE, "data": {"a": "b" * 10_240}},
    ):
        set_status(api, allocation=allocation, devices=[device])
    set_status(api, allocation=allocation, devices=[DEVICE, DEVICE])


@case("the status of a device has conditions")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    allocation = {"devices": {"results": [RESULT]}}
    ready = {"type": "Ready", "status": "True", "reason": "A", "lastTransitionTime": TIME, "message": ""}
    conditions: Sequence[object]
    for conditions in ([ready], [{}], [ready, ready], [{**ready, "type": f"A{index}"} for index in range(9)]):
        set_status(api, allocation=allocation, devices=[{**DEVICE, "conditions": conditions}])


@case("the status of a device has addresses")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    allocation = {"devices": {"results": [RESULT]}}
    for addresses in (
        ["10.9.8.7/24"],
        ["10.9.8.7"],
        ["010.9.8.7/24"],
        ["2001:DB8::1/64"],
        ["::ffff:10.9.8.7/120"],
        ["a/b"],
        ["10.9.8.7/24", "10.9.8.7/24"],
        [f"10.9.8.{index}/24" for index in range(17)],
    ):
        set_status(api, allocation=allocation, devices=[{**DEVICE, "networkData": {"ips": addresses}}])
    network = {"interfaceName": "a" * 257, "hardwareAddress": "a" * 129}
    set_status(api, allocation=allocation, devices=[{**DEVICE, "networkData": network}])


@case("the status of a device ends with its allocation")
def _(api: Api) -> None:
    api.create("resourceclaims", claim(requests=[REQUEST]))
    status = {"allocation": {"devices": {"results": [RESULT]}}, "devices": [DEVICE]}
    api.patch("resourceclaims", "a/status", {"status": status})
    api.patch("resourceclaims", "a/status", {"status": {"allocation": None}})


@case("the allocation of a claim is for schedulers, and the status of its devices for drivers")
def _(api: Api) -> None:
    user = f"{api.namespace}-jane"
    group = "resource.k8s.io"
    api.create("resourceclaims", claim(requests=[REQUEST]))
    grant(api, user, rule("patch update", "resourceclaims/status", groups=group))
    headers = {**acting_as(user), "Content-Type": "application/merge-patch+json"}
    status = {"allocation": {"devices": {"results": [RESULT]}}}
    path = api.path("resourceclaims", "a/status")
    api.request("PATCH", path, {"status": status}, headers=headers)
    grant(api, user, rule("patch", "resourceclaims/binding", groups=group), name="bind", everywhere=True)
    api.request("PATCH", path, {"status": status}, headers=headers)
    for name in ("example.com", "other.com"):
        devices = [{**DEVICE, "driver": name}]
        api.request("PATCH", path, {"status": {"devices": devices}}, headers=headers)
    allowed = rule("arbitrary-node:patch", "resourceclaims/driver", groups=group, names="example.com")
    grant(api, user, allowed, name="drive")
    api.request("PATCH", path, {"status": {"devices": [DEVICE]}}, headers=headers)
