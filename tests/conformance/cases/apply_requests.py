"""Server-side apply: what is refused, in which words, and what a request may leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Apply requests")

APPLY = "application/apply-patch+yaml"


def _text(api: Api, body: str | bytes, name: str = "a", resource: str = "configmaps", **query: str) -> None:
    """Apply a body as it is."""
    api.patch(resource, name, body, by=APPLY, **{"fieldManager": "one", **query})


@case("the first apply creates, and the next one changes nothing")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"one": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"one": "1"}))
    api.get("configmaps", "a")


@case("a manager has to be named")
def _(api: Api) -> None:
    api.patch("configmaps", "a", config_map("a"), by=APPLY)
    api.patch("configmaps", "a", config_map("a"), by=APPLY, fieldManager="")
    api.patch("configmaps", "a", config_map("a"), by=APPLY, fieldManager="m" * 129)
    api.patch("configmaps", "a", config_map("a"), by=APPLY, fieldManager="m" * 128)
    api.patch("configmaps", "a", config_map("a"), by=APPLY, fieldManager="a\tb")
    api.patch("configmaps", "a", config_map("a"), by=APPLY, fieldManager="mänager ü")
    api.patch("configmaps", "a", config_map("a"), by=APPLY, fieldManager=["one", "two"])


@case("only apply can be forced")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"one": "1"}), force=True)
    for kind in ("merge", "strategic"):
        api.patch("configmaps", "a", {"data": {"one": "2"}}, by=kind, force="true")
        api.patch("configmaps", "a", {"data": {"one": "2"}}, by=kind, force="false")
    api.patch("configmaps", "a", [], by="json", force="")
    api.apply("configmaps", "a", config_map("a", data={"one": "3"}), "two", force="")
    api.apply("configmaps", "a", config_map("a", data={"one": "3"}), "two", force="maybe")
    api.apply("configmaps", "a", config_map("a", data={"one": "4"}), "two", force="false")
    api.apply("configmaps", "a", config_map("a", data={"one": "4"}), "two", force="0")


@case("other options are checked with the manager")
def _(api: Api) -> None:
    api.patch("configmaps", "a", config_map("a"), by=APPLY, dryRun="No", fieldValidation="Maybe")
    api.apply("configmaps", "a", config_map("a"), dryRun="No")
    api.apply("configmaps", "a", config_map("a"), fieldValidation="Maybe")
    api.get("configmaps", "a")


@case("a dry run stores nothing")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", data={"one": "1"}), dryRun="All")
    api.get("configmaps", "a")
    api.apply("configmaps", "a", config_map("a", data={"one": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"one": "2"}), dryRun="All")
    api.apply("configmaps", "a", config_map("a", data={"one": "2"}), "two", dryRun="All")
    api.apply("configmaps", "a", config_map("a", data={"one": "2"}), "two", dryRun="All", force=True)
    api.get("configmaps", "a")


@case("a configuration is YAML")
def _(api: Api) -> None:
    _text(api, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: '1'\n")
    _text(api, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {one: 1}\n")
    _text(api, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {one: yes}\n")
    _text(api, "# nothing\n")
    _text(api, "")
    _text(api, "{")
    _text(api, "a: b: c")
    _text(api, "a: [\n")
    _text(api, "\t- a")
    _text(api, "null")
    _text(api, "~")
    _text(api, "text")
    _text(api, "12")
    _text(api, "1.5")
    _text(api, "true")
    _text(api, "[]")
    _text(api, "- a: 1\n")
    _text(api, "a: *b\n")
    _text(api, "\x00")
    _text(api, b"\xff\xfe\x00")
    api.get("configmaps", "a")


@case("a configuration is one document")
def _(api: Api) -> None:
    one = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: '1'\n"
    two = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  two: '2'\n"
    _text(api, f"---\n{one}---\n{two}")
    _text(api, f"---\n---\n{two}")


@case("keys that stand twice are refused by strict validation alone")
def _(api: Api) -> None:
    twice = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: '1'\n  one: '2'\n"
    _text(api, twice, fieldValidation="Strict")
    _text(api, twice, fieldValidation="Warn")
    _text(api, twice, fieldValidation="Ignore")
    _text(api, twice)
    json = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"a"},"data":{"one":"1","one":"2"}}'
    _text(api, json, fieldValidation="Strict")
    _text(api, json)
    _text(api, json, fieldManager="two", fieldValidation="Strict")
    anchors = "data: {<<: &x {b: 'c'}, d: *y}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: &y a}\n"
    _text(api, anchors, fieldValidation="Ignore")


@case("a configuration says what it is")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {})
    api.apply("configmaps", "a", {"metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"kind": "ConfigMap", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "Unknown", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "apps/v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "a/b/c", "kind": "ConfigMap", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": 1, "kind": "ConfigMap", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": 1, "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": None, "kind": None, "metadata": {"name": "a"}})
    api.apply("deployments", "a", {**deployment("a"), "apiVersion": "apps/v1beta1"})
    api.apply("deployments", "a", {**deployment("a"), "kind": "StatefulSet"})
    api.get("configmaps", "a")


@case("what is there does not change how a kind is checked")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.apply("configmaps", "a", {})
    api.apply("configmaps", "a", {"kind": "ConfigMap", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "ConfigMap"})


@case("a configuration has the name of its path")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "ConfigMap"})
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    api.apply("configmaps", "a", config_map("b"))
    api.apply("configmaps", "a", config_map("", generateName="a-"))
    api.apply("configmaps", "a", config_map("a", generateName="a-"))
    api.apply("configmaps", "a", config_map("a", namespace="elsewhere"))
    api.apply("configmaps", "A_b", config_map("A_b"))
    api.get("configmaps", "a")


@case("a configuration of what is there has its name, too")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"one": "1"}})
    api.apply("configmaps", "a", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"one": "1"}})
    api.apply("configmaps", "a", config_map("b"))
    api.apply("configmaps", "a", config_map("a", generateName="a-"))
    api.apply("configmaps", "a", config_map("a", namespace="elsewhere"))


@case("metadata is checked before it is merged")
def _(api: Api) -> None:
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    api.apply("configmaps", "a", {**head, "metadata": None})
    api.apply("configmaps", "a", {**head, "metadata": "a"})
    api.apply("configmaps", "a", {**head, "metadata": []})
    api.apply("configmaps", "a", {**head, "metadata": {"name": 1}})
    api.apply("configmaps", "a", {**head, "metadata": {"name": "a", "labels": "a"}})
    api.apply("configmaps", "a", {**head, "metadata": {"name": "a", "labels": {"a": 1}}})
    api.apply("configmaps", "a", {**head, "metadata": {"name": "a", "annotations": {"a": True}}})
    api.apply("configmaps", "a", {**head, "metadata": {"name": "a", "finalizers": "a"}})
    api.apply("configmaps", "a", {**head, "metadata": {"name": "a", "ownerReferences": [{"uid": 1}]}})
    api.apply("configmaps", "a", {**head, "metadata": {"name": "a", "creationTimestamp": "yesterday"}})
    api.apply("configmaps", "a", {**head, "metadata": {"name": "a", "generation": "1"}})
    api.apply("configmaps", "a", {**head, "metadata": {"name": "a", "labels": {"a b": "c"}}})


@case("managed fields cannot be applied")
def _(api: Api) -> None:
    entries: tuple[object, ...] = ([], [{}], None, "a", [{"manager": "two", "operation": "Apply"}])
    for fields in entries:
        found = config_map("a")
        found["metadata"]["managedFields"] = fields
        api.apply("configmaps", "a", found)


@case("system metadata that is applied is not set")
def _(api: Api) -> None:
    api.apply(
        "configmaps",
        "a",
        config_map(
            "a",
            selfLink="/a",
            creationTimestamp="2001-01-01T00:00:00Z",
            deletionTimestamp="2001-01-01T00:00:00Z",
            deletionGracePeriodSeconds=5,
            generation=7,
        ),
    )
    api.apply("configmaps", "a", config_map("a", creationTimestamp="2001-01-01T00:00:00Z", generation=8))
    api.apply("configmaps", "a", config_map("a", creationTimestamp=None, labels={"a": "b"}))


@case("a uid is a condition")
def _(api: Api) -> None:
    other = "11111111-2222-3333-4444-555555555555"
    api.apply("configmaps", "a", config_map("a", uid=other))
    api.get("configmaps", "a")
    made = api.apply("configmaps", "a", config_map("a"))
    api.apply("configmaps", "a", config_map("a", uid=other, data={"one": "1"}))
    api.apply("configmaps", "a", config_map("a", uid=made.uid, data={"one": "1"}))
    api.apply("configmaps", "a", config_map("a", uid="", data={"one": "2"}))


@case("a version is a condition")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", version="1"))
    api.apply("configmaps", "b", config_map("b", version="0"))
    api.apply("configmaps", "c", config_map("c", version="one"))
    made = api.apply("configmaps", "a", config_map("a", data={"one": "1"}))
    api.apply("configmaps", "a", config_map("a", version=made.version, data={"one": "2"}))
    api.apply("configmaps", "a", config_map("a", version=made.version, data={"one": "3"}))
    api.apply("configmaps", "a", config_map("a", version=made.version, data={"one": "2"}))
    api.apply("configmaps", "a", config_map("a", version="0", data={"one": "4"}))
    api.apply("configmaps", "a", config_map("a", version="one", data={"one": "4"}))


@case("a version is a condition of kinds that demand one")
def _(api: Api) -> None:
    lease = named("coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "one"})
    made = api.apply("leases", "a", lease)
    api.apply("leases", "a", {**lease, "spec": {"holderIdentity": "two"}})
    lease["metadata"]["resourceVersion"] = made.version
    api.apply("leases", "a", {**lease, "spec": {"holderIdentity": "three"}})


@case("undeclared fields are an error of the server")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {**config_map("a"), "unknown": 1})
    api.apply("configmaps", "a", {**config_map("a"), "other": {"a": 1}}, fieldValidation="Ignore")
    api.apply("configmaps", "a", config_map("a", unknown=1), fieldValidation="Strict")
    api.apply("deployments", "a", {**deployment("a"), "spec": {"template": {"spec": {"x": 1}}}})
    containers = [{"name": "main", "image": "a", "unknown": 1}, {"name": "other", "image": "a", "x": {}}]
    api.apply("pods", "a", pod("a", spec={"containers": containers}))
    api.get("configmaps", "a")
    api.create("configmaps", config_map("a"))
    api.apply("configmaps", "a", {**config_map("a"), "unknown": 1})


@case("values of the wrong type are an error of the server")
def _(api: Api) -> None:
    def of(**spec: object) -> dict[str, object]:
        return {**named("apps/v1", "Deployment", "a"), "spec": spec}

    api.apply("deployments", "a", of(replicas="1"))
    api.apply("deployments", "a", of(replicas=1.5))
    api.apply("deployments", "a", of(replicas=True))
    api.apply("deployments", "a", of(replicas={}))
    api.apply("deployments", "a", of(replicas=[1]))
    api.apply("deployments", "a", of(paused="yes"))
    api.apply("deployments", "a", of(paused=1))
    api.apply("deployments", "a", of(template=[]))
    api.apply("deployments", "a", of(template="a"))
    api.apply("deployments", "a", of(template={"spec": {"containers": {}}}))
    api.apply("deployments", "a", of(template={"spec": {"containers": "a"}}))
    api.apply("deployments", "a", of(template={"spec": {"containers": ["a"]}}))
    api.apply("deployments", "a", of(template={"spec": {"containers": [[]]}}))
    api.apply("deployments", "a", of(template={"spec": {"containers": [None]}}))
    api.apply("deployments", "a", of(template={"spec": {"nodeSelector": {"a": 1}}}))
    api.apply("deployments", "a", of(template={"spec": {"nodeSelector": ["a"]}}))
    api.apply("deployments", "a", of(strategy={"rollingUpdate": {"maxSurge": []}}))
    api.apply("deployments", "a", of(strategy={"rollingUpdate": {"maxSurge": 1.5}}))
    api.apply("deployments", "a", {**named("apps/v1", "Deployment", "a"), "spec": []})
    api.apply("deployments", "a", {**named("apps/v1", "Deployment", "a"), "status": "a"})
    api.apply("configmaps", "a", {**config_map("a"), "data": "a"})
    api.apply("configmaps", "a", {**config_map("a"), "data": {"a": [1, {"b": None}]}})
    api.apply("configmaps", "a", {**config_map("a"), "binaryData": {"a": "?"}})
    api.apply("configmaps", "a", {**config_map("a"), "immutable": "yes"})


@case("quantities and numbers of more than one type")
def _(api: Api) -> None:
    def of(cpu: object, port: object = "http") -> dict[str, object]:
        container = {"name": "main", "image": "image", "resources": {"limits": {"cpu": cpu}}}
        container["livenessProbe"] = {"tcpSocket": {"port": port}}
        return pod("a", spec={"containers": [container]})

    api.apply("pods", "a", of(1))
    api.apply("pods", "a", of("1000m"))
    api.apply("pods", "a", of(1.5))
    api.apply("pods", "a", of("a"))
    api.apply("pods", "a", of(True))
    api.apply("pods", "a", of([]))
    api.apply("pods", "a", of({}))
    api.apply("pods", "b", of(1, True))
    api.apply("pods", "b", of(1, 1.5))
    api.apply("pods", "b", of(1, {}))


@case("keys of lists")
def _(api: Api) -> None:
    def of(*containers: object) -> dict[str, object]:
        return pod("a", spec={"containers": list(containers)})

    one = {"name": "one", "image": "a"}
    api.apply("pods", "a", of(one, one))
    api.apply("pods", "a", of(one, {"name": "two", "image": "a"}, {"name": "one", "image": "b"}, one))
    api.apply("pods", "a", of({"image": "a"}))
    api.apply("pods", "a", of({}, {}))
    api.apply("pods", "a", of({"name": None, "image": "a"}))
    api.apply("pods", "a", of({"name": 1, "image": "a"}))
    api.apply("pods", "a", of({"name": ["a"], "image": "a"}))
    api.apply("pods", "a", of({**one, "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]}))
    api.apply("pods", "a", of({**one, "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}))
    api.apply("pods", "a", of({**one, "ports": [{"protocol": "TCP"}]}))
    api.apply("pods", "a", of({**one, "ports": [{"containerPort": "80"}]}))
    api.apply("pods", "a", of({**one, "env": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}))
    api.apply("pods", "a", of({**one, "volumeMounts": [{"name": "a"}]}))
    api.apply("services", "a", service("a", spec={"ports": [{"port": 80}, {"port": 80}]}))
    api.apply("services", "a", service("a", spec={"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]}))
    references = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "a"} for name in ("a", "b")]
    api.apply("configmaps", "a", config_map("a", ownerReferences=references))
    api.apply("configmaps", "a", config_map("a", ownerReferences=[*references[:1], {"name": "a"}]))


@case("sets")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", finalizers=["a/b", "a/b"]))
    api.apply("configmaps", "a", config_map("a", finalizers=["a/b", "a/c", "a/b", "a/c", "a/b"]))
    api.apply("configmaps", "a", config_map("a", finalizers=[1]))
    api.apply("configmaps", "a", config_map("a", finalizers=[None]))
    api.apply("configmaps", "a", config_map("a", finalizers=[{}]))
    api.apply("configmaps", "a", config_map("a", finalizers=["a/b", "a/c"]))
    api.apply("configmaps", "a", config_map("a", finalizers=["a/d"]), "two")
    api.apply("configmaps", "a", config_map("a", finalizers=["a/c"]))
    api.apply("configmaps", "a", config_map("a"))
    api.apply("configmaps", "a", config_map("a"), "two")


@case("nulls are values")
def _(api: Api) -> None:
    api.apply("configmaps", "a", {**config_map("a"), "data": None})
    api.apply("configmaps", "a", {**config_map("a"), "data": {"one": None}})
    api.apply("configmaps", "a", {**config_map("a", labels=None), "data": {"one": "1", "two": None}})
    api.apply("deployments", "a", {**deployment("a"), "status": None})
    null = deployment("a")
    null["spec"]["replicas"] = None
    null["spec"]["template"]["spec"]["containers"][0]["env"] = None
    null["spec"]["template"]["spec"]["volumes"] = None
    api.apply("deployments", "a", null)
    api.apply("deployments", "a", deployment("a", replicas=3))
    api.apply("deployments", "a", null, "two")
    api.apply("deployments", "a", null, "two", force=True)


@case("what is applied is validated after it is merged")
def _(api: Api) -> None:
    api.apply("deployments", "a", {**named("apps/v1", "Deployment", "a"), "spec": {"replicas": -1}})
    api.apply("deployments", "a", deployment("a", replicas=1))
    api.apply("deployments", "a", {**named("apps/v1", "Deployment", "a"), "spec": {"replicas": -1}}, "two")
    api.apply(
        "deployments",
        "a",
        {**named("apps/v1", "Deployment", "a"), "spec": {"replicas": -1}},
        "two",
        force=True,
    )
    api.apply("deployments", "a", {**named("apps/v1", "Deployment", "a"), "spec": {"replicas": 1}}, "two")
    api.apply("deployments", "a", named("apps/v1", "Deployment", "a"))
    api.apply("configmaps", "a", {**config_map("a"), "data": {"a b": "c"}})
    api.get("configmaps", "a")
