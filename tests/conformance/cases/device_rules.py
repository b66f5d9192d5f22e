"""Rules of the kinds of dynamic resource allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conformance.api import Api, CallResponse, Plain

case = area("Rules of device kinds")

VERSION = "resource.k8s.io/v1"
CONFIG = {"opaque": {"driver": "example.com", "parameters": {}}}
POOL = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
TIME = "2024-01-01T00:00:00Z"


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


@case("a slice has a driver and a pool")
def _(api: Api) -> None:
    for driver in ("", "A b", "Upper.com", "a" * 64):
        create_slice(api, driver=driver)
    for pool in ({}, {**POOL, "name": "a/b"}, {**POOL, "name": "/"}, {"name": "a", "generation": -1}):
        create_slice(api, pool=pool)


@case("a slice is for one node, some or all")
def _(api: Api) -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    spec: Plain
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
    device: Plain
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
    consumed: Sequence[object]
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
    spec: Plain
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
    conditions: Sequence[object]
    for conditions in ([{}], [ready, ready], [{**ready, "type": f"A{index}"} for index in range(9)]):
        api.patch("devicetaintrules", f"{name}/status", {"status": {"conditions": conditions}})
    api.patch("devicetaintrules", name, {"spec": {"taint": {"effect": "Other"}}})
    api.delete("devicetaintrules", name)
