"""Apply: requests and configurations that the server refuses, in its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Bad apply requests")

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


def of_deployment(**spec: object) -> Plain:
    return {**named("apps/v1", "Deployment", "a"), "spec": spec}


@case("an apply without a manager")
def _(api: Api) -> None:
    api.patch("configmaps", "a", config_map("a"), by="apply")
    api.patch("configmaps", "a", config_map("a"), by="apply", fieldManager="")
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", config_map("a"), by="apply")


@case("managers with impossible names")
def _(api: Api) -> None:
    for manager in ("x" * 129, "a\tb", "a\u0000b", "é" * 65, "a\u2028b", "a\u00a0b", "\u200b"):
        api.apply("configmaps", "a", config_map("a", data={"k": "1"}), manager)


@case("managers with strange names")
def _(api: Api) -> None:
    for number, manager in enumerate(("x" * 128, "a b", " ", "a/b", "é", '"', "<&>", "日本", "{}")):
        api.apply("configmaps", "a", config_map("a", data={f"k{number}": "1"}), manager)


@case("two managers in one request")
def _(api: Api) -> None:
    path = api.path("configmaps", "a")
    headers = {"Content-Type": "application/apply-patch+yaml"}
    api.request("PATCH", path, config_map("a"), query={"fieldManager": ["one", "two"]}, headers=headers)


@case("impossible managers of other verbs")
def _(api: Api) -> None:
    manager = "a\nb"
    api.create("configmaps", config_map("a"), fieldManager=manager)
    api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a", data={"k": "1"}), fieldManager=manager)
    api.patch("configmaps", "a", {"data": {"k": "2"}}, fieldManager=manager)
    api.patch("configmaps", "a", {"data": {"k": "2"}}, fieldManager="x" * 129)
    api.patch("configmaps", "a/status", {"data": {"k": "2"}}, fieldManager="x" * 129)
    api.delete("configmaps", "a", fieldManager=manager)


@case("a body that is no configuration")
def _(api: Api) -> None:
    for body in ("", "null", "[]", '"text"', "{", "3", "a: b: c", "\t", "{}", "- a\n- b\n", "\u0000"):
        api.apply("configmaps", "a", body)


@case("a configuration without a kind or a version")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {"metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"kind": "ConfigMap", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": 1, "kind": "ConfigMap", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": ["ConfigMap"], "metadata": {"name": "a"}})
    api.apply("configmaps", "a", named("v1", "configmap", "a"))
    api.apply("configmaps", "a", named("a/b/c", "ConfigMap", "a"))


@case("metadata that is none")
def _(api: Api) -> None:
    wrong: tuple[object, ...] = (None, [], "a", 3, {})
    for metadata in wrong:
        api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    api.apply("configmaps", "a", named("v1", "ConfigMap") | {"metadata": {"name": 3}})
    api.apply("configmaps", "a", config_map("a", labels=["a"]))
    api.apply("configmaps", "a", config_map("a", annotations={"a": 1}))


@case("managed fields in a configuration")
def _(api: Api) -> None:
    made = api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", managedFields=made.metadata.get("managedFields")))
    api.apply("configmaps", "a", config_map("a", managedFields=[]))
    api.apply("configmaps", "a", config_map("a", managedFields=[{}]))
    api.apply("configmaps", "a", {**config_map("a"), "metadata": {"name": "a", "managedFields": None}})
    api.apply("configmaps", "a", config_map("a", managedFields="none"))


@case("fields that are not declared")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {**config_map("a"), "nonsense": 1})
    api.apply("deployments", "a", of_deployment(nonsense={"a": 1}))
    api.apply("configmaps", "a", config_map("a", nonsense="1"))
    api.create("configmaps", config_map("b"))
    api.apply("configmaps", "b", {**config_map("b"), "nonsense": 1})
    api.apply("configmaps", "b", {**config_map("b"), "nonsense": None})


@case("fields that are not declared, by field validation")
def _(api: Api) -> None:
    for directive in ("Strict", "Warn", "Ignore", "Sometimes"):
        api.apply("configmaps", "a", {**config_map("a"), "nonsense": 1}, fieldValidation=directive)


@case("fields of an item that are not declared")
def _(api: Api) -> None:
    spec = {"containers": [{"name": "main", "image": "image", "nonsense": True}]}
    api.apply("pods", "a", {**named("v1", "Pod", "a"), "spec": spec})
    spec = {"containers": [{"name": "main", "image": "image", "env": [{"name": "A", "valeu": "1"}]}]}
    api.apply("pods", "a", {**named("v1", "Pod", "a"), "spec": spec})


@case("keys that stand twice in YAML")
def _(api: Api) -> None:
    for directive in ("Strict", "Warn", "Ignore"):
        api.apply("configmaps", "a", HEAD + "data:\n  k: '1'\n  k: '2'\n", fieldValidation=directive)
    api.apply("configmaps", "a", HEAD + "kind: ConfigMap\n", fieldValidation="Strict")


@case("values of the wrong type")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {**config_map("a"), "data": {"k": 1}})
    api.apply("configmaps", "a", {**config_map("a"), "data": ["k"]})
    api.apply("configmaps", "a", {**config_map("a"), "data": "k"})
    api.apply("configmaps", "a", {**config_map("a"), "immutable": "yes"})
    api.apply("deployments", "a", of_deployment(replicas="three"))
    api.apply("deployments", "a", of_deployment(replicas=1.5))
    api.apply("deployments", "a", of_deployment(template=[]))
    api.apply("deployments", "a", of_deployment(template={"spec": {"containers": {"name": "a"}}}))
    api.apply("deployments", "a", of_deployment(template={"spec": {"containers": ["main"]}}))


@case("several values of the wrong type")
def _(api: Api) -> None:
    spec = {"containers": [{"name": "a", "image": 2}, {"name": "b", "ports": "all"}, {"name": "c", "tty": 1}]}
    api.apply("pods", "a", {**named("v1", "Pod", "a"), "spec": spec})
    api.apply("pods", "a", {**named("v1", "Pod", "a"), "spec": {"containers": [{"name": 1}, {"name": "b", "x": 1}]}})
    api.apply("configmaps", "a", config_map("a", finalizers=[1, "a", None, {}]))


@case("numbers beyond their type")
def _(api: Api) -> None:
    body = deployment("a")
    for number in (2**31, 2**63, 1e3, 1e30, -(2**40)):
        api.apply("deployments", "a", {**body, "spec": {**body["spec"], "replicas": number}})


@case("numbers that may be texts, beyond their type")
def _(api: Api) -> None:
    for number in (2**31 - 1, 2**31, -(2**31) - 1, 1e10, 1.5, True):
        api.apply("services", "a", service("a", spec={"ports": [{"port": 80, "targetPort": number}]}))


@case("values of null")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {**config_map("a"), "data": None})
    api.apply("configmaps", "a", {**config_map("a"), "data": {"k": None}})
    api.apply("configmaps", "a", {**config_map("a", data={"k": "1"}), "binaryData": None})
    api.apply("deployments", "a", {**deployment("a"), "status": None})
    api.apply("deployments", "a", of_deployment(replicas=None))
    api.apply("deployments", "a", of_deployment(template={"spec": {"containers": None}}))
    api.apply("deployments", "a", of_deployment(template={"spec": {"containers": [None]}}))


@case("items that stand twice")
def _(api: Api) -> None:
    twice = [{"name": "main", "image": "image"}, {"name": "main", "image": "other"}]
    api.apply("pods", "a", pod("a", spec={"containers": twice}))
    api.apply("configmaps", "a", config_map("a", finalizers=["example.com/a", "example.com/a"]))
    gates = [{"name": "example.com/a"}, {"name": "example.com/a"}]
    api.apply("pods", "a", pod("a", spec={"schedulingGates": gates}))


@case("an apply of CBOR is refused")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a"))
    body = b"\xd9\xd9\xf7\xa0"
    media = "application/apply-patch+cbor"
    api.patch("configmaps", "a", body, by=media, fieldManager="one")
    api.patch("configmaps", "a", body, by=media)
    api.patch("configmaps", "a", body, by="application/cbor", fieldManager="one")


@case("media types near that of apply")
def _(api: Api) -> None:
    api.patch("configmaps", "a", config_map("a"), by="application/apply-patch+yaml; charset=utf-8", fieldManager="a")
    for media in ("application/apply-patch+json", "application/apply-patch", "application/yaml"):
        api.patch("configmaps", "a", config_map("a"), by=media, fieldManager="one")


@case("an apply of a resource that is not there")
def _(api: Api) -> None:
    headers = {"Content-Type": "application/apply-patch+yaml"}
    path = f"/apis/example.com/v1/namespaces/{api.namespace}/things/a"
    api.request("PATCH", path, config_map("a"), query={"fieldManager": "one"}, headers=headers)
    path = api.path("configmaps", "a/nonsense")
    api.request("PATCH", path, config_map("a"), query={"fieldManager": "one"}, headers=headers)
    path = api.path("configmaps")
    api.request("PATCH", path, config_map("a"), query={"fieldManager": "one"}, headers=headers)


@case("options of apply that cannot be")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a"), dryRun="Some")
    api.apply("configmaps", "a", config_map("a"), "x" * 200, dryRun="Some", fieldValidation="No")
    api.apply("configmaps", "a", config_map("a"), force=["true", "false"])
    api.patch("configmaps", "a", config_map("a"), by="apply", force="true")


@case("an apply of a large object")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"k": "x" * 1_048_577}))
    api.apply("configmaps", "a", config_map("a", data={"k": "x" * 3_200_000}))


@case("an apply that nests very deep")
def _(api: Api) -> None:
    api.apply("configmaps", "a", HEAD + "data: " + "[" * 20_000 + "]" * 20_000)
    api.apply("configmaps", "a", HEAD + "data: " + '{"a":' * 20_000 + "1" + "}" * 20_000)


@case("a YAML bomb")
def _(api: Api) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 10)]
    api.apply("configmaps", "a", HEAD + "\n".join(lines))


@case("YAML with values that are no text")
def _(api: Api) -> None:
    for value in ("yes", "1", "1.5", "~", "2001-02-03", "0x1F", "!!str 1"):
        api.apply("configmaps", "a", HEAD + f"data:\n  k: {value}\n")


@case("an apply to an object whose managed fields are gone")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    api.patch("configmaps", "a", {"metadata": {"managedFields": []}})
    api.apply("configmaps", "a", config_map("a", data={"l": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2", "l": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "2", "l": "1"}), force="true")
