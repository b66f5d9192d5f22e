"""dryRun=All: everything but the write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Dry runs")


@case("a dry-run create returns the object, and stores nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"), dryRun="All")
    api.get("configmaps", "a")
    api.create("deployments", deployment("a"), dryRun="All")


@case("create with a version is not refused, since nothing is stored")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", version="5"), dryRun="All")


@case("create of a name that is there is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("a"), dryRun="All")


@case("create generates a name")
def _(api: Api) -> None:
    api.create("configmaps", config_map(generateName="a-"), dryRun="All")


@case("create checks what it gets")
def _(api: Api) -> None:
    api.create("configmaps", config_map("A B"), dryRun="All")
    api.create("configmaps", config_map("a", namespace="default"), dryRun="All")


@case("a dry-run update returns the object, and stores nothing")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.update("deployments", "a", deployment("a", replicas=3), dryRun="All")
    api.get("deployments", "a")


@case("update with a stale version is refused")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a", data={"k": "1"}))
    api.update("configmaps", "a", config_map("a", data={"k": "2"}, version=made.version), dryRun="All")


@case("creation by update keeps nothing")
def _(api: Api) -> None:
    lease = named("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me"})
    api.update("leases", "a", lease, dryRun="All")
    api.get("leases", "a")


@case("a dry-run patch returns the object, and stores nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"data": {"k": "v"}}, dryRun="All")
    api.patch("configmaps", "a", [{"op": "add", "path": "/data", "value": {"k": "v"}}], by="json", dryRun="All")
    api.get("configmaps", "a")


@case("a dry-run delete returns as usual, and deletes nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", dryRun="All")
    api.delete("configmaps", "a", {"dryRun": ["All"]})
    api.get("configmaps", "a")


@case("delete of a pod and of what has finalizers")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "node"}))
    api.delete("pods", "a", dryRun="All")
    api.get("pods", "a")
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.delete("configmaps", "a", dryRun="All")
    api.get("configmaps", "a")


@case("delete of what is not there is refused")
def _(api: Api) -> None:
    api.delete("configmaps", "a", dryRun="All")


@case("dry runs of status and scale store nothing")
def _(api: Api) -> None:
    made = api.create("deployments", deployment("a"))
    api.update("deployments", "a/status", {**made.body, "status": {"replicas": 3}}, dryRun="All")
    scale = api.get("deployments", "a/scale")
    api.update("deployments", "a/scale", {**scale.body, "spec": {"replicas": 5}}, dryRun="All")
    api.get("deployments", "a")


@case("a service gets no address that would be lost")
def _(api: Api) -> None:
    api.create("services", service("a"), dryRun="All")


@case("values other than All are refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"), dryRun="foo")
    api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a"), dryRun="foo")
    api.patch("configmaps", "a", {}, dryRun="foo")
    api.delete("configmaps", "a", dryRun="foo")
    api.delete("configmaps", "a", {"dryRun": ["foo"]})
    api.delete_all("configmaps", dryRun="foo")


@case("an empty value and a repeated one")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"), dryRun="")
    api.create("configmaps", config_map("b"), dryRun=["All", "All"])
    api.create("configmaps", config_map("c"), dryRun=["All", "foo"])


@case("a read takes no notice of it")
def _(api: Api) -> None:
    api.list("configmaps", dryRun="All")
    api.get("configmaps", "a", dryRun="foo")
