"""Rules of the kinds of dynamic resource allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.access import acting_as, grant, rule
from tests.conformance.case import area
from tests.conformance.objects import named

if TYPE_CHECKING:
    from tests.conformance.api import Api, CallResponse, Plain

case = area("Rules of device kinds")

VERSION = "resource.k8s.io/v1"
EXACT = {"deviceClassName": "gpu"}
REQUEST = {"name": "a", "exactly": EXACT}
CONFIG = {"opaque": {"driver": "example.com", "parameters": {}}}
POOL = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
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


def create_slice(api: Api, **spec: object) -> CallResponse:
    fields = {"driver": "example.com", "pool": POOL, "allNodes": True, **spec}
    body = named(VERSION, "ResourceSlice", f"{api.namespace}-a", spec=fields)
    return api.create("resourceslices", body, dryRun="All")


def create_device(api: Api, **device: object) -> CallResponse:
    return create_slice(api, devices=[{"name": "gpu-0", **device}])


def create_class(api: Api, **spec: object) -> CallResponse:
    body = named(VERSION, "DeviceClass", f"{api.namespace}-a", spec=spec)
    return api.create("deviceclasses", body, dryRun="All")


def select(api: Api, *expressions: str) -> None:
    for expression in expressions:
        create_class(api, selectors=[{"cel": {"expression": expression}}])


def create_rule(api: Api, **spec: object) -> CallResponse:
    fields = {"taint": {"key": "a", "effect": "NoSchedule", "timeAdded": TIME}, **spec}
    body = named("resource.k8s.io/v1beta2", "DeviceTaintRule", f"{api.namespace}-a", spec=fields)
    return api.create("devicetaintrules", body, dryRun="All")


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


@case("a slice has a driver and a pool")
def _(api: Api) -> None:
    for driver in ("", "A b", "Upper.com", "a" * 64):
        create_slice(api, driver=driver)
    for pool in ({}, {**POOL, "name": "a/b"}, {**POOL, "name": "/"}, {"name": "a", "generation": -1}):
        create_slice(api, pool=pool)


@case("a slice is for one node, some or all")
def _(api: Api) -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    for spec in (
        {},
        {"nodeName": ""},
        {"nodeName": "A"},
        {"nodeName": "a", "allNodes": True},
        {"allNodes": False},
        {"perDeviceNodeSelection": False},
        {"perDeviceNodeSelection": True, "nodeSelector": {"nodeSelectorTerms": [term]}},
        {"nodeSelector": {"nodeSelectorTerms": [term, term]}},
        {"nodeSelector": {"nodeSelectorTerms": []}},
        {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]}},
    ):
        create_slice(api, **{"allNodes": None, **spec})


@case("a device of a slice may have nodes of its own")
def _(api: Api) -> None:
    for device in (
        {},
        {"nodeName": "a"},
        {"nodeName": ""},
        {"nodeName": "A"},
        {"allNodes": False},
        {"allNodes": True, "nodeName": "a"},
        {"nodeSelector": {"nodeSelectorTerms": []}},
    ):
        spec = {"allNodes": None, "perDeviceNodeSelection": True, "devices": [{"name": "a", **device}]}
        create_slice(api, **spec)
        create_device(api, **device)


@case("the devices of a slice have unique names")
def _(api: Api) -> None:
    create_slice(api, devices=[{"name": "a"}, {"name": "a"}])
    create_slice(api, devices=[{"name": "A"}, {"name": ""}])
    create_slice(api, devices=[{"name": f"a-{index}"} for index in range(129)])
    taints = [{"key": "a", "effect": "NoSchedule", "timeAdded": TIME}]
    create_slice(api, devices=[{"name": f"a-{index}", "taints": taints} for index in range(65)])


@case("the attributes of a device have one value")
def _(api: Api) -> None:
    for attribute in (
        {},
        {"int": 1},
        {"int": 1, "bool": False},
        {"string": "a" * 65},
        {"version": "1.2"},
        {"version": "1.2.3-a.1+b"},
        {"version": f"1.2.3-{'a.' * 30}b"},
        {"strings": ["a"]},
    ):
        create_device(api, attributes={"a": attribute})


@case("the names of attributes are identifiers")
def _(api: Api) -> None:
    for name in ("a", "a-b", "example.com/a", "/a", "example.com/", "Example.com/A", "a/b/c", "a" * 33, "", "1"):
        create_device(api, attributes={name: {"int": 1}})
        create_device(api, capacity={name: {"value": "1"}})
    create_device(api, attributes={f"{'a' * 64}.com/{'b' * 40}": {}})


@case("a device has a limited number of attributes")
def _(api: Api) -> None:
    create_device(api, attributes={f"a{index}": {"int": 1} for index in range(33)})
    half = {f"a{index}": {"int": 1} for index in range(20)}
    create_device(api, attributes=half, capacity={f"a{index}": {"value": "1"} for index in range(13)})


@case("a capacity has valid values")
def _(api: Api) -> None:
    for policy in (
        {},
        {"default": "1"},
        {"validValues": ["1"]},
        {"default": "1", "validValues": ["1", "2"]},
        {"default": "3", "validValues": ["2", "1"]},
        {"default": "1", "validValues": ["1", "1000m"]},
        {"default": "1", "validValues": ["1", "20"]},
        {"default": "1", "validValues": [str(index) for index in range(1, 12)]},
        {"default": "1", "validValues": ["1"], "validRange": {"min": "1"}},
    ):
        create_device(api, allowMultipleAllocations=True, capacity={"a": {"value": "10", "requestPolicy": policy}})
    create_device(api, capacity={"a": {"value": "10", "requestPolicy": {"default": "1"}}})


@case("a capacity has a valid range")
def _(api: Api) -> None:
    for default, limits in (
        (None, {"min": "1"}),
        ("1", {}),
        ("1", {"min": "2"}),
        ("1", {"min": "11"}),
        ("5", {"min": "4", "max": "3"}),
        ("5", {"min": "1", "max": "11"}),
        ("1", {"min": "1", "step": "10"}),
        ("2", {"min": "1", "max": "8", "step": "3"}),
        ("4", {"min": "1", "max": "7", "step": "3"}),
        ("1Ki", {"min": "1Ki", "max": "4Ki"}),
    ):
        policy = {"default": default, "validRange": limits}
        create_device(api, allowMultipleAllocations=True, capacity={"a": {"value": "10", "requestPolicy": policy}})


@case("a device has taints")
def _(api: Api) -> None:
    for taint in ({}, {"key": "a", "effect": "Other"}, {"key": "a b", "value": "c d", "effect": "None"}):
        create_device(api, taints=[{"timeAdded": TIME, **taint}])
    create_device(api, taints=[{"key": "a", "effect": "None", "timeAdded": TIME}] * 17)


@case("a device consumes counters")
def _(api: Api) -> None:
    counters = {"a": {"value": "1"}}
    for consumed in (
        [{}],
        [{"counterSet": "A", "counters": {"B": {"value": "1"}}}],
        [{"counterSet": "a", "counters": counters}] * 2,
        [{"counterSet": "a", "counters": {f"a-{index}": {"value": "1"} for index in range(33)}}],
        [{"counterSet": f"a-{index}", "counters": counters} for index in range(3)],
    ):
        create_device(api, consumesCounters=consumed)


@case("a slice has devices or counters")
def _(api: Api) -> None:
    counter_set = {"name": "a", "counters": {"a": {"value": "1"}}}
    create_slice(api, sharedCounters=[counter_set])
    create_slice(api, sharedCounters=[counter_set], devices=[{"name": "a"}])
    create_slice(api, sharedCounters=[counter_set, counter_set])
    create_slice(api, sharedCounters=[{}, {"name": "A", "counters": {"a b": {"value": "1"}}}])
    create_slice(api, sharedCounters=[{**counter_set, "name": f"a-{index}"} for index in range(9)])


@case("a device binds when conditions are met")
def _(api: Api) -> None:
    create_device(api, bindsToNode=True, bindingConditions=["a"], bindingFailureConditions=["b"])
    create_device(api, bindingConditions=["a"])
    create_device(api, bindingFailureConditions=["a"])
    create_device(api, bindingConditions=["a", "a"], bindingFailureConditions=["a"])


@case("the node, the driver and the pool of a slice are immutable")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    taint = {"key": "a", "effect": "NoSchedule", "timeAdded": TIME}
    devices = [{"name": "a", "taints": [taint]}]
    spec = {"driver": "example.com", "pool": POOL, "nodeName": "a", "devices": devices}
    api.create("resourceslices", named(VERSION, "ResourceSlice", name, spec=spec))
    for change in (
        {"driver": "b"},
        {"pool": {"name": "b"}},
        {"nodeName": "b"},
        {"nodeName": None, "allNodes": True},
        {"pool": {"generation": 2}},
    ):
        api.patch("resourceslices", name, {"spec": change}, dryRun="All")
    api.delete("resourceslices", name)


@case("a slice of an older version has the errors of the newest")
def _(api: Api) -> None:
    spec = {"driver": "a", "pool": POOL, "devices": [{"name": "A", "basic": {"attributes": {"a": {}}}}, {"name": "b"}]}
    body = named("resource.k8s.io/v1beta1", "ResourceSlice", f"{api.namespace}-a", spec=spec)
    api.create("resource.k8s.io/v1beta1/resourceslices", body, dryRun="All")


@case("a class of devices has selectors and configuration")
def _(api: Api) -> None:
    create_class(api, selectors=[{}], config=[{}])
    create_class(api, selectors=[{"cel": {}}], config=[CONFIG] * 33)
    create_class(api, selectors=[{"cel": {"expression": "true"}}] * 33)
    create_class(api, selectors=[{"cel": {"expression": "a" * 10_241}}])


@case("a class of devices names an extended resource")
def _(api: Api) -> None:
    for name in ("example.com/gpu", "gpu", "", "kubernetes.io/a", "requests.a/b", "a b/c", f"a/{'b' * 64}"):
        create_class(api, extendedResourceName=name)


@case("an update of a class of devices is validated")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.create("deviceclasses", named(VERSION, "DeviceClass", name, spec={"config": [CONFIG]}))
    for spec in ({"selectors": [{"cel": {"expression": "1"}}]}, {"config": [{}]}, {"extendedResourceName": "a/b"}):
        api.patch("deviceclasses", name, {"spec": spec})
    api.delete("deviceclasses", name)


@case("a selector of devices is a condition")
def _(api: Api) -> None:
    select(api, "true", "1", "device", "device.driver", "device.attributes", "device.capacity['a']", "dyn(true)", "(")


@case("a selector of devices reads attributes")
def _(api: Api) -> None:
    select(
        api,
        "device.attributes['a'].b",
        "device.attributes['a'].b == 1",
        "device.attributes['a'].b.c",
        "device.attributes['a'].b.exists(x, x == 1)",
        "device.attributes.a.b",
        "device.other",
        "other.driver == 'a'",
        "has(device.attributes['a'].b)",
        "'a' in device.attributes && 'b' in device.attributes['a']",
        "device.allowMultipleAllocations",
    )


@case("a selector of devices compares capacities and versions")
def _(api: Api) -> None:
    select(
        api,
        "device.capacity['a'].b",
        "device.capacity['a'].b.isGreaterThan(quantity('1Gi'))",
        "device.capacity['a'].b > 1",
        "device.attributes['a'].b.isGreaterThan(semver('1.0.0'))",
        "semver('1.0.0').isLessThan(device.attributes['a'].b)",
        "quantity('a').sign() == 1",
    )


@case("a selector of devices binds names")
def _(api: Api) -> None:
    select(
        api,
        "cel.bind(x, device.attributes['a'], x.b && x.c)",
        "cel.bind('x', 1, true)",
        "cel.bind(x, 1)",
        "cel.bind(x, true, x)",
        "bind(x, true, x)",
    )


@case("a selector of devices has a limited cost")
def _(api: Api) -> None:
    select(
        api,
        "device.attributes.all(k, device.attributes[k].all(l, true))",
        "device.attributes.all(k, device.attributes.all(l, device.attributes[k].all(m, device.attributes[l].all(n,"
        " true))))",
        "device.attributes['a'].b.matches('x*')",
        "device.driver.matches(device.driver)",
    )


@case("a taint rule selects devices")
def _(api: Api) -> None:
    for selector in (
        {},
        {"driver": "", "pool": "", "device": ""},
        {"driver": "A b", "pool": "a//b", "device": "A"},
        {"driver": "a", "pool": "a/b", "device": "c"},
    ):
        create_rule(api, deviceSelector=selector)


@case("a taint rule has a taint")
def _(api: Api) -> None:
    for taint in ({}, {"key": "a b", "value": "c d"}, {"key": "a", "effect": "Other"}, {"key": "a", "effect": "None"}):
        create_rule(api, taint={"timeAdded": TIME, **taint})


@case("the conditions of a taint rule are validated")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    spec = {"taint": {"key": "a", "effect": "NoSchedule", "timeAdded": TIME}}
    api.create("devicetaintrules", named("resource.k8s.io/v1beta2", "DeviceTaintRule", name, spec=spec))
    ready = {"type": "A", "status": "True", "reason": "A", "lastTransitionTime": TIME, "message": ""}
    for conditions in ([{}], [ready, ready], [{**ready, "type": f"A{index}"} for index in range(9)]):
        api.patch("devicetaintrules", f"{name}/status", {"status": {"conditions": conditions}})
    api.patch("devicetaintrules", name, {"spec": {"taint": {"effect": "Other"}}})
    api.delete("devicetaintrules", name)


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
