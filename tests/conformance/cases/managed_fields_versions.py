"""Managed fields: managers at different versions, and what clients of old leave to apply."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import (
    TEXT,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
    update,
    version_of,
)
from tests.conformance.objects import config_map, deployment, named

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Managed fields across versions")

OLD, NEW = "autoscaling/v1/horizontalpodautoscalers", "autoscaling/v2/horizontalpodautoscalers"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TARGET = {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}


def autoscaler(version: str, **spec: Any) -> Plain:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 3} | spec
    return named(f"autoscaling/{version}", "HorizontalPodAutoscaler", "a", spec=spec)


def last_applied(body: Plain, **more: Any) -> Plain:
    """The body as `kubectl apply` creates it."""
    text = json.dumps(body | more)
    return {**body, "metadata": {**body["metadata"], "annotations": {LAST_APPLIED: text}}}


@case("an object created in one version and patched in another")
def _(api: Api) -> None:
    api.create(OLD, autoscaler("v1", targetCPUUtilizationPercentage=50), fieldManager="old")
    api.patch(NEW, "a", {"spec": {"maxReplicas": 4}}, fieldManager="new")
    api.patch(OLD, "a", {"spec": {"maxReplicas": 5}}, fieldManager="old")
    api.get(NEW, "a")


@case("a field that has another name in the other version")
def _(api: Api) -> None:
    api.create(OLD, autoscaler("v1", targetCPUUtilizationPercentage=50), fieldManager="old")
    target = {"type": "Utilization", "averageUtilization": 60}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    api.patch(NEW, "a", {"spec": {"metrics": [metric]}}, fieldManager="new")
    api.patch(OLD, "a", {"spec": {"targetCPUUtilizationPercentage": 70}}, fieldManager="old")


@case("conflicts between versions")
def _(api: Api) -> None:
    api.apply(OLD, "a", autoscaler("v1", targetCPUUtilizationPercentage=50), "old")
    api.apply(NEW, "a", autoscaler("v2", maxReplicas=4), "new")
    api.apply(NEW, "a", autoscaler("v2", maxReplicas=4), "new", force="true")
    api.apply(OLD, "a", autoscaler("v1", targetCPUUtilizationPercentage=50), "old")


@case("one applier in two versions has one entry")
def _(api: Api) -> None:
    api.apply(OLD, "a", autoscaler("v1", minReplicas=2))
    api.apply(NEW, "a", autoscaler("v2", minReplicas=2))
    api.apply(NEW, "a", autoscaler("v2"))
    api.apply(OLD, "a", autoscaler("v1"))


@case("one updater in two versions has two entries")
def _(api: Api) -> None:
    api.create(OLD, autoscaler("v1"))
    api.patch(NEW, "a", {"spec": {"minReplicas": 2}})
    api.patch(OLD, "a", {"spec": {"minReplicas": 1}})


@case("an apply in a version that is not that of the path")
def _(api: Api) -> None:
    api.apply(NEW, "a", autoscaler("v1"))
    api.apply(OLD, "a", autoscaler("v2"))
    api.apply(NEW, "a", autoscaler("v2"))
    api.apply(NEW, "a", autoscaler("v1"))


@case("an entry of a version that the server does not have")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=1), fieldManager="creator")
    entry = {
        "manager": "old",
        "operation": "Update",
        "apiVersion": "extensions/v1beta1",
        "time": "2001-02-03T04:05:06Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }
    api.patch("deployments", "a", {"metadata": {"managedFields": [entry]}})
    api.patch("deployments", "a", {"metadata": {"labels": {"l": "1"}}}, fieldManager="two")
    api.patch("deployments", "a", {"spec": {"replicas": 2}}, fieldManager="two")
    api.patch("deployments", "a", {"metadata": {"managedFields": [entry | {"operation": "Apply"}]}})
    api.apply("deployments", "a", named("apps/v1", "Deployment", "a", spec={"replicas": 3}), "new")
    api.apply("deployments", "a", named("apps/v1", "Deployment", "a", spec={"replicas": 3}), "old")


def _two_versions(api: Api) -> tuple[str, str]:
    """Install a definition of two versions with the same fields; return their resources."""
    schema = object_of(spec=object_of(color=TEXT, shade=TEXT))
    install(api, definition(api, versions=[version_of(schema), version_of(schema, "v2")]))
    return resource_of(api), resource_of(api, version="v2")


def _widget(api: Api, version: str = "v1", **spec: Any) -> Plain:
    return named(f"{group_of(api)}/{version}", "Widget", "a", spec=spec)


@case("custom resources in two versions")
def _(api: Api) -> None:
    first, second = _two_versions(api)
    api.create(first, _widget(api, color="red"), fieldManager="one")
    api.patch(second, "a", {"spec": {"color": "blue"}}, fieldManager="two")
    api.apply(second, "a", _widget(api, "v2", shade="dark"), "three")
    api.apply(first, "a", _widget(api, color="green"), "three")
    api.apply(first, "a", _widget(api, color="green"), "three", force="true")


@case("a version that is no longer served, and its entries")
def _(api: Api) -> None:
    first, second = _two_versions(api)
    api.create(second, _widget(api, "v2", color="red"), fieldManager="one")
    api.apply(second, "a", _widget(api, "v2", shade="dark"), "two")

    def retire(found: Plain) -> None:
        found["spec"]["versions"][1]["served"] = False

    update(api, "widgets", retire)
    api.await_response(api.path(second, "a"), lambda status, _: status == 404)
    api.patch(first, "a", {"spec": {"color": "blue"}}, fieldManager="three")
    api.apply(first, "a", _widget(api, color="green"), "two")
    api.apply(first, "a", _widget(api, shade="light"), "two")


@case("the first apply after updates that were not tracked")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    api.patch("configmaps", "a", {"metadata": {"managedFields": [{}]}})
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), force="true")
    api.get("configmaps", "a")


@case("an update after a reset, and then an apply")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    api.patch("configmaps", "a", {"metadata": {"managedFields": [{}]}})
    api.patch("configmaps", "a", {"data": {"l": "1"}})
    api.apply("configmaps", "a", config_map("a", data={"m": "1"}))
    api.patch("configmaps", "a", {"data": {"n": "1"}})


@case("kubectl takes its last applied configuration over")
def _(api: Api) -> None:
    made = last_applied(config_map("a", data={"k": "1", "l": "1"}))
    api.create("configmaps", made, fieldManager="kubectl-client-side-apply")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "kubectl")
    api.get("configmaps", "a")


@case("kubectl applies the same by the server")
def _(api: Api) -> None:
    made = last_applied(config_map("a", data={"k": "1"}))
    api.create("configmaps", made, fieldManager="kubectl-client-side-apply")
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "kubectl")
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "kubectl")


@case("another manager than kubectl takes nothing over")
def _(api: Api) -> None:
    made = last_applied(config_map("a", data={"k": "1"}))
    api.create("configmaps", made, fieldManager="kubectl-client-side-apply")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "helm")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "kubectl-client-side-apply")


@case("a last applied configuration that is not what is there")
def _(api: Api) -> None:
    made = last_applied(config_map("a", data={"k": "1"}), data={"k": "0"})
    api.create("configmaps", made, fieldManager="creator")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "kubectl")
    api.patch("configmaps", "a", {"data": {"x": "1"}}, fieldManager="other")
    api.apply("configmaps", "a", config_map("a", data={"x": "2"}), "kubectl")


@case("a last applied configuration that cannot be read")
def _(api: Api) -> None:
    for number, text in enumerate(("", "{", "[]", "null", "{}", '{"kind": "Pod"}', '{"data": {"k": "1"}}')):
        name = f"a{number}"
        api.create("configmaps", config_map(name, data={"k": "1"}, annotations={LAST_APPLIED: text}))
        api.apply("configmaps", name, config_map(name, data={"k": "2"}), "kubectl")


@case("an apply by the server keeps the last applied configuration up to date")
def _(api: Api) -> None:
    made = last_applied(config_map("a", data={"k": "1"}))
    api.create("configmaps", made, fieldManager="kubectl-client-side-apply")
    body = config_map("a", data={"k": "2"}, annotations={LAST_APPLIED: "{}"})
    api.apply("configmaps", "a", body, "kubectl", force="true")
    api.apply("configmaps", "a", config_map("a", data={"k": "3"}), "kubectl")
    api.apply("configmaps", "a", config_map("a", data={"k": "3"}), "kubectl", dryRun="All")


@case("a configuration that is too large to be kept")
def _(api: Api) -> None:
    made = last_applied(config_map("a", data={"k": "1"}))
    api.create("configmaps", made, fieldManager="kubectl-client-side-apply")
    pick = lambda body: {**body, "data": sorted(body.get("data", ()))}  # noqa: E731
    headers = {"Content-Type": "application/apply-patch+yaml"}
    body = config_map("a", data={"k": "1", "large": "x" * 300_000})
    api.request(
        "PATCH",
        api.path("configmaps", "a"),
        body,
        query={"fieldManager": "kubectl"},
        headers=headers,
        pick=pick,
    )
