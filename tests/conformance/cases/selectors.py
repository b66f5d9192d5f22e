"""labelSelector and fieldSelector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Selectors")


def three_config_maps(api: Api) -> None:
    api.create("configmaps", config_map("a", labels={"tier": "front", "size": "1"}))
    api.create("configmaps", config_map("b", labels={"tier": "back", "size": "20"}))
    api.create("configmaps", config_map("c"))


@case("equality")
def _(api: Api) -> None:
    three_config_maps(api)
    for selector in ("tier=front", "tier==front", "tier!=front", "tier=front,size=1", "tier=front,size=2"):
        api.list("configmaps", labelSelector=selector)


@case("sets")
def _(api: Api) -> None:
    three_config_maps(api)
    for selector in (
        "tier in (front,back)",
        "tier notin (front)",
        "tier in ()",
        "tier in (front",
        "tier in front",
    ):
        api.list("configmaps", labelSelector=selector)


@case("existence")
def _(api: Api) -> None:
    three_config_maps(api)
    for selector in ("tier", "!tier", "tier,!size", "! tier"):
        api.list("configmaps", labelSelector=selector)


@case("numbers")
def _(api: Api) -> None:
    three_config_maps(api)
    for selector in ("size>3", "size<3", "size>three", "size>"):
        api.list("configmaps", labelSelector=selector)


@case("empty values and white space")
def _(api: Api) -> None:
    three_config_maps(api)
    for selector in ("", " ", "tier=", "tier in (front, )", " tier = front , size = 1 ", "tier=front,"):
        api.list("configmaps", labelSelector=selector)


@case("malformed label selectors are refused")
def _(api: Api) -> None:
    for selector in ("a=b=c", "=a", "a b", ",", "a,,b", "in (a)", "a in b,c", "a(b)", "!", "a!b", "a=!b"):
        api.list("configmaps", labelSelector=selector)


@case("label selectors with keys and values that cannot be are refused")
def _(api: Api) -> None:
    for selector in ("-a=b", "a/b/c=d", "a=b c", "a=-b", "a=" + "v" * 64, "UPPER.com/a=b", "a_b!=c"):
        api.list("configmaps", labelSelector=selector)


@case("a selector that is given twice")
def _(api: Api) -> None:
    three_config_maps(api)
    api.list("configmaps", labelSelector=["tier=front", "tier=back"])


@case("names by field")
def _(api: Api) -> None:
    three_config_maps(api)
    for selector in (
        "metadata.name=a",
        "metadata.name==a",
        "metadata.name!=a",
        "metadata.name=a,metadata.name=b",
    ):
        api.list("configmaps", fieldSelector=selector)
    api.list("configmaps", fieldSelector=f"metadata.namespace={api.namespace}")
    api.list("configmaps", fieldSelector="metadata.namespace=default")


@case("names by field across namespaces")
def _(api: Api) -> None:
    three_config_maps(api)
    api.list("configmaps", everywhere=True, fieldSelector=f"metadata.namespace={api.namespace},metadata.name=b")


@case("both selectors at once")
def _(api: Api) -> None:
    three_config_maps(api)
    api.list("configmaps", labelSelector="tier", fieldSelector="metadata.name!=a")


@case("malformed field selectors are refused")
def _(api: Api) -> None:
    for selector in (
        "metadata.name",
        "=",
        "metadata.name>a",
        "metadata.name in (a)",
        ",",
        "metadata.name=a,",
        "a=b=c",
    ):
        api.list("configmaps", fieldSelector=selector)


@case("a backslash escapes in field selectors")
def _(api: Api) -> None:
    for selector in ("metadata.name=a\\,b", "metadata.name=a\\=b", "metadata.name=a\\", "metadata.name=a\\x"):
        api.list("configmaps", fieldSelector=selector)


@case("fields that are not supported are refused")
def _(api: Api) -> None:
    for resource in (
        "configmaps",
        "pods",
        "deployments",
        "nodes",
        "events",
        "secrets",
        "jobs",
        "services",
        "leases",
    ):
        api.list(resource, fieldSelector="spec.nonsense=1")
    api.list("configmaps", fieldSelector="data.k=v")
    api.list("clusterroles", fieldSelector="metadata.namespace=a")
    api.list("namespaces", fieldSelector="metadata.namespace=a")


@case("pods by field")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "one"}))
    api.create("pods", pod("b", spec={"serviceAccountName": "robot", "hostNetwork": True}))
    for selector in (
        "spec.nodeName=one",
        "spec.nodeName=",
        "spec.restartPolicy=Always",
        "spec.schedulerName=default-scheduler",
        "spec.serviceAccountName=robot",
        "spec.hostNetwork=true",
        "status.phase=Pending",
        "status.phase!=Pending",
        "status.podIP=",
        "status.podIPs=",
        "status.nominatedNodeName=",
    ):
        api.list("pods", fieldSelector=selector)


@case("secrets by type")
def _(api: Api) -> None:
    api.create("secrets", named("v1", "Secret", "a"))
    api.create("secrets", named("v1", "Secret", "b", type="example.com/special"))
    api.list("secrets", fieldSelector="type=Opaque")
    api.list("secrets", fieldSelector="type!=Opaque")


@case("events by what they are about")
def _(api: Api) -> None:
    involved = {
        "kind": "Pod",
        "name": "p",
        "namespace": api.namespace,
        "apiVersion": "v1",
        "fieldPath": "spec",
    }
    body = {"involvedObject": involved, "reason": "Tested", "message": "words", "type": "Normal"}
    api.create("events", named("v1", "Event", "a", **body, source={"component": "test"}))
    for selector in (
        "involvedObject.name=p,involvedObject.kind=Pod",
        "involvedObject.name=q",
        "involvedObject.apiVersion=v1,involvedObject.fieldPath=spec",
        "reason=Tested,type=Normal",
        "source=test",
        "reportingComponent=",
        "type=Warning",
    ):
        api.list("events", fieldSelector=selector)
    api.list("events.k8s.io/v1/events", fieldSelector="regarding.name=p")
    api.list("events.k8s.io/v1/events", fieldSelector="involvedObject.name=p")


@case("services, nodes and replica sets by field")
def _(api: Api) -> None:
    api.list("services", fieldSelector="spec.clusterIP=None,spec.type=ClusterIP")
    api.list("nodes", fieldSelector=f"spec.unschedulable=false,metadata.name={api.namespace}")
    api.list("replicasets", fieldSelector="status.replicas=0")
    api.list("replicationcontrollers", fieldSelector="status.replicas=0")
    api.list("jobs", fieldSelector="status.successful=0")
    api.list("certificatesigningrequests", fieldSelector=f"spec.signerName=example.com/{api.namespace}")


@case("selectors on a watch are checked too")
def _(api: Api) -> None:
    api.watch("configmaps", labelSelector="a=b=c")
    api.watch("configmaps", fieldSelector="nonsense=1")


@case("selectors on a single object are ignored")
def _(api: Api) -> None:
    three_config_maps(api)
    api.get("configmaps", "c", labelSelector="tier", fieldSelector="nonsense=1")
