"""PATCH: RFC 7386's merge patch and RFC 6902's JSON patch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Patching")


@case("a merge patch sets, replaces and removes")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"one": "1", "two": "2"}, labels={"l": "1"}))
    api.patch("configmaps", "a", {"data": {"two": None, "three": "3"}, "metadata": {"labels": None}})
    api.get("configmaps", "a")


@case("a merge patch replaces lists as a whole")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    containers = [{"name": "other", "image": "other"}]
    api.patch("deployments", "a", {"spec": {"template": {"spec": {"containers": containers}}}})


@case("a merge patch that changes nothing leaves the version")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"one": "1"}))
    api.patch("configmaps", "a", {"data": {"one": "1"}})
    api.patch("configmaps", "a", {})


@case("a merge patch of what is not there is refused")
def _(api: Api) -> None:
    api.patch("configmaps", "a", {"data": {"one": "1"}})
    api.patch("leases", "a", {"spec": {"holderIdentity": "me"}})


@case("a version in a patch is a condition")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"metadata": {"resourceVersion": made.version}, "data": {"one": "1"}})
    api.patch("configmaps", "a", {"metadata": {"resourceVersion": made.version}, "data": {"one": "2"}})
    api.patch("configmaps", "a", {"metadata": {"resourceVersion": None}, "data": {"one": "3"}})


@case("a uid in a patch is a condition")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"metadata": {"uid": made.uid}, "data": {"one": "1"}})
    other = "11111111-2222-3333-4444-555555555555"
    api.patch("configmaps", "a", {"metadata": {"uid": other}, "data": {"one": "2"}})


@case("name, namespace, kind and apiVersion cannot be patched")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"metadata": {"name": "b"}})
    api.patch("configmaps", "a", {"metadata": {"namespace": "default"}})
    api.patch("configmaps", "a", {"kind": "Secret"})
    api.patch("configmaps", "a", {"apiVersion": "v2"})


@case("a patch that removes kind and apiVersion is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"kind": None, "apiVersion": None, "data": {"one": "1"}})


@case("a merge patch that is no object is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", [])
    api.patch("configmaps", "a", '"text"')
    api.patch("configmaps", "a", "null")
    api.patch("configmaps", "a", "{")
    api.patch("configmaps", "a", "")


@case("a merge patch that makes an invalid object is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"data": {"a key": "1"}})
    api.patch("configmaps", "a", {"metadata": {"labels": {"l": "not a label"}}})
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a", {"spec": {"replicas": -1}})


@case("a merge patch with a value of the wrong type is refused")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a", {"spec": {"replicas": "three"}})
    api.patch("deployments", "a", {"spec": []})
    api.patch("deployments", "a", {"metadata": {"labels": {"number": 1}}})


@case("unknown fields of a merge patch are warned of, refused or ignored")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"nonsense": 1})
    api.patch("configmaps", "a", {"nonsense": 1}, fieldValidation="Strict")
    api.patch("configmaps", "a", {"nonsense": 1}, fieldValidation="Ignore")
    api.patch("configmaps", "a", '{"data": {"a": "1", "a": "2"}}', fieldValidation="Strict")


@case("a merge patch may be YAML")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", "data:\n  one: '1'\n")


@case("a merge patch bumps the generation only when the spec changed")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.patch("deployments", "a", {"metadata": {"labels": {"l": "1"}}})
    api.patch("deployments", "a", {"spec": {"replicas": 2}})
    api.patch("deployments", "a", {"spec": {"replicas": 2}})


@case("a JSON patch adds, replaces, removes, copies, moves and tests")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"one": "1", "two": "2"}))
    steps = [
        {"op": "test", "path": "/data/one", "value": "1"},
        {"op": "add", "path": "/data/three", "value": "3"},
        {"op": "replace", "path": "/data/one", "value": "uno"},
        {"op": "copy", "from": "/data/one", "path": "/data/four"},
        {"op": "move", "from": "/data/two", "path": "/data/five"},
        {"op": "remove", "path": "/data/three"},
    ]
    api.patch("configmaps", "a", steps, by="json")


@case("a JSON patch writes ~1 for a slash and ~0 for a tilde")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", labels={"example.com/a": "1"}))
    api.patch(
        "configmaps",
        "a",
        [{"op": "replace", "path": "/metadata/labels/example.com~1a", "value": "2"}],
        by="json",
    )
    api.patch("configmaps", "a", [{"op": "add", "path": "/metadata/annotations", "value": {}}], by="json")
    api.patch("configmaps", "a", [{"op": "add", "path": "/metadata/annotations/a~0b", "value": "1"}], by="json")


@case("a JSON patch works on lists by index, and - is the end")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    path = "/metadata/finalizers"
    api.patch("configmaps", "a", [{"op": "add", "path": f"{path}/-", "value": "example.com/two"}], by="json")
    api.patch("configmaps", "a", [{"op": "add", "path": f"{path}/0", "value": "example.com/zero"}], by="json")
    api.patch("configmaps", "a", [{"op": "remove", "path": f"{path}/1"}], by="json")
    api.patch("configmaps", "a", [{"op": "remove", "path": f"{path}/7"}], by="json")
    api.patch("configmaps", "a", [{"op": "add", "path": f"{path}/9", "value": "example.com/x"}], by="json")
    api.patch("configmaps", "a", [{"op": "replace", "path": f"{path}/x", "value": "example.com/x"}], by="json")


@case("a JSON patch whose test fails is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"one": "1"}))
    api.patch("configmaps", "a", [{"op": "test", "path": "/data/one", "value": "2"}], by="json")
    api.patch("configmaps", "a", [{"op": "test", "path": "/data/none", "value": "2"}], by="json")
    api.patch("configmaps", "a", [{"op": "test", "path": "/spec/none", "value": "2"}], by="json")


@case("a JSON patch to a place that is not there is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"one": "1"}))
    api.patch("configmaps", "a", [{"op": "remove", "path": "/data/none"}], by="json")
    api.patch("configmaps", "a", [{"op": "replace", "path": "/data/none", "value": "2"}], by="json")
    api.patch("configmaps", "a", [{"op": "add", "path": "/metadata/labels/l", "value": "2"}], by="json")
    api.patch("configmaps", "a", [{"op": "move", "from": "/data/none", "path": "/data/x"}], by="json")
    api.patch("configmaps", "a", [{"op": "copy", "from": "/data/none", "path": "/data/x"}], by="json")


@case("a JSON patch that is no list of operations is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"data": {}}, by="json")
    api.patch("configmaps", "a", [{"op": "dance", "path": "/data"}], by="json")
    api.patch("configmaps", "a", [{"path": "/data"}], by="json")
    api.patch("configmaps", "a", [{"op": "add", "path": "/data"}], by="json")
    api.patch("configmaps", "a", [{"op": "add", "path": "data", "value": {}}], by="json")
    api.patch("configmaps", "a", "[", by="json")
    api.patch("configmaps", "a", "", by="json")


@case("an empty JSON patch changes nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", [], by="json")


@case("an operation of a JSON patch may have fields that are not known")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    steps = [{"op": "add", "path": "/data", "value": {"k": "v"}, "why": "because"}]
    api.patch("configmaps", "a", steps, by="json")
    api.patch("configmaps", "a", steps, by="json", fieldValidation="Strict")


@case("a patch of an unknown media type is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {}, by="application/json")
    api.patch("configmaps", "a", {}, by="text/plain")
    api.request("PATCH", api.path("configmaps", "a"), {}, headers={"Content-Type": ""})


@case("force is for apply alone")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"data": {"k": "v"}}, force="true")


@case("a patch of a collection is not allowed")
def _(api: Api) -> None:
    api.request("PATCH", api.path("configmaps"), {}, headers={"Content-Type": "application/merge-patch+json"})


@case("a patch may add a finalizer, and not while the object goes")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.delete("configmaps", "a")
    api.patch("configmaps", "a", {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}})
    api.patch("configmaps", "a", {"metadata": {"finalizers": ["example.com/two"]}})
    api.patch("configmaps", "a", {"metadata": {"labels": {"still": "here"}}})


@case("a patch cannot take deletion back")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.delete("configmaps", "a")
    api.patch("configmaps", "a", {"metadata": {"deletionTimestamp": None}})
    api.patch("configmaps", "a", {"metadata": {"deletionTimestamp": "2001-02-03T04:05:06Z", "labels": {"l": "1"}}})
