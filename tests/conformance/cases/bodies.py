"""Bodies that the server rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Bodies")

YAML = {"Content-Type": "application/yaml"}
MEBIBYTE = 1024 * 1024


@case("a body that is no JSON")
def _(api: Api) -> None:
    api.create("configmaps", "no JSON")
    api.create("configmaps", "{")
    api.create("configmaps", '{"metadata": {"name": "a"}')
    api.create("configmaps", '{"metadata": {"name": "a"}} more')


@case("an empty body")
def _(api: Api) -> None:
    api.create("configmaps", b"")
    api.create("configmaps", "null")
    api.create("configmaps", "{}")
    api.update("configmaps", "a", b"")


@case("JSON that is no object")
def _(api: Api) -> None:
    for body in ("[]", '"text"', "7", "true", "[{}]"):
        api.create("configmaps", body)


@case("another kind")
def _(api: Api) -> None:
    api.create("configmaps", named("v1", "Secret", "a"))
    api.create("configmaps", named("v1", "Nonsense", "a"))
    api.create("deployments", named("apps/v1", "StatefulSet", "a"))


@case("another apiVersion")
def _(api: Api) -> None:
    api.create("configmaps", named("v2", "ConfigMap", "a"))
    api.create("configmaps", named("apps/v1", "ConfigMap", "a"))
    api.create("deployments", {**deployment("a"), "apiVersion": "apps/v1beta1"})
    api.create("deployments", {**deployment("a"), "apiVersion": "v1"})
    api.create("configmaps", named("a/b/c", "ConfigMap", "a"))


@case("an apiVersion without a kind, and a kind without an apiVersion")
def _(api: Api) -> None:
    api.create("configmaps", {"apiVersion": "v1", "metadata": {"name": "a"}})
    api.create("configmaps", {"kind": "ConfigMap", "metadata": {"name": "b"}})
    api.create("configmaps", {"kind": "Secret", "metadata": {"name": "c"}})
    api.create("configmaps", {"apiVersion": "v2", "metadata": {"name": "d"}})


@case("a list in the place of an object")
def _(api: Api) -> None:
    api.create("configmaps", {"apiVersion": "v1", "kind": "ConfigMapList", "items": [config_map("a")]})
    api.create("configmaps", {"apiVersion": "v1", "kind": "List", "items": [config_map("a")]})


@case("kind and apiVersion of the wrong type")
def _(api: Api) -> None:
    api.create("configmaps", {"kind": 7, "apiVersion": "v1", "metadata": {"name": "a"}})
    api.create("configmaps", {"kind": "ConfigMap", "apiVersion": ["v1"], "metadata": {"name": "a"}})


@case("names that cannot be")
def _(api: Api) -> None:
    for name in (
        "Upper",
        "a b",
        "a_b",
        "-a",
        "a-",
        "a..b",
        ".a",
        "a/b",
        "%",
        "ä",
        "a" * 253,
        "a" * 254,
        "..",
    ):
        api.create("configmaps", config_map(name))


@case("names of kinds with other rules")
def _(api: Api) -> None:
    api.create("services", service("1-digit-first"))
    api.create("services", service("with.dot"))
    api.create("services", service("s" * 64))
    api.create("pods", pod("with.dot"))
    api.create("roles", named("rbac.authorization.k8s.io/v1", "Role", "with:colon", rules=[]))
    api.create("roles", named("rbac.authorization.k8s.io/v1", "Role", "with/slash", rules=[]))
    api.create("serviceaccounts", named("v1", "ServiceAccount", "Upper"))


@case("names that are too long for what comes of them")
def _(api: Api) -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": _never()}}}}
    api.create("cronjobs", named("batch/v1", "CronJob", "c" * 53, spec=spec))
    api.create("deployments", deployment("d" * 64))
    api.create("jobs", named("batch/v1", "Job", "j" * 64, spec={"template": {"spec": _never()}}))


@case("labels that cannot be")
def _(api: Api) -> None:
    for key, value in (
        ("a b", "v"),
        ("-a", "v"),
        ("a/b/c", "v"),
        ("Upper.com/a", "v"),
        ("/a", "v"),
        ("a/", "v"),
        ("", "v"),
        ("k" * 64, "v"),
        ("a", "v" * 64),
        ("a", "not a value"),
        ("a", "-v"),
    ):
        api.create("configmaps", config_map("a", labels={key: value}))


@case("annotations that cannot be")
def _(api: Api) -> None:
    for key in ("a b", "a/b/c", "", "k" * 64):
        api.create("configmaps", config_map("a", annotations={key: "v"}))


@case("annotations that are too long")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", annotations={"a": "v" * (256 * 1024)}))


@case("owners that cannot be")
def _(api: Api) -> None:
    uid = "11111111-2222-3333-4444-555555555555"
    good = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    api.create("configmaps", config_map("a", ownerReferences=[{}]))
    api.create("configmaps", config_map("a", ownerReferences=[{**good, "uid": ""}]))
    api.create("configmaps", config_map("a", ownerReferences=[{**good, "kind": "Event"}]))
    api.create("configmaps", config_map("b", ownerReferences=[{**good, "apiVersion": "a/b/c"}]))
    two = [{**good, "controller": True}, {**good, "name": "other", "controller": True}]
    api.create("configmaps", config_map("c", ownerReferences=two))


@case("the same owner twice is warned of")
def _(api: Api) -> None:
    uid = "11111111-2222-3333-4444-555555555555"
    good = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    api.create("configmaps", config_map("a", ownerReferences=[good, good]))


@case("finalizers that cannot be")
def _(api: Api) -> None:
    for finalizer in ("plain", "a b/c", "", "a/b/c"):
        api.create("configmaps", config_map("a", finalizers=[finalizer]))
    api.create("configmaps", config_map("twice", finalizers=["example.com/one", "example.com/one"]))


@case("a finalizer without a domain is warned of where it is allowed")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["kubernetes"]))
    api.create("deployments", deployment("a", finalizers=["plain"]))


@case("a negative generation")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", generation=-1))


@case("unknown fields are warned of by default")
def _(api: Api) -> None:
    api.create("configmaps", {**config_map("a"), "nonsense": 1})
    api.create("configmaps", {**config_map("b"), "nonsense": {"deep": [1]}, "more": None})
    body = deployment("a")
    body["spec"]["nonsense"] = 1
    body["spec"]["template"]["spec"]["containers"][0]["nonsense"] = 2
    body["metadata"]["nonsense"] = 3
    api.create("deployments", body)


@case("unknown fields are refused with fieldValidation=Strict")
def _(api: Api) -> None:
    api.create("configmaps", {**config_map("a"), "nonsense": 1}, fieldValidation="Strict")
    body = deployment("a")
    body["spec"]["nonsense"] = 1
    body["spec"]["template"]["spec"]["containers"][0]["nonsense"] = 2
    body["metadata"]["nonsense"] = 3
    api.create("deployments", body, fieldValidation="Strict")
    api.get("configmaps", "a")


@case("unknown fields are ignored with fieldValidation=Ignore")
def _(api: Api) -> None:
    api.create("configmaps", {**config_map("a"), "nonsense": 1}, fieldValidation="Ignore")
    api.create("configmaps", {**config_map("b"), "nonsense": 1}, fieldValidation="Warn")


@case("unknown fields of an update")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", {**config_map("a"), "nonsense": 1})
    api.update("configmaps", "a", {**config_map("a"), "nonsense": 1}, fieldValidation="Strict")


@case("another word for the validation of fields is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"), fieldValidation="nonsense")
    api.create("configmaps", config_map("a"), fieldValidation="")
    api.update("configmaps", "a", config_map("a"), fieldValidation="strict")
    api.patch("configmaps", "a", {}, fieldValidation="nonsense")


@case("keys that stand twice")
def _(api: Api) -> None:
    body = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s"}, "data": {"k": "1", "k": "2"}}'
    api.create("configmaps", body % "a")
    api.create("configmaps", body % "b", fieldValidation="Strict")
    api.create("configmaps", body % "c", fieldValidation="Ignore")
    twice = '{"metadata": {"name": "d"}, "metadata": {"name": "e"}}'
    api.create("configmaps", twice)
    api.create("configmaps", twice, fieldValidation="Strict")


@case("keys in another case are unknown")
def _(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "Data": {"k": "v"}}
    api.create("configmaps", body)
    api.create("configmaps", {**body, "metadata": {"Name": "a"}})
    api.create("configmaps", {"Kind": "ConfigMap", "metadata": {"name": "b"}}, fieldValidation="Strict")


@case("many unknown fields")
def _(api: Api) -> None:
    body = {**config_map("a"), **{f"nonsense{number}": number for number in range(12)}}
    api.create("configmaps", body)
    api.create("configmaps", body, fieldValidation="Strict")


@case("values of the wrong type")
def _(api: Api) -> None:
    api.create("configmaps", {**config_map("a"), "data": {"k": 1}})
    api.create("configmaps", {**config_map("a"), "data": []})
    api.create("configmaps", {**config_map("a"), "immutable": "yes"})
    api.create("configmaps", {"metadata": []})
    api.create("configmaps", {"metadata": {"name": 7}})
    api.create("configmaps", {"metadata": {"name": "a", "labels": {"l": 1}}})
    api.create("configmaps", {"metadata": {"name": "a", "finalizers": "one"}})
    api.create("configmaps", {"metadata": {"name": "a", "creationTimestamp": "yesterday"}})


@case("numbers of the wrong type")
def _(api: Api) -> None:
    wrong: tuple[object, ...] = ("3", 1.5, True, 2**31, 1e3, {})
    for replicas in wrong:
        body = deployment("a")
        body["spec"]["replicas"] = replicas
        api.create("deployments", body, dryRun="All")


@case("bytes that are no base64")
def _(api: Api) -> None:
    api.create("secrets", named("v1", "Secret", "a", data={"k": "not base64!"}))
    api.create("secrets", named("v1", "Secret", "a", data={"k": 7}))
    api.create("configmaps", {**config_map("a"), "binaryData": {"k": "%"}})


@case("quantities that are none")
def _(api: Api) -> None:
    for amount in ("many", "1.5.2", "", 0.5, 3, True):
        container = {"name": "main", "image": "image", "resources": {"limits": {"memory": amount}}}
        api.create("pods", pod("a", spec={"containers": [container]}), dryRun="All")


@case("a body of more than 3 MiB")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "v" * (3 * MEBIBYTE)}))
    api.patch("configmaps", "a", {"data": {"k": "v" * (3 * MEBIBYTE)}})


@case("data of more than 1 MiB")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "v" * (MEBIBYTE + 1)}))
    api.create("secrets", named("v1", "Secret", "a", stringData={"k": "v" * (MEBIBYTE + 1)}))


@case("YAML is taken")
def _(api: Api) -> None:
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: {api.namespace}\ndata:\n  k: 'v'\n"
    api.request("POST", api.path("configmaps"), body, headers=YAML)
    api.request("PUT", api.path("configmaps", "a"), body.replace("'v'", "'w'"), headers=YAML)


@case("YAML with unknown fields and keys that stand twice")
def _(api: Api) -> None:
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nnonsense: 1\ndata:\n  k: 'v'\n  k: 'w'\n"
    api.request("POST", api.path("configmaps"), body, headers=YAML)
    api.request("POST", api.path("configmaps"), body, headers=YAML, query={"fieldValidation": "Strict"})


@case("malformed YAML")
def _(api: Api) -> None:
    api.request("POST", api.path("configmaps"), "a: [", headers=YAML)
    api.request("POST", api.path("configmaps"), "just words", headers=YAML)


@case("YAML where a string is wanted and a number is written")
def _(api: Api) -> None:
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: 1\n"
    api.request("POST", api.path("configmaps"), body, headers=YAML)
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  k: yes\n"
    api.request("POST", api.path("configmaps"), body, headers=YAML)


@case("media types of bodies")
def _(api: Api) -> None:
    for number, media_type in enumerate(
        (
            "",
            "application/json; charset=utf-8",
            "APPLICATION/JSON",
            "text/plain",
            "application/xml",
            "nonsense",
            "*/*",
            "application/json;stream=watch",
            "text/yaml",
            "application/x-yaml",
        )
    ):
        api.request("POST", api.path("configmaps"), config_map(f"a{number}"), headers={"Content-Type": media_type})


@case("media types of updates and of options")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    plain = {"Content-Type": "text/plain"}
    api.request("PUT", api.path("configmaps", "a"), config_map("a"), headers=plain)
    api.request("DELETE", api.path("configmaps", "a"), {}, headers=plain)
    api.request("DELETE", api.path("configmaps", "a"), {}, headers={"Content-Type": ""})


@case("text with every kind of character")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": 'tab\t quote" <html> & \u2028 \U0001f600 \u0000 \\ /'}))
    api.get("configmaps", "a")


def _never() -> dict[str, object]:
    return {"containers": [{"name": "main", "image": "image"}], "restartPolicy": "Never"}
