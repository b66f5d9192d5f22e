"""Apply: custom resources with all types of lists and maps, and definitions that change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import (
    DEFINITIONS,
    NUMBER,
    TEXT,
    await_served,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
    update,
)
from tests.conformance.objects import named

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Apply of custom resources")

ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def list_of(items: Plain, kind: str = "", *keys: str) -> Plain:
    """A list, which is atomic unless it is said to be something else."""
    made: Plain = {"type": "array", "items": items}
    if kind:
        made["x-kubernetes-list-type"] = kind
    return made | ({"x-kubernetes-list-map-keys": list(keys)} if keys else {})


def serve(api: Api, **properties: Plain) -> str:
    """Install a definition whose spec has these fields; return its resource."""
    install(api, definition(api, object_of(spec=object_of(**properties))))
    return resource_of(api)


def widget(api: Api, name: str = "a", **spec: Any) -> Plain:
    return named(f"{group_of(api)}/v1", "Widget", name, spec=spec)


@case("an object is made, changed and released")
def _(api: Api) -> None:
    resource = serve(api, color=TEXT, size=NUMBER)
    api.apply(resource, "a", widget(api, color="red", size=1))
    api.apply(resource, "a", widget(api, color="red", size=1))
    api.apply(resource, "a", widget(api, color="blue"), "two")
    api.apply(resource, "a", widget(api, color="red"))
    api.apply(resource, "a", named(f"{group_of(api)}/v1", "Widget", "a"))


@case("force, dry run and removal")
def _(api: Api) -> None:
    resource = serve(api, color=TEXT, size=NUMBER)
    api.create(resource, widget(api, color="red"))
    api.apply(resource, "a", widget(api, color="blue"))
    api.apply(resource, "a", widget(api, color="blue"), force="true", dryRun="All")
    api.apply(resource, "a", widget(api, color="blue", size=2), force="true")
    api.apply(resource, "a", widget(api, size=2))


@case("a list without a type is one value")
def _(api: Api) -> None:
    resource = serve(api, items=list_of(TEXT))
    api.apply(resource, "a", widget(api, items=["a", "b"]))
    api.apply(resource, "a", widget(api, items=["b", "a"]), "two")
    api.apply(resource, "a", widget(api, items=["a", "b"]), "two")
    api.apply(resource, "a", widget(api, items=["a", "a"]), "two", force="true")


@case("a set of texts and of numbers")
def _(api: Api) -> None:
    resource = serve(api, tags=list_of(TEXT, "set"), sizes=list_of(NUMBER, "set"))
    api.apply(resource, "a", widget(api, tags=["b", "a"], sizes=[3, 1]))
    api.apply(resource, "a", widget(api, tags=["c", "a"], sizes=[1, 2]), "two")
    api.apply(resource, "a", widget(api, tags=["a"], sizes=[]))
    api.apply(resource, "a", widget(api, tags=["a", "a"]))
    api.patch(resource, "a", {"spec": {"sizes": [2, 4]}}, fieldManager="three")


@case("a set of lists and of objects that are one value")
def _(api: Api) -> None:
    atomic = object_of(x=NUMBER) | {"x-kubernetes-map-type": "atomic"}
    resource = serve(api, points=list_of(atomic, "set"), rows=list_of(list_of(NUMBER, "atomic"), "set"))
    api.apply(resource, "a", widget(api, points=[{"x": 1}]))
    api.apply(resource, "a", widget(api, rows=[[1, 2], [2, 1]]))
    api.create(resource, widget(api, points=[{"x": 1}, {"x": 2}], rows=[[1, 2]]))
    api.patch(resource, "a", {"spec": {"rows": [[2, 1], [1, 2]]}}, fieldManager="two")


@case("a list by one key")
def _(api: Api) -> None:
    item = object_of(name=TEXT, value=TEXT, size=NUMBER) | {"required": ["name"]}
    resource = serve(api, items=list_of(item, "map", "name"))
    api.apply(resource, "a", widget(api, items=[{"name": "a", "value": "1"}]))
    api.apply(resource, "a", widget(api, items=[{"name": "b", "value": "1"}, {"name": "a", "size": 1}]), "two")
    api.apply(resource, "a", widget(api, items=[{"name": "a", "value": "2", "size": 2}]))
    api.apply(resource, "a", widget(api, items=[]))
    api.apply(resource, "a", widget(api, items=[{"name": "a"}, {"name": "a"}]))


@case("a list by several keys, of which one has a default")
def _(api: Api) -> None:
    protocol = {"type": "string", "default": "TCP"}
    item = object_of(port=NUMBER, protocol=protocol, name=TEXT) | {"required": ["port"]}
    resource = serve(api, ports=list_of(item, "map", "port", "protocol"))
    api.apply(resource, "a", widget(api, ports=[{"port": 80, "name": "web"}]))
    api.apply(resource, "a", widget(api, ports=[{"port": 80, "protocol": "TCP", "name": "web"}]))
    api.apply(resource, "a", widget(api, ports=[{"port": 80, "protocol": "UDP"}]), "two")
    api.apply(resource, "a", widget(api, ports=[{"port": 80}, {"port": 80, "protocol": "TCP"}]), "two")


@case("keys that are numbers and booleans")
def _(api: Api) -> None:
    item = object_of(on={"type": "boolean"}, at=NUMBER, value=TEXT) | {"required": ["on", "at"]}
    resource = serve(api, items=list_of(item, "map", "on", "at"))
    api.apply(resource, "a", widget(api, items=[{"on": True, "at": 1}, {"on": False, "at": 1, "value": "1"}]))
    api.apply(resource, "a", widget(api, items=[{"on": False, "at": 1, "value": "2"}]), "two")


@case("lists within lists")
def _(api: Api) -> None:
    inner = object_of(name=TEXT, tags=list_of(TEXT, "set")) | {"required": ["name"]}
    outer = object_of(name=TEXT, items=list_of(inner, "map", "name")) | {"required": ["name"]}
    resource = serve(api, groups=list_of(outer, "map", "name"))
    api.apply(resource, "a", widget(api, groups=[{"name": "a", "items": [{"name": "x", "tags": ["1"]}]}]))
    other = [{"name": "a", "items": [{"name": "y"}, {"name": "x", "tags": ["2"]}]}, {"name": "b"}]
    api.apply(resource, "a", widget(api, groups=other), "two")
    api.apply(resource, "a", widget(api, groups=[{"name": "a"}]))


@case("maps that are one value and maps that are not")
def _(api: Api) -> None:
    values: Plain = {"type": "object", "additionalProperties": TEXT}
    resource = serve(api, whole=values | {"x-kubernetes-map-type": "atomic"}, apart=values)
    api.apply(resource, "a", widget(api, whole={"a": "1"}, apart={"a": "1"}))
    api.apply(resource, "a", widget(api, whole={"b": "1"}, apart={"b": "1"}), "two")
    api.apply(resource, "a", widget(api, whole={"b": "1"}, apart={"b": "1"}), "two", force="true")
    api.apply(resource, "a", widget(api, apart={"a": "1"}))


@case("objects that are one value")
def _(api: Api) -> None:
    whole = object_of(color=TEXT, size=NUMBER) | {"x-kubernetes-map-type": "atomic"}
    resource = serve(api, whole=whole)
    api.apply(resource, "a", widget(api, whole={"color": "red"}))
    api.apply(resource, "a", widget(api, whole={"size": 1}), "two")
    api.apply(resource, "a", widget(api, whole={"color": "red", "size": 1}))


@case("fields that are kept although they are not known")
def _(api: Api) -> None:
    resource = serve(api, free=ANYTHING, color=TEXT)
    api.apply(resource, "a", widget(api, free={"a": {"b": 1}, "list": [{"name": "x"}, 2], "empty": {}}))
    api.apply(resource, "a", widget(api, free={"a": {"c": 1}, "list": []}), "two")
    api.apply(resource, "a", widget(api, free={"a": {"c": 1}}), "two")
    api.apply(resource, "a", widget(api, free={"a": None, "list": None}))


@case("objects of any fields")
def _(api: Api) -> None:
    install(api, definition(api))
    resource = resource_of(api)
    api.apply(resource, "a", widget(api, a=1, b={"c": [1, 2]}, d="x"))
    api.apply(resource, "a", widget(api, a=2, b={"e": True}, f=1.5), "two")
    api.apply(resource, "a", {**widget(api), "more": {"a": 1}}, "two")


@case("numbers or texts")
def _(api: Api) -> None:
    resource = serve(api, either={"x-kubernetes-int-or-string": True})
    api.apply(resource, "a", widget(api, either=1))
    api.apply(resource, "a", widget(api, either="1"), "two")
    api.apply(resource, "a", widget(api, either="1"))
    api.apply(resource, "a", widget(api, either=["1"]))


@case("objects of other kinds within")
def _(api: Api) -> None:
    embedded = {**ANYTHING, "x-kubernetes-embedded-resource": True}
    resource = serve(api, template=embedded)
    inside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"l": "1"}}}
    api.apply(resource, "a", widget(api, template=inside))
    api.apply(resource, "a", widget(api, template={**inside, "data": {"k": "1"}}), "two")
    api.apply(resource, "a", widget(api, template={**inside, "metadata": {"name": "y"}}), "two")


@case("fields that are not declared")
def _(api: Api) -> None:
    resource = serve(api, color=TEXT)
    api.apply(resource, "a", widget(api, color="red", nonsense=1))
    for directive in ("Strict", "Warn", "Ignore"):
        api.apply(resource, "a", widget(api, nonsense=1), fieldValidation=directive)
    api.apply(resource, "a", {**widget(api), "nonsense": 1})
    api.create(resource, widget(api, "b", color="red"))
    api.apply(resource, "b", widget(api, "b", nonsense={"a": 1}))


@case("values of the wrong type")
def _(api: Api) -> None:
    resource = serve(api, color=TEXT, size=NUMBER, tags=list_of(TEXT, "set"), free=ANYTHING)
    api.apply(resource, "a", widget(api, color=1))
    api.apply(resource, "a", widget(api, size="1"))
    api.apply(resource, "a", widget(api, size=1.5))
    api.apply(resource, "a", widget(api, tags="a"))
    api.apply(resource, "a", widget(api, tags=[1, "1"]))
    api.apply(resource, "a", widget(api, free=[1]))
    api.apply(resource, "a", {**widget(api), "spec": []})
    for name in ("color", "size", "tags", "free"):
        api.apply(resource, "a", {**widget(api), "spec": {name: None}})


@case("defaults of the schema are no one's")
def _(api: Api) -> None:
    spec = object_of(color={"type": "string", "default": "red"}, size=NUMBER) | {"default": {}}
    install(api, definition(api, object_of(spec=spec)))
    resource = resource_of(api)
    api.apply(resource, "a", named(f"{group_of(api)}/v1", "Widget", "a"))
    api.apply(resource, "a", widget(api, color="blue"), "two")
    api.apply(resource, "a", named(f"{group_of(api)}/v1", "Widget", "a"), "two")
    api.create(resource, widget(api, "b"))


@case("rules that an apply breaks")
def _(api: Api) -> None:
    rule = {"rule": "self.size < 3", "message": "too large"}
    spec = object_of(size=NUMBER) | {"x-kubernetes-validations": [rule]}
    install(api, definition(api, object_of(spec=spec)))
    api.apply(resource_of(api), "a", widget(api, size=5))
    api.apply(resource_of(api), "a", widget(api, size=1))
    api.apply(resource_of(api), "a", widget(api, size=3), "two", force="true")


def _become(api: Api, name: str, schema: Plain) -> None:
    """Change the schema of a field of the spec, and wait until the server goes by it."""

    def change(found: Plain) -> None:
        root = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        root["properties"]["spec"]["properties"][name] = schema
        root["properties"]["spec"]["properties"]["changed"] = {"type": "string", "default": "yes"}

    update(api, "widgets", change)
    probe = {"apiVersion": f"{group_of(api)}/v1", "kind": "Widget", "metadata": {"name": "probe"}, "spec": {}}
    api.await_response(
        f"{api.path(resource_of(api))}?dryRun=All",
        lambda _, made: "changed" in (made.get("spec") or {}),
        method="POST",
        body=probe,
    )


@case("a list that becomes a set")
def _(api: Api) -> None:
    resource = serve(api, tags=list_of(TEXT, "atomic"))
    api.apply(resource, "a", widget(api, tags=["a", "b"]))
    _become(api, "tags", list_of(TEXT, "set"))
    api.apply(resource, "a", widget(api, tags=["c"]), "two")
    api.apply(resource, "a", widget(api, tags=["a"]))


@case("a set that becomes one value")
def _(api: Api) -> None:
    resource = serve(api, tags=list_of(TEXT, "set"))
    api.apply(resource, "a", widget(api, tags=["a", "b"]))
    api.apply(resource, "a", widget(api, tags=["c"]), "two")
    _become(api, "tags", list_of(TEXT, "atomic"))
    api.apply(resource, "a", widget(api, tags=["a"]))
    api.apply(resource, "a", widget(api, tags=["a"]), force="true")


@case("a map that becomes one value, and the other way round")
def _(api: Api) -> None:
    values: Plain = {"type": "object", "additionalProperties": TEXT}
    resource = serve(api, values=values)
    api.apply(resource, "a", widget(api, values={"a": "1"}))
    _become(api, "values", values | {"x-kubernetes-map-type": "atomic"})
    api.apply(resource, "a", widget(api, values={"a": "1"}))
    api.patch(resource, "a", {"spec": {"values": {"b": "1"}}}, fieldManager="two")
    api.apply(resource, "a", widget(api, values={"a": "1"}))


@case("a field that is no longer declared")
def _(api: Api) -> None:
    resource = serve(api, color=TEXT, size=NUMBER)
    api.apply(resource, "a", widget(api, color="red", size=1))
    _become(api, "size", TEXT)
    api.apply(resource, "a", widget(api, color="blue"))


@case("a definition is applied")
def _(api: Api) -> None:
    name = f"widgets.{group_of(api)}"
    body = definition(api, object_of(spec=object_of(color=TEXT)))
    api.apply(DEFINITIONS, name, body)
    await_served(api)
    api.apply(resource_of(api), "a", widget(api, color="red"))
    narrow = named("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
    api.apply(DEFINITIONS, name, {**narrow, "metadata": {"name": name, "labels": {"l": "1"}}}, "two", dryRun="All")


@case("labels and annotations of a custom resource")
def _(api: Api) -> None:
    resource = serve(api, color=TEXT)
    body = {
        **widget(api, color="red"),
        "metadata": {"name": "a", "labels": {"l": "1"}, "annotations": {"a": "1"}},
    }
    api.apply(resource, "a", body)
    body = {**widget(api, color="red"), "metadata": {"name": "a", "labels": {"l": "2"}, "nonsense": 1}}
    api.apply(resource, "a", body, "two")
    body = {**widget(api, color="red"), "metadata": {"name": "a", "finalizers": ["example.com/a"]}}
    api.apply(resource, "a", body, "two")
    api.apply(resource, "a", widget(api, color="red"), "two")


@case("generateName, a wrong name and a wrong namespace")
def _(api: Api) -> None:
    resource = serve(api, color=TEXT)
    api.apply(resource, "a", {**widget(api), "metadata": {"generateName": "a-"}})
    api.apply(resource, "a", widget(api, "b"))
    api.apply(resource, "a", {**widget(api), "metadata": {"name": "a", "namespace": "default"}})
    api.apply(resource, "a", {**widget(api), "metadata": {}})
    api.apply(resource, "a", {**widget(api), "kind": "Gadget"})
