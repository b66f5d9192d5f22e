"""Apply: conflicts with other managers, and how they are won."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Conflicts of apply")


def scaled(replicas: int) -> Plain:
    """Only the replicas of a deployment."""
    return {**named("apps/v1", "Deployment", "a"), "spec": {"replicas": replicas}}


@case("one field of another applier")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2", "l": "1"}), "two")
    api.get("configmaps", "a")


@case("several fields of another applier")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "1"}, labels={"x": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2", "l": "2"}, labels={"x": "2"}), "two")


@case("fields of several appliers")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "zed")
    api.apply("configmaps", "a", config_map("a", data={"l": "1", "m": "1"}), "ann")
    api.apply("configmaps", "a", config_map("a", data={"k": "2", "l": "2", "m": "2"}))


@case("one field that two appliers share")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "zed")
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "ann")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "ann")


@case("a field of an update")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}))


@case("fields of updates through a subresource")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=1))
    api.patch("deployments", "a/scale", {"spec": {"replicas": 3}}, fieldManager="scaler")
    api.apply("deployments", "a", scaled(2))
    api.patch("deployments", "a/status", {"status": {"replicas": 3}}, fieldManager="controller")
    status = {**named("apps/v1", "Deployment", "a"), "status": {"replicas": 2}}
    api.apply("deployments", "a/status", status)


@case("fields of an applier and of an update together")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="zed")
    api.apply("configmaps", "a", config_map("a", data={"l": "1"}), "ann")
    api.patch("configmaps", "a", {"data": {"m": "1"}}, fieldManager="bob")
    api.apply("configmaps", "a", config_map("a", data={"k": "2", "l": "2", "m": "2"}))


@case("fields of one manager by apply and update")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="ann")
    api.apply("configmaps", "a", config_map("a", data={"l": "1"}), "ann")
    api.apply("configmaps", "a", config_map("a", data={"k": "2", "l": "2"}))


@case("the same value is no conflict")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=2))
    api.apply("deployments", "a", scaled(2))
    api.apply("deployments", "a", scaled(2), "two")
    api.apply("deployments", "a", scaled(3), "two")


@case("force takes the fields over")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "two", force="true")
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"l": "1"}))


@case("force takes fields over from updates")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", replicas=2))
    api.apply("deployments", "a", scaled(5), force="true")
    api.patch("deployments", "a/scale", {"spec": {"replicas": 3}})
    api.apply("deployments", "a", scaled(5), force="true")


@case("force takes the last field of a manager, and its entry goes")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "two", force="true")
    api.apply("configmaps", "a", config_map("a", data={"k": "3"}), "three", force="true")


@case("force without a conflict")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), force="true")
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), force="true")
    api.apply("configmaps", "a", config_map("a", data={"l": "1"}), "two", force="true")


@case("force in other spellings")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    for number, force in enumerate(("false", "0", "1", "True", "yes", "")):
        api.apply("configmaps", "a", config_map("a", data={"k": f"x{number}"}), f"m{number}", force=force)


@case("a field that is removed by an update conflicts no more")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1", "l": "1"}))
    api.patch("configmaps", "a", {"data": {"k": None}})
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), "two")


@case("items of a list that belong to others")
def _(api: Api) -> None:
    api.apply("services", "a", service("a", spec={"ports": [{"name": "web", "port": 80}]}))
    ports = [{"name": "web", "port": 80, "targetPort": 8080}, {"name": "tls", "port": 443}]
    api.apply("services", "a", service("a", spec={"ports": ports}), "two")
    ports = [{"name": "http", "port": 80}]
    api.apply("services", "a", service("a", spec={"ports": ports}), "two")


@case("a field within an item of a list")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a"))
    other = deployment("a")
    other["spec"]["template"]["spec"]["containers"] = [{"name": "main", "image": "other"}]
    api.apply("deployments", "a", other, "two")
    api.apply("deployments", "a", other, "two", force="true")
    api.apply("deployments", "a", deployment("a"))


@case("a whole that others have set as one value")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a"))
    other = {**named("apps/v1", "Deployment", "a"), "spec": {"selector": {"matchLabels": {"app": "b"}}}}
    api.apply("deployments", "a", other, "two")
    api.apply("deployments", "a", other, "two", force="true")


@case("an update never conflicts")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.update("configmaps", "a", config_map("a", data={"k": "2"}), fieldManager="two")
    api.patch("configmaps", "a", {"data": {"k": "3"}}, fieldManager="three")
    api.patch("configmaps", "a", [{"op": "remove", "path": "/data/k"}], by="json", fieldManager="four")


@case("a conflict goes before a refusal of the values")
def _(api: Api) -> None:
    api.apply("deployments", "a", deployment("a", replicas=1))
    api.apply("deployments", "a", scaled(-1), "two")
    api.apply("deployments", "a", scaled(-1), "two", force="true")


@case("a conflict goes before a stale version")
def _(api: Api) -> None:
    made = api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "3"}, version=made.version), "two")


@case("labels, annotations, finalizers and owners of others")
def _(api: Api) -> None:
    owner = api.create("configmaps", config_map("owner"))
    reference: Plain = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
    meta: Plain = {"labels": {"l": "1"}, "annotations": {"a": "1"}, "finalizers": ["example.com/one"]}
    api.apply("configmaps", "a", config_map("a", **meta, ownerReferences=[reference]))
    meta = {"labels": {"l": "2"}, "annotations": {"a": "2"}, "finalizers": ["example.com/two"]}
    reference = {**reference, "controller": True}
    api.apply("configmaps", "a", config_map("a", **meta, ownerReferences=[reference]), "two")
    api.apply("configmaps", "a", config_map("a", **meta, ownerReferences=[reference]), "two", force="true")
