"""Custom resources: versions, schema updates, discovery, and the life of a definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import (
    DEFINITIONS,
    NUMBER,
    TEXT,
    await_condition,
    await_deletion,
    await_served,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
    version_of,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Versions of custom resources")

ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
FIRST = object_of(spec=object_of(color=TEXT, size={"type": "integer", "default": 1}))
SECOND = object_of(spec=object_of(color=TEXT, shade={"type": "string", "default": "dark"}))


def _widget(api: Api, name: str = "a", *, version: str = "v1", **fields: Any) -> Plain:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": f"{group_of(api)}/{version}", "kind": "Widget", "metadata": metadata, **fields}


def _two_versions(api: Api, **second: Any) -> tuple[str, str]:
    """Install a definition with two versions; returns their resources. The first is stored."""
    install(api, definition(api, versions=[version_of(FIRST), version_of(SECOND, "v2", **second)]))
    return resource_of(api), resource_of(api, version="v2")


def _change(api: Api, spec: Plain) -> None:
    """Change the spec of a definition, without recording it."""
    path = api.path(DEFINITIONS, f"widgets.{group_of(api)}")
    api.quietly("PATCH", path, {"spec": spec}, Content_Type="application/merge-patch+json")


def _settled(api: Api, key: str, expected: object, version: str = "v1") -> None:
    """Wait until the schema of a definition is in force: until a dry run returns a field as expected."""
    path = api.path(resource_of(api, version=version))
    body = _widget(api, "probe", version=version, spec={})

    def is_settled(_: int, found: Plain) -> bool:
        return bool(found.get("spec", {}).get(key) == expected)

    api.await_response(f"{path}?dryRun=All", is_settled, method="POST", body=body)


# Versions


@case("an object is served in every version")
def _(api: Api) -> None:
    first, second = _two_versions(api)
    api.create(first, _widget(api, spec={"color": "red"}))
    api.get(first, "a")
    api.get(second, "a")
    api.list(second)
    api.create(second, _widget(api, "b", version="v2", spec={"color": "blue", "shade": "light"}))
    api.get(first, "b")
    api.get(second, "b")


@case("a write in another version than the stored one")
def _(api: Api) -> None:
    first, second = _two_versions(api)
    api.create(first, _widget(api, spec={"color": "red", "size": 5}))
    api.patch(second, "a", {"spec": {"color": "blue"}})
    api.get(first, "a")
    latest = api.get(second, "a")
    body = _widget(api, version="v2", metadata={"resourceVersion": latest.version}, spec={"shade": "light"})
    api.update(second, "a", body)
    api.get(first, "a")
    api.delete(second, "a")


@case("a body in another version than the path's")
def _(api: Api) -> None:
    first, second = _two_versions(api)
    api.create(first, _widget(api, version="v2"))
    api.create(second, _widget(api))
    api.create(first, _widget(api))
    api.patch(first, "a", {"apiVersion": f"{group_of(api)}/v2"})


@case("a watch in another version than the stored one")
def _(api: Api) -> None:
    first, second = _two_versions(api)
    api.create(first, _widget(api, spec={"color": "red"}))
    with api.watching(second) as stream:
        stream.read(1)
        api.patch(first, "a", {"spec": {"color": "blue"}})
        api.create(second, _widget(api, "b", version="v2"))
        api.delete(first, "a")
        stream.read(3)


@case("subresources differ by version")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(color=TEXT), status=object_of(phase=TEXT))
    versions = [version_of(schema), version_of(schema, "v2", subresources={"status": {}})]
    install(api, definition(api, versions=versions))
    first, second = resource_of(api), resource_of(api, version="v2")
    api.create(first, _widget(api, status={"phase": "One"}))
    api.create(second, _widget(api, "b", version="v2", status={"phase": "One"}))
    api.patch(first, "a", {"status": {"phase": "Two"}})
    api.patch(second, "a", {"spec": {"color": "red"}, "status": {"phase": "Three"}})
    api.patch(second, "a/status", {"status": {"phase": "Four"}})
    api.get(first, "a/status")


@case("a deprecated version warns")
def _(api: Api) -> None:
    versions = [
        version_of(FIRST, "v1alpha1", deprecated=True),
        version_of(FIRST, "v1beta1", deprecated=True, deprecationWarning="go on to v1"),
        version_of(FIRST),
        version_of(FIRST, "v2", deprecated=True),
    ]
    install(api, definition(api, versions=versions))
    for version in ("v1alpha1", "v1beta1", "v1", "v2"):
        widgets = resource_of(api, version=version)
        api.list(widgets)
        api.get(widgets, "a")
        api.create(widgets, _widget(api, f"of-{version}", version=version))


@case("versions are in the order of their priority")
def _(api: Api) -> None:
    names = ("v1alpha1", "v10", "v2", "v1beta2", "v1", "v1beta10", "foo1", "foo10")
    install(api, definition(api, versions=[version_of(ANYTHING, name) for name in names]))
    api.request("GET", f"/apis/{group_of(api)}")


# Changes of the schema


@case("a default of a later schema is set on read")
def _(api: Api) -> None:
    install(api, definition(api, FIRST))
    widgets = resource_of(api)
    made = api.create(widgets, _widget(api, spec={"color": "red"}))
    later = object_of(spec=object_of(color=TEXT, shade={"type": "string", "default": "dark"}))
    _change(api, {"versions": [version_of(later)]})
    _settled(api, "shade", "dark")
    api.get(widgets, "a")
    api.list(widgets)
    api.patch(widgets, "a", {"metadata": {"labels": {"a": "b"}}})
    api.delete(widgets, "a", {"preconditions": {"uid": made.uid}})


@case("a field that a later schema does not have is not shown")
def _(api: Api) -> None:
    install(api, definition(api, ANYTHING))
    widgets = resource_of(api)
    api.create(widgets, _widget(api, spec={"color": "red", "gone": {"x": 1}}, more=1))
    _change(api, {"versions": [version_of(FIRST)]})
    _settled(api, "size", 1)
    api.get(widgets, "a")
    api.watch(widgets, events=1)
    _change(api, {"versions": [version_of(ANYTHING)]})
    _settled(api, "size", None)
    api.get(widgets, "a")


@case("an object that a later schema refuses stays, and may be changed elsewhere")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(color=TEXT, count=NUMBER, mark={"type": "integer", "default": 1}))
    install(api, definition(api, object_of(spec=object_of(color=TEXT, count=NUMBER))))
    widgets = resource_of(api)
    api.create(widgets, _widget(api, spec={"color": "red", "count": 50}))
    schema["properties"]["spec"]["properties"]["count"] = {"type": "integer", "maximum": 10}
    _change(api, {"versions": [version_of(schema)]})
    _settled(api, "mark", 1)
    api.get(widgets, "a")
    api.patch(widgets, "a", {"spec": {"color": "blue"}})
    api.patch(widgets, "a", {"spec": {"count": 51}})
    api.patch(widgets, "a", {"spec": {"count": 5}})
    api.create(widgets, _widget(api, "b", spec={"count": 50}))


@case("the stored version may change")
def _(api: Api) -> None:
    first, second = _two_versions(api)
    api.create(first, _widget(api, spec={"color": "red", "size": 5}))
    versions = [version_of(FIRST, storage=False), version_of(SECOND, "v2", storage=True)]
    _change(api, {"versions": versions})
    api.request("GET", api.path(DEFINITIONS, f"widgets.{group_of(api)}"))
    api.get(second, "a")
    api.get(first, "a")


@case("a version may be added and taken away")
def _(api: Api) -> None:
    install(api, definition(api, FIRST))
    widgets, later = resource_of(api), resource_of(api, version="v2")
    api.create(widgets, _widget(api, spec={"color": "red"}))
    _change(api, {"versions": [version_of(FIRST), version_of(SECOND, "v2")]})
    await_served(api, version="v2")
    api.get(later, "a")
    _change(api, {"versions": [version_of(FIRST)]})
    await_served(api, version="v2", is_served=False)
    api.get(later, "a")
    api.get(widgets, "a")


# Discovery


@case("discovery of a group")
def _(api: Api) -> None:
    everything = {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    }
    versions = [version_of(ANYTHING), version_of(ANYTHING, "v2", subresources=everything)]
    names = {"shortNames": ["wd", "wi"], "categories": ["all", "things"], "singular": "widget"}
    install(api, definition(api, names=names, versions=versions))
    install(api, definition(api, plural="gadgets", kind="Gadget", scope="Cluster"))
    api.request("GET", f"/apis/{group_of(api)}")
    api.request("GET", f"/apis/{group_of(api)}/v2")
    api.request("GET", f"/apis/{group_of(api)}/v3")


@case("paths below a group that nothing defines")
def _(api: Api) -> None:
    group = group_of(api)
    api.request("GET", f"/apis/{group}")
    api.request("GET", f"/apis/{group}/v1")
    api.request("GET", f"/apis/{group}/v1/widgets")
    api.request("POST", f"/apis/{group}/v1/namespaces/{api.namespace}/widgets", _widget(api))


# The end of a definition


@case("a definition is deleted with its objects")
def _(api: Api) -> None:
    install(api, definition(api, FIRST))
    widgets = resource_of(api)
    api.create(widgets, _widget(api))
    with api.watching(widgets) as stream:
        stream.read(1)
        api.delete(DEFINITIONS, f"widgets.{group_of(api)}")
        stream.read_to_the_end()
    await_deletion(api)
    await_served(api, is_served=False)
    api.get(widgets, "a")
    api.get(DEFINITIONS, f"widgets.{group_of(api)}")
    api.request("GET", f"/apis/{group_of(api)}/v1")


@case("objects with finalizers hold their definition")
def _(api: Api) -> None:
    install(api, definition(api, FIRST))
    widgets, name = resource_of(api), f"widgets.{group_of(api)}"
    api.create(widgets, _widget(api, metadata={"finalizers": ["example.com/mine"]}))
    api.delete(DEFINITIONS, name)
    await_condition(api, kind="Terminating", reason="InstanceDeletionInProgress")
    api.get(DEFINITIONS, name)
    api.request("GET", f"/apis/{group_of(api)}/v1")
    api.create(widgets, _widget(api, "b"))
    api.patch(widgets, "a", {"spec": {"color": "red"}})
    api.delete(DEFINITIONS, name)
    api.patch(widgets, "a", {"metadata": {"finalizers": None}})


@case("preconditions of the deletion of a definition")
def _(api: Api) -> None:
    install(api, definition(api, FIRST))
    name = f"widgets.{group_of(api)}"
    api.delete(DEFINITIONS, name, {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}})
    api.delete(DEFINITIONS, name, dryRun="All")
    api.get(DEFINITIONS, name)


@case("a definition of the same name may come back")
def _(api: Api) -> None:
    install(api, definition(api, FIRST))
    widgets = resource_of(api)
    api.create(widgets, _widget(api))
    api.quietly("DELETE", api.path(DEFINITIONS, f"widgets.{group_of(api)}"))
    await_deletion(api)
    install(api, definition(api, SECOND))
    api.list(widgets)
    api.create(widgets, _widget(api))


@case("a definition whose names are taken is not served")
def _(api: Api) -> None:
    install(api, definition(api, FIRST))
    other = definition(api, FIRST, plural="gadgets", kind="Widget")
    api.create(DEFINITIONS, other)
    await_condition(api, "gadgets", "NamesAccepted", "False")
    api.request("GET", f"/apis/{group_of(api)}/v1/gadgets")
    api.request("GET", f"/apis/{group_of(api)}/v1")
    api.get(DEFINITIONS, f"gadgets.{group_of(api)}")
