"""Custom resources: reading and writing objects by the schema of their definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import (
    NUMBER,
    TEXT,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
    version_of,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Custom resources")

ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SIZED: Plain = object_of(
    spec=object_of(
        size={"type": "integer", "default": 3},
        color=TEXT,
        replicas=NUMBER,
        tags={"type": "array", "items": TEXT},
        labels={"type": "object", "additionalProperties": TEXT},
    ),
    status=object_of(replicas=NUMBER, selector=TEXT, phase=TEXT),
)
STATUS: Plain = {"subresources": {"status": {}}}
SCALE: Plain = {
    "subresources": {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
}


def _widgets(api: Api, schema: Plain | None = None, **more: Any) -> str:
    """Install a definition of widgets; returns the resource."""
    install(api, definition(api, SIZED if schema is None else schema, **more))
    return resource_of(api)


def _widget(api: Api, name: str = "a", *, version: str = "v1", **fields: Any) -> Plain:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": f"{group_of(api)}/{version}", "kind": "Widget", "metadata": metadata, **fields}


# Reading and writing


@case("an object is created, read, listed, updated, patched and deleted")
def _(api: Api) -> None:
    widgets = _widgets(api)
    made = api.create(widgets, _widget(api, spec={"color": "red"}))
    api.get(widgets, "a")
    api.list(widgets)
    api.update(widgets, "a", _widget(api, metadata={"resourceVersion": made.version}, spec={"color": "blue"}))
    api.patch(widgets, "a", {"spec": {"size": 5}})
    api.delete(widgets, "a")
    api.get(widgets, "a")


@case("cluster-scoped objects have no namespace")
def _(api: Api) -> None:
    _widgets(api, scope="Cluster")
    path = f"/apis/{group_of(api)}/v1/widgets"
    api.request("POST", path, _widget(api))
    api.request("GET", f"{path}/a")
    api.request("POST", path, _widget(api, "b", metadata={"namespace": api.namespace}))
    api.request("GET", f"/apis/{group_of(api)}/v1/namespaces/{api.namespace}/widgets")
    api.request("GET", path, query={"fieldSelector": "metadata.namespace=x"})
    api.request("DELETE", f"{path}/a")


@case("an object in a namespace that does not exist is refused")
def _(api: Api) -> None:
    _widgets(api)
    api.request("POST", f"/apis/{group_of(api)}/v1/namespaces/nowhere/widgets", _widget(api))
    api.request("GET", f"/apis/{group_of(api)}/v1/namespaces/nowhere/widgets")


@case("a namespaced object cannot be created outside of one")
def _(api: Api) -> None:
    _widgets(api)
    api.request("POST", f"/apis/{group_of(api)}/v1/widgets", _widget(api))
    api.request("DELETE", f"/apis/{group_of(api)}/v1/widgets")
    api.request("GET", f"/apis/{group_of(api)}/v1/widgets/a")


@case("methods that a path does not allow")
def _(api: Api) -> None:
    widgets = _widgets(api)
    path = api.path(widgets)
    api.request("PUT", path, _widget(api))
    api.request("POST", f"{path}/a", _widget(api))
    api.request("PATCH", path, {}, headers={"Content-Type": "application/merge-patch+json"})
    api.request("OPTIONS", path)


@case("subresources that are not defined")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api))
    api.get(widgets, "a/status")
    api.get(widgets, "a/scale")
    api.get(widgets, "a/log")
    api.update(widgets, "a/status", _widget(api))


@case("a version that is not served")
def _(api: Api) -> None:
    versions = [version_of(ANYTHING), version_of(ANYTHING, "v2", served=False)]
    install(api, definition(api, versions=versions))
    api.request("GET", f"/apis/{group_of(api)}/v2/widgets")
    api.request("GET", f"/apis/{group_of(api)}/v3/widgets")
    api.request("GET", f"/apis/{group_of(api)}/v1/gadgets")
    api.request("GET", f"/apis/{group_of(api)}/v2")
    api.request("GET", f"/apis/{group_of(api)}")


@case("a name that is taken")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api))
    api.create(widgets, _widget(api))


@case("a name is generated")
def _(api: Api) -> None:
    widgets = _widgets(api)
    body = _widget(api)
    body["metadata"] = {"generateName": "a-"}
    api.create(widgets, body)


@case("names and namespaces that are refused")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, "A"))
    api.create(widgets, _widget(api, "a/b"))
    api.create(widgets, _widget(api, "a", metadata={"namespace": "other"}))
    api.create(widgets, _widget(api, ""))
    api.create(widgets, {"apiVersion": f"{group_of(api)}/v1", "kind": "Widget"})


@case("labels, annotations, finalizers and owners that are refused")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, metadata={"labels": {"-": "x"}}))
    api.create(widgets, _widget(api, metadata={"annotations": {"a b": "x"}}))
    api.create(widgets, _widget(api, metadata={"finalizers": ["a b"]}))
    api.create(widgets, _widget(api, metadata={"ownerReferences": [{"name": "x"}]}))


@case("a finalizer without a domain gets a warning")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, metadata={"finalizers": ["mine", "example.com", "example.com/mine"]}))
    api.patch(widgets, "a", {"metadata": {"finalizers": ["mine", "other"]}})


@case("a version in the metadata of a new object is refused")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, metadata={"resourceVersion": "5"}))


@case("metadata that the server sets cannot be chosen")
def _(api: Api) -> None:
    widgets = _widgets(api)
    chosen = {
        "uid": "11111111-2222-3333-4444-555555555555",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "generation": 7,
        "selfLink": "/x",
    }
    api.create(widgets, _widget(api, metadata=chosen))


# Kinds and bodies


@case("another kind or version than the path's")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, {**_widget(api), "kind": "Gadget"})
    api.create(widgets, {**_widget(api), "kind": "Gadget", "spec": {"foo": 1}}, fieldValidation="Strict")
    api.create(widgets, {**_widget(api), "apiVersion": "example.com/v1"})
    api.create(widgets, {**_widget(api), "apiVersion": f"{group_of(api)}/v2"})
    api.create(widgets, {**_widget(api), "apiVersion": "v1"})


@case("a kind or version that is missing or no text")
def _(api: Api) -> None:
    widgets = _widgets(api)
    for key in ("kind", "apiVersion"):
        for value in (None, "", 5):
            api.create(widgets, {**_widget(api), key: value})
        api.create(widgets, {name: value for name, value in _widget(api).items() if name != key})


@case("bodies that are no objects")
def _(api: Api) -> None:
    widgets = _widgets(api)
    for body in ("[]", "5", "null", "{", "", '"x"'):
        api.request("POST", api.path(widgets), body)


@case("bodies of other media types")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.request("POST", api.path(widgets), _widget(api), headers={"Content-Type": "text/plain"})
    document = f"apiVersion: {group_of(api)}/v1\nkind: Widget\nmetadata: {{name: a}}\nspec: {{color: red, foo: 1}}\n"
    api.request("POST", api.path(widgets), document, headers={"Content-Type": "application/yaml"})
    document = document.replace("name: a", "name: b")
    strict: dict[str, Any] = {"fieldValidation": "Strict"}
    yaml = {"Content-Type": "application/yaml"}
    api.request("POST", api.path(widgets), document, headers=yaml, query=strict)


@case("metadata of the wrong types")
def _(api: Api) -> None:
    widgets = _widgets(api)
    wrong: tuple[Plain, ...] = (
        {"labels": {"a": 1}},
        {"labels": []},
        {"annotations": "x"},
        {"finalizers": [1]},
        {"finalizers": "x"},
        {"generation": "x"},
        {"deletionGracePeriodSeconds": 1.5},
        {"creationTimestamp": 5},
        {"creationTimestamp": "yesterday"},
        {"ownerReferences": [{"uid": 5}]},
        {"ownerReferences": [{"controller": "yes"}]},
        {"name": 5},
        {"namespace": []},
    )
    for metadata in wrong:
        api.create(widgets, _widget(api, metadata=metadata))


@case("metadata that is no object")
def _(api: Api) -> None:
    widgets = _widgets(api)
    others: tuple[Any, ...] = (5, "x", [], None)
    for metadata in others:
        api.create(widgets, {**_widget(api), "metadata": metadata})


@case("nulls and empty values in metadata")
def _(api: Api) -> None:
    widgets = _widgets(api)
    empty: Plain = {
        "labels": {},
        "annotations": None,
        "finalizers": [],
        "ownerReferences": None,
        "namespace": "",
    }
    api.create(widgets, _widget(api, metadata=empty))
    api.create(widgets, _widget(api, "b", metadata={"labels": {"a": None}, "creationTimestamp": None}))


# Unknown fields


@case("unknown fields are dropped, with a warning for each")
def _(api: Api) -> None:
    widgets = _widgets(api)
    more: Plain = {"spec": {"foo": 1, "color": "red", "bar": {"a": 1}}, "top": 1, "metadata": {"bogus": 2}}
    api.create(widgets, _widget(api, **more))
    api.create(widgets, _widget(api, "b", **more), fieldValidation="Ignore")
    api.create(widgets, _widget(api, "c", **more), fieldValidation="Strict")
    api.create(widgets, _widget(api, "d", **more), fieldValidation="Loose")


@case("fields that stand twice")
def _(api: Api) -> None:
    widgets = _widgets(api)
    head = f'"apiVersion":"{group_of(api)}/v1","kind":"Widget","metadata":{{"name":"a"}}'
    body = f'{{{head},"spec":{{"color":"red","color":"blue","foo":1,"foo":2}}}}'
    api.request("POST", api.path(widgets), body)
    api.request("POST", api.path(widgets), body, query={"fieldValidation": "Strict"})


@case("unknown fields are dropped at every depth")
def _(api: Api) -> None:
    deep = object_of(
        spec=object_of(
            items={"type": "array", "items": object_of(name=TEXT)},
            map={"type": "object", "additionalProperties": object_of(name=TEXT)},
            lists={"type": "array", "items": {"type": "array", "items": object_of(name=TEXT)}},
        )
    )
    widgets = _widgets(api, deep)
    item = {"name": "x", "more": 1}
    spec = {"items": [item, item], "map": {"a": item, "b.c": item}, "lists": [[item], [item]]}
    api.create(widgets, _widget(api, spec=spec))
    api.create(widgets, _widget(api, "b", spec=spec), fieldValidation="Strict")


@case("unknown fields are kept where the schema says so")
def _(api: Api) -> None:
    schema = object_of(
        spec=object_of(any=ANYTHING, some={**object_of(known=object_of(a=NUMBER)), **ANYTHING}),
        status=ANYTHING,
    )
    widgets = _widgets(api, schema)
    spec: Plain = {
        "any": {"x": {"y": 1}},
        "some": {"known": {"a": 1, "b": 2}, "other": [1, {"z": None}]},
        "gone": 1,
    }
    api.create(widgets, _widget(api, spec=spec, status={"s": 1}))
    api.patch(widgets, "a", {"spec": {"any": {"more": True}, "gone": 2}})


@case("fields of the wrong type at the top")
def _(api: Api) -> None:
    widgets = _widgets(api)
    wrong: tuple[Any, ...] = ("x", 5, [], True)
    for spec in wrong:
        api.create(widgets, _widget(api, spec=spec))


@case("null is dropped unless the schema allows it")
def _(api: Api) -> None:
    schema = object_of(
        spec=object_of(
            plain=TEXT,
            nullable={"type": "string", "nullable": True},
            defaulted={"type": "string", "default": "x"},
            both={"type": "string", "nullable": True, "default": "x"},
            list={"type": "array", "items": {"type": "string", "nullable": True}},
        )
    )
    widgets = _widgets(api, schema)
    nulls = {"plain": None, "nullable": None, "defaulted": None, "both": None, "list": ["a", None]}
    api.create(widgets, _widget(api, spec=nulls))
    api.create(widgets, _widget(api, "b", spec=None))
    api.patch(widgets, "a", {"spec": {"both": "y", "nullable": "z"}})
    api.patch(widgets, "a", {"spec": {"both": None, "nullable": None}})
    api.patch(widgets, "a", [{"op": "replace", "path": "/spec/both", "value": None}], by="json")


@case("defaults are set on write, from the outside in")
def _(api: Api) -> None:
    schema = object_of(
        spec={
            **object_of(
                a={**object_of(b={"type": "string", "default": "inner"}), "default": {}},
                c={**object_of(d={"type": "integer", "default": 5})},
            ),
            "default": {"c": {}},
        }
    )
    widgets = _widgets(api, schema)
    api.create(widgets, _widget(api))
    api.create(widgets, _widget(api, "b", spec={}))
    api.create(widgets, _widget(api, "c", spec={"a": {"b": "mine"}, "c": {"d": 0}}))


@case("defaults in lists and maps")
def _(api: Api) -> None:
    item = object_of(port=NUMBER, protocol={"type": "string", "default": "TCP"})
    schema = object_of(
        spec=object_of(list={"type": "array", "items": item}, map={"type": "object", "additionalProperties": item})
    )
    widgets = _widgets(api, schema)
    spec = {"list": [{"port": 1}, {"protocol": "UDP"}], "map": {"x": {}, "y": {"port": 2}}}
    api.create(widgets, _widget(api, spec=spec))


@case("numbers keep their kind")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(whole=NUMBER, real={"type": "number"}, any=ANYTHING))
    widgets = _widgets(api, schema)
    head = f'"apiVersion":"{group_of(api)}/v1","kind":"Widget"'
    numbers = '{"whole":5,"real":1.5,"any":{"a":1.0,"b":1e3,"c":-0.0,"d":9007199254740993,"e":1e25}}'
    body = f'{{{head},"metadata":{{"name":"a"}},"spec":{numbers}}}'
    api.request("POST", api.path(widgets), body)
    api.get(widgets, "a")


# Updating


@case("an update needs a version")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api))
    api.update(widgets, "a", _widget(api, spec={"color": "red"}))
    api.update(widgets, "a", _widget(api, metadata={"resourceVersion": "0"}, spec={"color": "red"}))
    api.update(widgets, "a", _widget(api, metadata={"resourceVersion": "1"}, spec={"color": "red"}))
    api.update(widgets, "a", _widget(api, metadata={"resourceVersion": "x"}, spec={"color": "red"}))


@case("an update does not create")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.update(widgets, "a", _widget(api))
    api.update(widgets, "b", _widget(api))
    api.patch(widgets, "a", {"spec": {}})


@case("an update with another uid, name or namespace")
def _(api: Api) -> None:
    widgets = _widgets(api)
    made = api.create(widgets, _widget(api))
    version = {"resourceVersion": made.version}
    other = "11111111-2222-3333-4444-555555555555"
    api.update(widgets, "a", _widget(api, metadata={**version, "uid": other}))
    api.update(widgets, "a", _widget(api, "b", metadata=version))
    api.update(widgets, "a", _widget(api, metadata={**version, "namespace": "other"}))
    api.update(widgets, "a", {**_widget(api, metadata=version), "kind": "Gadget"})
    api.update(widgets, "a", {**_widget(api, metadata=version), "apiVersion": "example.com/v1"})


@case("an update that changes nothing keeps the version")
def _(api: Api) -> None:
    widgets = _widgets(api)
    made = api.create(widgets, _widget(api, spec={"color": "red"}))
    body = _widget(api, metadata={"resourceVersion": made.version}, spec={"color": "red"})
    api.update(widgets, "a", body)
    api.patch(widgets, "a", {"spec": {"unknown": 1}})


@case("every change outside of the metadata raises the generation")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, spec={"color": "red"}))
    api.patch(widgets, "a", {"metadata": {"labels": {"a": "b"}}})
    api.patch(widgets, "a", {"spec": {"color": "blue"}})
    api.patch(widgets, "a", {"status": {"phase": "Ready"}})
    api.patch(widgets, "a", {"metadata": {"generation": 9}})


@case("patches by JSON patch and merge patch")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, spec={"color": "red", "tags": ["a"]}))
    api.patch(widgets, "a", [{"op": "add", "path": "/spec/tags/-", "value": "b"}], by="json")
    api.patch(widgets, "a", [{"op": "test", "path": "/spec/color", "value": "blue"}], by="json")
    api.patch(widgets, "a", [{"op": "remove", "path": "/spec/nothing"}], by="json")
    api.patch(widgets, "a", {"spec": {"tags": ["c"], "color": None}})
    api.patch(widgets, "a", {"metadata": {"resourceVersion": "1"}})
    api.patch(widgets, "a", {"metadata": {"name": "b"}})


@case("patches of unknown fields, by field validation")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, spec={"color": "red"}))
    api.patch(widgets, "a", {"spec": {"foo": 1}, "top": 2, "metadata": {"bogus": 1}})
    api.patch(widgets, "a", {"spec": {"foo": 1}, "top": 2}, fieldValidation="Strict")
    api.patch(widgets, "a", {"spec": {"foo": 1}, "top": 2}, fieldValidation="Ignore")
    operation = {"op": "add", "path": "/spec/foo", "value": 1}
    api.patch(widgets, "a", [operation], by="json", fieldValidation="Strict")


@case("patches that make an invalid object")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, spec={"color": "red"}))
    api.patch(widgets, "a", {"metadata": {"labels": {"a": 5}}})
    api.patch(widgets, "a", {"kind": "Gadget"})
    api.patch(widgets, "a", {"apiVersion": "example.com/v1"})
    api.patch(widgets, "a", "[")
    api.patch(widgets, "a", "5")


@case("patches of other media types")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api))
    api.patch(widgets, "a", {"spec": {}}, by="application/strategic-merge-patch+json")
    api.patch(widgets, "a", {"spec": {}}, by="application/json")
    api.patch(widgets, "b", {"spec": {}}, by="application/strategic-merge-patch+json")


@case("dry runs change nothing")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api), dryRun="All")
    made = api.create(widgets, _widget(api))
    body = _widget(api, metadata={"resourceVersion": made.version}, spec={"color": "red"})
    api.update(widgets, "a", body, dryRun="All")
    api.patch(widgets, "a", {"spec": {"color": "blue"}}, dryRun="All")
    api.delete(widgets, "a", dryRun="All")
    api.get(widgets, "a")


# Subresources


@case("with a status subresource, the object and its status are written apart")
def _(api: Api) -> None:
    widgets = _widgets(api, version=STATUS)
    made = api.create(widgets, _widget(api, spec={"color": "red"}, status={"phase": "Ready"}))
    api.patch(widgets, "a", {"spec": {"color": "blue"}, "status": {"phase": "Ready"}})
    api.patch(widgets, "a/status", {"spec": {"color": "green"}, "status": {"phase": "Ready"}})
    api.get(widgets, "a/status")
    api.update(widgets, "a/status", _widget(api, metadata={"resourceVersion": made.version}))
    latest = api.get(widgets, "a")
    metadata = {"resourceVersion": latest.version, "labels": {"a": "b"}}
    api.update(widgets, "a/status", _widget(api, metadata=metadata, status={"phase": "Done"}))
    latest = api.get(widgets, "a")
    api.update(widgets, "a/status", _widget(api, metadata={"resourceVersion": latest.version}))


@case("a write of the status is checked as any other")
def _(api: Api) -> None:
    widgets = _widgets(api, version=STATUS)
    api.create(widgets, _widget(api))
    api.patch(widgets, "a/status", {"status": {"phase": "Ready", "foo": 1}})
    api.patch(widgets, "a/status", {"status": {"foo": 1}}, fieldValidation="Strict")
    api.update(widgets, "a/status", _widget(api))
    api.update(widgets, "a/status", {**_widget(api), "kind": "Gadget"})
    api.delete(widgets, "a/status")
    api.create(widgets, _widget(api), "a/status")
    api.patch(widgets, "b/status", {"status": {}})


@case("without a status subresource, the status is a field as any other")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, status={"phase": "Ready"}))
    api.patch(widgets, "a", {"status": {"phase": "Done"}})


@case("the scale shows and changes the replicas")
def _(api: Api) -> None:
    widgets = _widgets(api, version=SCALE)
    api.create(widgets, _widget(api, spec={"replicas": 2}))
    api.patch(widgets, "a/status", {"status": {"replicas": 1, "selector": "app=a"}})
    seen = api.get(widgets, "a/scale")
    api.update(widgets, "a/scale", {**seen.body, "spec": {"replicas": 3}})
    api.update(widgets, "a/scale", {**seen.body, "spec": {"replicas": 4}})
    api.patch(widgets, "a/scale", {"spec": {"replicas": 5}})
    api.get(widgets, "a")


@case("a scale without replicas")
def _(api: Api) -> None:
    widgets = _widgets(api, version=SCALE)
    api.create(widgets, _widget(api))
    api.get(widgets, "a/scale")
    api.patch(widgets, "a/scale", {"metadata": {"labels": {"a": "b"}}})
    api.patch(widgets, "a/scale", {"spec": {"replicas": 1}})
    api.get(widgets, "b/scale")


@case("a scale that is refused")
def _(api: Api) -> None:
    widgets = _widgets(api, version=SCALE)
    api.create(widgets, _widget(api, spec={"replicas": 2}))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}}
    api.update(widgets, "a/scale", {**scale, "spec": {"replicas": -1}})
    api.update(widgets, "a/scale", {**scale, "spec": {"replicas": "x"}})
    api.update(widgets, "a/scale", {**scale, "spec": {"replicas": 3000000000}})
    api.update(widgets, "a/scale", {**scale, "metadata": {"name": "b"}, "spec": {"replicas": 1}})
    api.update(widgets, "a/scale", {**scale, "metadata": {}, "spec": {"replicas": 1}})
    api.update(widgets, "a/scale", {**scale, "kind": "Widget", "spec": {"replicas": 1}})
    api.update(widgets, "a/scale", {**scale, "spec": {"replicas": 1, "foo": 2}}, fieldValidation="Strict")
    api.update(widgets, "a/scale", {**scale})
    api.update(widgets, "a/scale", {**scale, "spec": {"replicas": 7}})


@case("replicas that are no number")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(replicas=TEXT), status=object_of(replicas=NUMBER, selector=NUMBER))
    widgets = _widgets(api, schema, version=SCALE)
    api.create(widgets, _widget(api, spec={"replicas": "two"}))
    api.create(widgets, _widget(api))
    api.patch(widgets, "a/status", {"status": {"selector": 5}})
    api.patch(widgets, "a/status", {"status": {"replicas": -1}})
    api.get(widgets, "a/scale")


# Selecting


@case("label selectors")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, "a", metadata={"labels": {"app": "x"}}))
    api.create(widgets, _widget(api, "b", metadata={"labels": {"app": "y"}}))
    api.list(widgets, labelSelector="app=x")
    api.list(widgets, labelSelector="app in (x,y),!other")
    api.list(widgets, labelSelector="app=(")


@case("field selectors name the name and the namespace")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, "a"))
    api.create(widgets, _widget(api, "b"))
    api.list(widgets, fieldSelector="metadata.name=a")
    api.list(widgets, fieldSelector=f"metadata.namespace={api.namespace},metadata.name!=a")
    api.list(widgets, fieldSelector="spec.color=red")
    api.list(widgets, fieldSelector="metadata.uid=x")


@case("field selectors name selectable fields")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(color=TEXT, size=NUMBER, on={"type": "boolean"}, deep=object_of(er=TEXT)))
    fields = [{"jsonPath": path} for path in (".spec.color", ".spec.size", ".spec.on", ".spec.deep.er")]
    widgets = _widgets(api, schema, version={"selectableFields": fields})
    api.create(widgets, _widget(api, "a", spec={"color": "red", "size": 5, "on": True, "deep": {"er": "x"}}))
    api.create(widgets, _widget(api, "b", spec={"color": "blue"}))
    for selector in (
        "spec.color=red",
        "spec.color!=red",
        "spec.size=5",
        "spec.on=true",
        "spec.on=",
        "spec.deep.er=x",
        "spec.color=red,metadata.name=b",
        "spec.other=x",
        ".spec.color=red",
    ):
        api.list(widgets, fieldSelector=selector)


@case("a watch by a selectable field")
def _(api: Api) -> None:
    fields = [{"jsonPath": ".spec.color"}]
    widgets = _widgets(api, version={"selectableFields": fields})
    api.create(widgets, _widget(api, "a", spec={"color": "red"}))
    with api.watching(widgets, fieldSelector="spec.color=red") as stream:
        stream.read(1)
        api.create(widgets, _widget(api, "b", spec={"color": "blue"}))
        api.patch(widgets, "b", {"spec": {"color": "red"}})
        api.patch(widgets, "a", {"spec": {"color": "blue"}})
        stream.read(2)


@case("pages of a list")
def _(api: Api) -> None:
    widgets = _widgets(api)
    for name in "abc":
        api.create(widgets, _widget(api, name))
    first = api.list(widgets, limit=2)
    api.list(widgets, limit=2, continue_=first.token)


# Other representations


@case("metadata alone")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, spec={"color": "red"}))
    one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    many = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    api.request("GET", api.path(widgets, "a"), headers={"Accept": one})
    api.request("GET", api.path(widgets), headers={"Accept": many})
    api.request("GET", api.path(widgets), headers={"Accept": one})
    api.request("GET", api.path(widgets, "a"), headers={"Accept": many})
    api.request("GET", api.path(widgets), headers={"Accept": "text/plain"})


@case("protobuf is not offered")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api))
    protobuf = "application/vnd.kubernetes.protobuf"
    api.request("GET", api.path(widgets, "a"), headers={"Accept": f"{protobuf},application/json"})


# Deleting


@case("finalizers hold an object")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, metadata={"finalizers": ["example.com/mine"]}))
    api.delete(widgets, "a")
    api.delete(widgets, "a")
    api.patch(widgets, "a", {"metadata": {"finalizers": ["example.com/mine", "example.com/more"]}})
    api.patch(widgets, "a", {"metadata": {"finalizers": None}})
    api.get(widgets, "a")


@case("preconditions of a deletion")
def _(api: Api) -> None:
    widgets = _widgets(api)
    made = api.create(widgets, _widget(api))
    api.delete(widgets, "a", {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}})
    api.delete(widgets, "a", {"preconditions": {"resourceVersion": "1"}})
    api.delete(widgets, "a", {"preconditions": {"uid": made.uid, "resourceVersion": made.version}})


@case("options of a deletion")
def _(api: Api) -> None:
    widgets = _widgets(api)
    options = {
        "kind": "DeleteOptions",
        "apiVersion": f"{group_of(api)}/v1",
        "propagationPolicy": "Foreground",
    }
    api.create(widgets, _widget(api))
    api.delete(widgets, "a", options)
    api.create(widgets, _widget(api, "b"))
    api.delete(widgets, "b", {"propagationPolicy": "Orphan", "gracePeriodSeconds": 5})
    api.create(widgets, _widget(api, "c"))
    api.delete(widgets, "c", {"gracePeriodSeconds": "x"})
    api.delete(widgets, "c", {"propagationPolicy": "Never"})


@case("a collection is deleted by a selector")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api, "a", metadata={"labels": {"app": "x"}}))
    api.create(widgets, _widget(api, "b", metadata={"labels": {"app": "y"}}))
    api.delete_all(widgets, labelSelector="app=x")
    api.list(widgets)


# Watching


@case("a watch sends what happens to objects")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api))
    with api.watching(widgets) as stream:
        stream.read(1)
        api.patch(widgets, "a", {"spec": {"color": "red"}})
        api.create(widgets, _widget(api, "b"))
        api.delete(widgets, "a")
        stream.read(3)


@case("a watch that begins with the state ends it with a bookmark")
def _(api: Api) -> None:
    widgets = _widgets(api)
    api.create(widgets, _widget(api))
    options: dict[str, Any] = {"sendInitialEvents": True, "allowWatchBookmarks": True}
    api.watch(widgets, events=2, resourceVersionMatch="NotOlderThan", **options)


@case("a watch by labels")
def _(api: Api) -> None:
    widgets = _widgets(api)
    with api.watching(widgets, labelSelector="app=x") as stream:
        api.create(widgets, _widget(api, metadata={"labels": {"app": "y"}}))
        api.patch(widgets, "a", {"metadata": {"labels": {"app": "x"}}})
        api.patch(widgets, "a", {"metadata": {"labels": {"app": "z"}}})
        stream.read(2)


# Embedded objects


@case("embedded objects have metadata as others")
def _(api: Api) -> None:
    embedded: Plain = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    widgets = _widgets(api, object_of(spec=object_of(template=embedded)))
    head = {"apiVersion": "v1", "kind": "Pod"}
    api.create(widgets, _widget(api, spec={"template": {**head, "metadata": {"name": "x", "bogus": 1}, "spec": 5}}))
    strict = {"template": {**head, "metadata": {"name": "x", "bogus": 1}}}
    api.create(widgets, _widget(api, "b", spec=strict), fieldValidation="Strict")
    templates: tuple[Plain, ...] = (
        {"metadata": {}},
        {**head, "metadata": {"labels": {"a": 1}}},
        {**head, "metadata": 5},
        {**head, "apiVersion": 5},
        {**head, "apiVersion": "a/b/c"},
        {**head, "kind": ""},
        {**head, "kind": "a b"},
        {**head, "metadata": {"name": "a/b"}},
        {**head, "metadata": {"labels": {"-": "x"}}},
    )
    for template in templates:
        api.create(widgets, _widget(api, "c", spec={"template": template}))
