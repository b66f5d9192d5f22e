"""Server-side apply of custom resources: types of their schemas, or deduced ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.definitions import (
    NUMBER,
    TEXT,
    await_served,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
    update,
    version_of,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Apply of custom types")

ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _widget(api: Api, spec: object = None, *, version: str = "v1", **fields: object) -> Plain:
    made: Plain = {"apiVersion": f"{group_of(api)}/{version}", "kind": "Widget", "metadata": {"name": "a"}}
    if spec is not None:
        made["spec"] = spec
    return made | fields


def _list(of: Plain, **facts: object) -> Plain:
    return {"type": "array", "items": of} | {
        f"x-kubernetes-{name.replace('_', '-')}": value for name, value in facts.items()
    }


def _install(api: Api, *, version: Plain | None = None, **properties: Plain) -> str:
    install(api, definition(api, object_of(spec=object_of(**properties)), version=version))
    return resource_of(api)


@case("fields of a schema are owned one by one")
def _(api: Api) -> None:
    widgets = _install(api, a=TEXT, b=TEXT, inner=object_of(c=NUMBER, d=NUMBER))
    api.apply(widgets, "a", _widget(api, {"a": "1", "inner": {"c": 1}}))
    api.apply(widgets, "a", _widget(api, {"b": "2", "inner": {"d": 2}}), "two")
    api.apply(widgets, "a", _widget(api, {"b": "3", "inner": {"c": 3}}), "three")
    api.apply(widgets, "a", _widget(api, {"b": "3", "inner": {"c": 3}}), "three", force=True)
    api.apply(widgets, "a", _widget(api, {"a": "1"}))
    api.apply(widgets, "a", _widget(api))
    api.get(widgets, "a")


@case("undeclared fields and wrong types are refused")
def _(api: Api) -> None:
    widgets = _install(api, a=TEXT, number=NUMBER, flag={"type": "boolean"}, inner=object_of(c=NUMBER))
    api.apply(widgets, "a", _widget(api, {"x": "1"}))
    api.apply(widgets, "a", _widget(api, {"x": "1"}), fieldValidation="Ignore")
    api.apply(widgets, "a", _widget(api, {"x": "1"}), fieldValidation="Strict")
    api.apply(widgets, "a", _widget(api, status={}))
    api.apply(widgets, "a", _widget(api, {"a": 1}))
    api.apply(widgets, "a", _widget(api, {"number": "1"}))
    api.apply(widgets, "a", _widget(api, {"number": 1.5}))
    api.apply(widgets, "a", _widget(api, {"flag": "true"}))
    api.apply(widgets, "a", _widget(api, {"inner": []}))
    api.apply(widgets, "a", _widget(api, []))
    api.apply(widgets, "a", _widget(api, "a"))
    api.get(widgets, "a")


@case("kind, version and name are checked as those of other kinds")
def _(api: Api) -> None:
    widgets = _install(api, a=TEXT)
    api.apply(widgets, "a", {})
    api.apply(widgets, "a", _widget(api) | {"kind": "Gadget"})
    api.apply(widgets, "a", _widget(api, version="v2"))
    api.apply(widgets, "a", _widget(api) | {"metadata": {"name": "b"}})
    api.apply(widgets, "a", _widget(api) | {"metadata": {}})
    api.apply(widgets, "a", _widget(api) | {"metadata": {"name": "a", "unknown": 1}})
    api.apply(widgets, "a", _widget(api) | {"metadata": {"name": "a", "labels": {"a": 1}}})
    api.apply(widgets, "a", _widget(api) | {"metadata": {"name": "a", "creationTimestamp": "yesterday"}})
    api.apply(widgets, "a", _widget(api) | {"metadata": {"name": "a", "managedFields": []}})
    api.apply(widgets, "a", _widget(api) | {"metadata": {"name": "a", "uid": "a"}})
    api.apply(widgets, "a", _widget(api) | {"metadata": {"name": "a", "resourceVersion": "1"}})
    api.apply(widgets, "a", _widget(api, {"a": "1"}) | {"metadata": {"name": "a", "resourceVersion": "1"}})
    api.patch(widgets, "b", _widget(api), by="application/apply-patch+cbor", fieldManager="one")
    api.patch(widgets, "b", _widget(api), by="application/strategic-merge-patch+json")
    api.patch(widgets, "b", _widget(api), by="apply")


@case("lists are atomic unless their schema says otherwise")
def _(api: Api) -> None:
    item = object_of(name=TEXT, value=TEXT) | {"required": ["name"]}
    widgets = _install(
        api,
        plain=_list(TEXT),
        atomic=_list(item, list_type="atomic"),
        set=_list(TEXT, list_type="set"),
        map=_list(item, list_type="map", list_map_keys=["name"]),
    )
    api.apply(
        widgets,
        "a",
        _widget(
            api,
            {
                "plain": ["a", "b"],
                "atomic": [{"name": "a"}],
                "set": ["b", "a"],
                "map": [{"name": "a", "value": "1"}, {"name": "b", "value": "1"}],
            },
        ),
    )
    api.apply(widgets, "a", _widget(api, {"plain": ["c"]}), "two")
    api.apply(widgets, "a", _widget(api, {"atomic": [{"name": "b"}]}), "two")
    api.apply(widgets, "a", _widget(api, {"set": ["c", "a"], "map": [{"name": "c", "value": "2"}]}), "two")
    api.apply(widgets, "a", _widget(api, {"map": [{"name": "a", "value": "2"}]}), "two")
    api.apply(widgets, "a", _widget(api, {"map": [{"value": "2"}]}), "two")
    api.apply(widgets, "a", _widget(api, {"map": [{"name": "a"}, {"name": "a"}]}), "two")
    api.apply(widgets, "a", _widget(api, {"set": ["a", "a"]}), "two")
    api.apply(widgets, "a", _widget(api, {"set": ["a"], "map": [{"name": "b", "value": "1"}]}))


@case("keys may have defaults")
def _(api: Api) -> None:
    port = object_of(port=NUMBER, protocol={**TEXT, "default": "TCP"}, name=TEXT) | {"required": ["port"]}
    widgets = _install(api, ports=_list(port, list_type="map", list_map_keys=["port", "protocol"]))
    api.apply(widgets, "a", _widget(api, {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}))
    api.apply(widgets, "a", _widget(api, {"ports": [{"port": 80, "protocol": "TCP", "name": "a"}]}), "two")
    api.apply(widgets, "a", _widget(api, {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}), "two")
    api.apply(widgets, "a", _widget(api, {"ports": [{"port": 80, "protocol": "UDP"}]}))


@case("maps are granular or atomic")
def _(api: Api) -> None:
    widgets = _install(
        api,
        granular={"type": "object", "additionalProperties": TEXT},
        atomic={"type": "object", "additionalProperties": TEXT, "x-kubernetes-map-type": "atomic"},
        struct=object_of(a=TEXT, b=TEXT) | {"x-kubernetes-map-type": "atomic"},
    )
    api.apply(widgets, "a", _widget(api, {"granular": {"a": "1"}, "atomic": {"a": "1"}, "struct": {"a": "1"}}))
    api.apply(widgets, "a", _widget(api, {"granular": {"b": "1"}}), "two")
    api.apply(widgets, "a", _widget(api, {"atomic": {"b": "1"}}), "two")
    api.apply(widgets, "a", _widget(api, {"struct": {"b": "1"}}), "two")
    api.apply(widgets, "a", _widget(api, {"atomic": {"b": "1"}, "struct": {"b": "1"}}), "two", force=True)
    api.apply(widgets, "a", _widget(api, {"granular": {}}))


@case("unknown fields that are preserved have deduced types")
def _(api: Api) -> None:
    widgets = _install(api, free=ANYTHING, known=ANYTHING | {"properties": {"a": TEXT}})
    api.apply(
        widgets,
        "a",
        _widget(api, {"free": {"a": {"b": 1, "c": [1, {"d": None}]}}, "known": {"a": "1", "x": [1]}}),
    )
    api.apply(widgets, "a", _widget(api, {"free": {"a": {"e": 2}}, "known": {"y": {}}}), "two")
    api.apply(widgets, "a", _widget(api, {"free": {"a": {"c": [2]}}}), "two")
    api.apply(widgets, "a", _widget(api, {"free": {"a": 1}}), "three")
    api.apply(widgets, "a", _widget(api, {"known": {"a": 1}}), "three")
    api.apply(widgets, "a", _widget(api, {"free": {"a": {"b": 1}}}))


@case("objects without a schema have deduced types")
def _(api: Api) -> None:
    install(api, definition(api))
    widgets = resource_of(api)
    api.apply(widgets, "a", _widget(api, {"a": [1, 2], "b": {"c": 1.5, "d": None}}, more="x"))
    api.apply(widgets, "a", _widget(api, {"a": [2], "b": {"e": 1}}), "two")
    api.apply(widgets, "a", _widget(api, {"b": {"e": 1}}), "two")
    api.apply(widgets, "a", _widget(api, ["a"]), "two", force=True)
    api.apply(widgets, "a", _widget(api))


@case("values of more than one type")
def _(api: Api) -> None:
    widgets = _install(
        api,
        port={"x-kubernetes-int-or-string": True},
        number={"type": "number"},
        any={"x-kubernetes-preserve-unknown-fields": True},
        null={**TEXT, "nullable": True},
    )
    api.apply(widgets, "a", _widget(api, {"port": 80, "number": 1.0, "any": [1], "null": None}))
    api.apply(widgets, "a", _widget(api, {"port": "80", "number": 1.5, "any": {"a": 1}, "null": "a"}))
    api.apply(widgets, "a", _widget(api, {"port": {}}))
    api.apply(widgets, "a", _widget(api, {"port": True}))
    api.apply(widgets, "a", _widget(api, {"any": "text"}), "two")
    api.apply(widgets, "a", _widget(api, {"any": None, "null": None}))


@case("nulls of fields that are not nullable")
def _(api: Api) -> None:
    widgets = _install(api, a=TEXT, b={**TEXT, "default": "b"}, inner=object_of(c=TEXT), list=_list(TEXT))
    for name in ("a", "b", "inner", "list"):
        api.apply(widgets, "a", _widget(api, {name: None}))
    api.apply(widgets, "a", _widget(api, {"a": "1", "b": "2", "inner": {"c": "1"}, "list": ["a"]}))
    api.apply(widgets, "a", _widget(api, {"inner": {"c": None}}))
    api.apply(widgets, "a", _widget(api, {"list": [None]}))
    api.apply(widgets, "a", _widget(api, {"b": None}))
    api.get(widgets, "a")


@case("defaults are set after the merge, and owned by nobody")
def _(api: Api) -> None:
    widgets = _install(api, a={**TEXT, "default": "x"}, inner=object_of(b={**NUMBER, "default": 1}) | {"default": {}})
    api.apply(widgets, "a", _widget(api, {}))
    api.apply(widgets, "a", _widget(api, {"a": "y"}), "two")
    api.apply(widgets, "a", _widget(api, {"a": "z"}))
    api.apply(widgets, "a", _widget(api, {}), "two")


@case("embedded objects")
def _(api: Api) -> None:
    embedded = ANYTHING | {"x-kubernetes-embedded-resource": True}
    typed = object_of(spec=object_of(a=TEXT)) | {"x-kubernetes-embedded-resource": True}
    widgets = _install(api, object=embedded, typed=typed)
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}}}
    api.apply(widgets, "a", _widget(api, {"object": inner | {"x": 1}, "typed": inner | {"spec": {"a": "1"}}}))
    api.apply(widgets, "a", _widget(api, {"object": inner | {"y": 1}}), "two")
    api.apply(widgets, "a", _widget(api, {"typed": inner | {"x": 1}}), "two")
    api.apply(widgets, "a", _widget(api, {"object": {"x": 1}}))


@case("the status is applied by its subresource if there is one")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(a=TEXT), status=object_of(b=TEXT, c=TEXT))
    install(api, definition(api, schema, version={"subresources": {"status": {}}}))
    widgets = resource_of(api)
    api.apply(widgets, "a/status", _widget(api, status={"b": "1"}))
    api.apply(widgets, "a", _widget(api, {"a": "1"}, status={"b": "1"}))
    labelled = _widget(api, {"a": "2"}, status={"b": "1"}) | {"metadata": {"name": "a", "labels": {"a": "b"}}}
    api.apply(widgets, "a/status", labelled, "two")
    api.apply(widgets, "a/status", _widget(api, status={"b": "2"}))
    api.apply(widgets, "a/status", _widget(api, status={"c": "2"}))
    api.apply(widgets, "a/status", _widget(api, status={"x": "2"}))
    api.apply(widgets, "a/status", _widget(api), "two")


@case("the status is a field like others if there is no subresource")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=object_of(a=TEXT), status=object_of(b=TEXT))))
    widgets = resource_of(api)
    api.apply(widgets, "a", _widget(api, {"a": "1"}, status={"b": "1"}))
    api.apply(widgets, "a/status", _widget(api, status={"b": "1"}))


@case("the scale is applied by its subresource")
def _(api: Api) -> None:
    paths = {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"}
    schema = object_of(spec=object_of(count=NUMBER), status=object_of(count=NUMBER))
    install(api, definition(api, schema, version={"subresources": {"scale": paths}}))
    widgets = resource_of(api)
    api.apply(widgets, "a", _widget(api, {"count": 1}))
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a"},
        "spec": {"replicas": 2},
    }
    api.apply(widgets, "a/scale", scale, "two")
    api.apply(widgets, "a/scale", scale, "two", force=True)
    api.get(widgets, "a")
    api.apply(widgets, "a", _widget(api, {"count": 3}))
    api.apply(widgets, "a/scale", scale | {"unknown": 1}, "two")
    api.apply(widgets, "a/scale", scale | {"kind": "Widget"}, "two")


@case("managers may apply in several versions")
def _(api: Api) -> None:
    one = version_of(object_of(spec=object_of(a=TEXT, b=TEXT)))
    two = version_of(object_of(spec=object_of(a=TEXT, b=TEXT)), "v2")
    install(api, definition(api, versions=[one, two]))
    first, second = resource_of(api), resource_of(api, version="v2")
    api.apply(first, "a", _widget(api, {"a": "1", "b": "1"}))
    api.apply(second, "a", _widget(api, {"a": "2"}, version="v2"), "two")
    api.apply(second, "a", _widget(api, {"a": "1"}, version="v2"), "two")
    api.apply(second, "a", _widget(api, {"b": "1"}, version="v2"))
    api.patch(second, "a", {"spec": {"b": "3"}}, fieldManager="three")
    api.apply(first, "a", _widget(api, {"b": "4"}), "four")
    api.get(first, "a")


@case("what is validated is what was merged")
def _(api: Api) -> None:
    spec = object_of(a={**TEXT, "maxLength": 2}, b=NUMBER) | {"required": ["a"]}
    spec["x-kubernetes-validations"] = [{"rule": "!has(self.b) || self.b > 0", "message": "b must be positive"}]
    install(api, definition(api, object_of(spec=spec)))
    widgets = resource_of(api)
    api.apply(widgets, "a", _widget(api, {"b": 1}))
    api.apply(widgets, "a", _widget(api, {"a": "abc"}))
    api.apply(widgets, "a", _widget(api, {"a": "ab"}))
    api.apply(widgets, "a", _widget(api, {"b": 0}), "two")
    api.apply(widgets, "a", _widget(api, {"b": 1}), "two")
    api.apply(widgets, "a", _widget(api, {}))


@case("a list becomes granular")
def _(api: Api) -> None:
    item = object_of(name=TEXT, value=TEXT) | {"required": ["name"]}
    widgets = _install(api, list=_list(item))
    api.apply(widgets, "a", _widget(api, {"list": [{"name": "a", "value": "1"}, {"name": "b"}]}))
    api.patch(widgets, "a", {"spec": {"list": [{"name": "a", "value": "1"}, {"name": "b"}]}}, fieldManager="two")

    def granular(found: Plain) -> None:
        schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"]["properties"]["list"] |= {
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        }

    update(api, "widgets", granular)
    _await_type(api, "map")
    api.apply(widgets, "a", _widget(api, {"list": [{"name": "c"}]}), "two")
    api.apply(widgets, "a", _widget(api, {"list": [{"name": "a", "value": "1"}]}))
    api.apply(widgets, "a", _widget(api, {"list": []}))


@case("a map becomes atomic")
def _(api: Api) -> None:
    widgets = _install(api, map={"type": "object", "additionalProperties": TEXT})
    api.apply(widgets, "a", _widget(api, {"map": {"a": "1"}}))
    api.apply(widgets, "a", _widget(api, {"map": {"b": "1"}}), "two")

    def atomic(found: Plain) -> None:
        schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"]["properties"]["map"]["x-kubernetes-map-type"] = "atomic"

    update(api, "widgets", atomic)
    _await_type(api, "atomic")
    api.apply(widgets, "a", _widget(api, {"map": {"b": "1"}}), "two")
    api.apply(widgets, "a", _widget(api, {"map": {"a": "1", "b": "1"}}), "two")
    api.apply(widgets, "a", _widget(api, {"map": {"a": "2"}}), "two", force=True)


@case("a field that is gone from the schema")
def _(api: Api) -> None:
    widgets = _install(api, a=TEXT, b=TEXT)
    api.apply(widgets, "a", _widget(api, {"a": "1", "b": "1"}))

    def without_b(found: Plain) -> None:
        schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"]["properties"] = {"a": TEXT, "c": TEXT}

    update(api, "widgets", lambda found: without_b(found))
    _await_type(api, "c")
    api.apply(widgets, "a", _widget(api, {"a": "1"}))
    api.apply(widgets, "a", _widget(api, {"a": "1", "b": "1"}))
    api.apply(widgets, "a", _widget(api, {"a": "1", "c": "1"}))


@case("a version that is gone")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(a=TEXT, b=TEXT))
    install(api, definition(api, versions=[version_of(schema), version_of(schema, "v2")]))
    first, second = resource_of(api), resource_of(api, version="v2")
    api.apply(second, "a", _widget(api, {"a": "1"}, version="v2"))
    api.patch(second, "a", {"spec": {"b": "1"}}, fieldManager="two")

    def without_v2(found: Plain) -> None:
        found["spec"]["versions"] = found["spec"]["versions"][:1]

    update(api, "widgets", without_v2)
    await_served(api, version="v2", is_served=False)
    api.apply(first, "a", _widget(api, {"a": "2"}), "three")
    api.apply(first, "a", _widget(api, {"a": "3"}))


def _await_type(api: Api, word: str) -> None:
    """Wait until the server uses the new schema: its OpenAPI document contains a word."""
    path = f"/openapi/v3/apis/{group_of(api)}/v1"
    api.await_response(path, lambda _, document: repr(word) in str(document))
