"""Rules of FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conformance.api import Api, CallResponse, Plain

case = area("Rules of flow control")

VERSION = "flowcontrol.apiserver.k8s.io/v1"
SCHEMAS = "flowschemas"
LEVELS = "prioritylevelconfigurations"
EVERYONE = [{"kind": "Group", "group": {"name": "everyone"}}]
PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}
PROBES = {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}


def schema(api: Api, **spec: object) -> Plain:
    fields = {"priorityLevelConfiguration": {"name": "exempt"}, **spec}
    return named(VERSION, "FlowSchema", f"{api.namespace}-a", spec=fields)


def create_schema(api: Api, **spec: object) -> CallResponse:
    return api.create(SCHEMAS, schema(api, **spec), dryRun="All")


def create_rule(api: Api, **rule: object) -> CallResponse:
    return create_schema(api, rules=[{"subjects": EVERYONE, **rule}])


def level(api: Api, **spec: object) -> Plain:
    return named(VERSION, "PriorityLevelConfiguration", f"{api.namespace}-a", spec=spec)


def create_level(api: Api, **spec: object) -> CallResponse:
    return api.create(LEVELS, level(api, **spec), dryRun="All")


def create_limited(api: Api, **limited: object) -> CallResponse:
    return create_level(api, type="Limited", limited={"limitResponse": {"type": "Reject"}, **limited})


def create_queues(api: Api, **queuing: object) -> CallResponse:
    return create_limited(api, limitResponse={"type": "Queue", "queuing": queuing})


@case("a flow schema has a precedence from 1 to 10000")
def _(api: Api) -> None:
    for precedence in (-1, 0, 1, 2, 10_000, 10_001):
        create_schema(api, matchingPrecedence=precedence)


@case("a flow schema names a priority level")
def _(api: Api) -> None:
    for name in ("", "-", "Upper", "a.b", "a" * 254):
        create_schema(api, priorityLevelConfiguration={"name": name})


@case("a flow schema distinguishes flows by user or namespace")
def _(api: Api) -> None:
    for method in ("ByUser", "ByNamespace", "", "<other>"):
        create_schema(api, distinguisherMethod={"type": method})
    create_schema(api, distinguisherMethod={})


@case("a rule of a flow schema has subjects")
def _(api: Api) -> None:
    create_schema(api, rules=[{}])
    create_schema(api, rules=[{"subjects": [], "resourceRules": [PODS]}])
    create_schema(api, rules=[{"subjects": EVERYONE}])


@case("a subject of a flow schema has one of three kinds")
def _(api: Api) -> None:
    for subject in ({}, {"kind": "Other"}, {"kind": "user", "user": {"name": "a"}}):
        create_rule(api, subjects=[subject], resourceRules=[PODS])


@case("a subject of a flow schema has the field of its kind")
def _(api: Api) -> None:
    for kind in ("User", "Group", "ServiceAccount"):
        create_rule(api, subjects=[{"kind": kind}], resourceRules=[PODS])


@case("a subject of a flow schema has no field of another kind")
def _(api: Api) -> None:
    account = {"name": "a", "namespace": "b"}
    subject = {"user": {"name": "a"}, "group": {"name": "a"}, "serviceAccount": account}
    for kind in ("User", "Group", "ServiceAccount"):
        create_rule(api, subjects=[{"kind": kind, **subject}], resourceRules=[PODS])


@case("a user and a group of a flow schema have names")
def _(api: Api) -> None:
    for kind in ("User", "Group"):
        for name in ("", "*", "system:masters"):
            create_rule(api, subjects=[{"kind": kind, kind.lower(): {"name": name}}], resourceRules=[PODS])


@case("a service account of a flow schema has a name and a namespace")
def _(api: Api) -> None:
    for account in (
        {},
        {"name": "*"},
        {"name": "*", "namespace": "a"},
        {"name": "A", "namespace": "A"},
        {"name": "a.b", "namespace": "a.b"},
        {"namespace": "*"},
    ):
        create_rule(api, subjects=[{"kind": "ServiceAccount", "serviceAccount": account}], resourceRules=[PODS])


@case("a resource rule of a flow schema has verbs")
def _(api: Api) -> None:
    for verbs in ([], ["*"], ["*", "get"], ["get", "other"], ["GET"], ["deletecollection", "proxy"]):
        create_rule(api, resourceRules=[{**PODS, "verbs": verbs}])


@case("a resource rule of a flow schema has groups")
def _(api: Api) -> None:
    for groups in ([], ["*"], ["", "*"], ["a", "b"]):
        create_rule(api, resourceRules=[{**PODS, "apiGroups": groups}])


@case("a resource rule of a flow schema has resources")
def _(api: Api) -> None:
    for resources in ([], ["*"], ["pods", "*"], ["pods/status", "A b"]):
        create_rule(api, resourceRules=[{**PODS, "resources": resources}])


@case("a resource rule of a flow schema has namespaces unless it is for the cluster")
def _(api: Api) -> None:
    for namespaces in ([], ["*"], ["a", "*"], ["A"], ["a.b"], ["a", ""]):
        create_rule(api, resourceRules=[{**PODS, "namespaces": namespaces}])
        create_rule(api, resourceRules=[{**PODS, "namespaces": namespaces, "clusterScope": True}])


@case("a resource rule of a flow schema may lack everything")
def _(api: Api) -> None:
    create_rule(api, resourceRules=[{}])
    create_rule(api, nonResourceRules=[{}])
    create_rule(api, resourceRules=[], nonResourceRules=[])


@case("a rule for paths of a flow schema has verbs and paths")
def _(api: Api) -> None:
    for verbs in ([], ["*"], ["*", "get"], ["other"]):
        create_rule(api, nonResourceRules=[{**PROBES, "verbs": verbs}])
    for paths in ([], ["*"], ["*", "/a"]):
        create_rule(api, nonResourceRules=[{**PROBES, "nonResourceURLs": paths}])


@case("the paths of a flow schema have wildcards at their ends only")
def _(api: Api) -> None:
    for path in ("", "/", "a", "/a b", "//", "/a//b", "/a/*", "/a*", "/*/a", "/*/*", "/a/b/", "/*"):
        create_rule(api, nonResourceRules=[{**PROBES, "nonResourceURLs": [path]}])


@case("all errors of a flow schema are reported in order")
def _(api: Api) -> None:
    rule = {"subjects": [{"kind": "User"}], "resourceRules": [{}], "nonResourceRules": [{}]}
    create_schema(
        api,
        matchingPrecedence=-1,
        priorityLevelConfiguration={},
        distinguisherMethod={"type": "a"},
        rules=[{}, rule],
    )


@case("an update of a flow schema is validated as a whole")
def _(api: Api) -> None:
    name = f"{api.namespace}-a"
    api.request("POST", api.path(SCHEMAS), schema(api), pick=lambda body: body["spec"])
    spec: Plain
    for spec in ({"matchingPrecedence": 1}, {"priorityLevelConfiguration": {"name": "-"}}, {"rules": [{}]}):
        api.patch(SCHEMAS, name, {"spec": spec}, dryRun="All")
    api.delete(SCHEMAS, name)


@case("the mandatory flow schemas cannot be changed")
def _(api: Api) -> None:
    for name in ("exempt", "catch-all"):
        for spec in ({"matchingPrecedence": 5}, {"distinguisherMethod": {"type": "ByNamespace"}}):
            api.patch(SCHEMAS, name, {"spec": spec}, dryRun="All")


@case("the conditions of a flow schema have unique types")
def _(api: Api) -> None:
    conditions: Sequence[object]
    for conditions in ([{}], [{"type": "A"}, {"type": "A"}], [{"type": ""}, {"type": ""}]):
        api.patch(SCHEMAS, "global-default/status", {"status": {"conditions": conditions}}, dryRun="All")


@case("a priority level is limited")
def _(api: Api) -> None:
    for kind in ("", "Other", "Limited", "Exempt"):
        create_level(api, type=kind)
        create_level(api, type=kind, limited={"limitResponse": {"type": "Reject"}}, exempt={})
    create_level(api)


@case("the shares and percentages of a priority level are bounded")
def _(api: Api) -> None:
    for shares in (-1, 0, 1):
        create_limited(api, nominalConcurrencyShares=shares)
    for percent in (-1, 0, 100, 101):
        create_limited(api, lendablePercent=percent)
        create_limited(api, borrowingLimitPercent=percent)


@case("a priority level rejects or queues")
def _(api: Api) -> None:
    for response in (
        {},
        {"type": "Other"},
        {"type": "Reject", "queuing": {}},
        {"type": "Queue"},
        {"type": "Queue", "queuing": {}},
    ):
        create_limited(api, limitResponse=response)
    create_level(api, type="Limited", limited={})


@case("the queues of a priority level have positive sizes")
def _(api: Api) -> None:
    for field in ("queues", "handSize", "queueLengthLimit"):
        for value in (-1, 0, 1):
            create_queues(api, **{field: value})
    create_queues(api, queues=10_000_001, handSize=1)
    create_queues(api, queues=10_000_000, handSize=1)


@case("the hands of a priority level fit into its queues and a hash")
def _(api: Api) -> None:
    for queues, hand in ((4, 5), (64, 10), (64, 11), (128, 8), (128, 9), (1, 1), (2, 2)):
        create_queues(api, queues=queues, handSize=hand)


@case("the annotation of old priority levels is refused")
def _(api: Api) -> None:
    body = level(api, type="Limited", limited={"limitResponse": {"type": "Reject"}})
    body["metadata"]["annotations"] = {"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": ""}
    api.create(LEVELS, body, dryRun="All")


@case("the exempt priority level changes nothing but its shares")
def _(api: Api) -> None:
    for spec in (
        {"exempt": {"nominalConcurrencyShares": 5, "lendablePercent": 50}},
        {"exempt": {"nominalConcurrencyShares": -1, "lendablePercent": 101}},
        {"type": "Limited"},
        {"limited": {"limitResponse": {"type": "Reject"}}},
    ):
        api.patch(LEVELS, "exempt", {"spec": spec}, dryRun="All")


@case("the priority level for everything else cannot be changed")
def _(api: Api) -> None:
    for limited in ({"nominalConcurrencyShares": 6}, {"borrowingLimitPercent": 1}):
        api.patch(LEVELS, "catch-all", {"spec": {"limited": limited}}, dryRun="All")


@case("the conditions of a priority level have unique types")
def _(api: Api) -> None:
    conditions: Sequence[object]
    for conditions in ([{}], [{"type": "A"}, {"type": "A"}]):
        api.patch(LEVELS, "system/status", {"status": {"conditions": conditions}}, dryRun="All")
