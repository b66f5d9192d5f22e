"""OpenAPI: the index, caching, and parts of documents. Prose is left out of all that is compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.conformance.case import area

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.api import Api, Plain

case = area("OpenAPI")

V2 = "/openapi/v2"
V3 = "/openapi/v3"
APPS = f"{V3}/apis/apps/v1"
CORE = f"{V3}/api/v1"
CACHING = ("Cache-Control", "Content-Encoding", "ETag", "Vary")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TEXT: Plain = {"type": "string"}
OWN_PROSE = "A description of a case"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
OLD_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"


def without_prose(value: Any, *, is_properties: bool = False) -> Any:
    """Leave descriptions out, but for those that the case sent."""
    if isinstance(value, list):
        return [without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_prose(each, is_properties=key == "properties" and not is_properties)
        for key, each in value.items()
        if is_properties or key != "description" or str(each).startswith(OWN_PROSE)
    }


def at(*steps: str) -> Callable[[Any], object]:
    """Return what takes a part of a document."""

    def pick(document: Any) -> object:
        for step in steps:
            document = document.get(step, {}) if isinstance(document, dict) else {}
        return without_prose(document)

    return pick


def schema(name: str) -> Callable[[Any], object]:
    return at("components", "schemas", name)


def names(document: Any) -> object:
    """Take the names of the paths and schemas."""
    return {"paths": sorted(document["paths"]), "schemas": sorted(document["components"]["schemas"])}


def entries(*wanted: str) -> Callable[[Any], object]:
    """Return what takes the entries of the index with these names, or that begin with them and a slash."""

    def pick(text: Any) -> object:
        found = json.loads(text)["paths"]
        return {
            name: found[name]
            for name in sorted(found)
            if name in wanted or name.startswith(tuple(f"{each}/" for each in wanted if each))
        }

    return pick


def size(body: Any) -> object:
    """Take nothing but that there is a body."""
    return "<a body>" if body else None


# The index


@case("the index has a URL with a hash for each document")
def _(api: Api) -> None:
    api.request(
        "GET",
        V3,
        pick=entries("version", "api", "apis/apps", "apis/autoscaling", "apis/nothing"),
        compare=CACHING,
    )


@case("the index is sent whatever is accepted")
def _(api: Api) -> None:
    for accept in ("text/html", "application/json", "nonsense"):
        api.request("GET", V3, headers={"Accept": accept}, pick=entries("version"))


@case("any method reads the index and documents")
def _(api: Api) -> None:
    for method in ("POST", "PUT", "DELETE", "HEAD"):
        api.request(method, V3, pick=entries("version"))
        api.request(method, f"{V3}/version", pick=at("paths", "/version/"), compare=CACHING)


# Caching


@case("a document with its hash never expires")
def _(api: Api) -> None:
    index = api.request("GET", V3, pick=lambda text: json.loads(text)["paths"]["version"])
    url = str(index.body.get("serverRelativeURL", ""))
    api.request("GET", url, pick=at("info"), compare=CACHING)


@case("a document with a wrong hash is redirected")
def _(api: Api) -> None:
    api.request("GET", f"{V3}/version", query={"hash": "0123"}, compare=CACHING)
    api.request("GET", APPS, query={"hash": "nonsense"}, compare=CACHING)
    api.request("GET", f"{V3}/version", query={"hash": ""}, pick=at("info"), compare=CACHING)


@case("a document is revalidated by its tag")
def _(api: Api) -> None:
    etag = api.request("GET", APPS, pick=at("info"), compare=CACHING).headers.get("ETag", [""])[0]
    for condition in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        api.request("GET", APPS, headers={"If-None-Match": condition}, compare=CACHING)
    api.request("GET", APPS, headers={"If-None-Match": '"other"'}, pick=at("info"), compare=CACHING)


@case("unknown documents")
def _(api: Api) -> None:
    for name in (
        "",
        "nothing",
        "api/v2",
        "apis/",
        "apis/nothing",
        "apis/apps/v9",
        "apis/apps/v1/",
        "version/",
    ):
        api.request("GET", f"{V3}/{name}", compare=CACHING)


@case("paths beside OpenAPI's")
def _(api: Api) -> None:
    for path in ("/openapi", "/openapi/", "/openapi/v1", f"{V2}/", f"{V2}/apis"):
        api.request("GET", path)


@case("media types of a document")
def _(api: Api) -> None:
    for accept in ("", "*/*", "application/*", "application/json;q=0.5, text/html", "text/html, */*;q=0.1"):
        api.request("GET", f"{V3}/version", headers={"Accept": accept}, pick=at("info"), compare=CACHING)
    for accept in ("text/html", "application/yaml", "application/vnd.kubernetes.protobuf"):
        api.request("GET", f"{V3}/version", headers={"Accept": accept}, compare=CACHING)


@case("a document in protobuf")
def _(api: Api) -> None:
    accept = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    api.request("GET", f"{V3}/version", headers={"Accept": accept}, pick=size, compare=CACHING)


# Documents


@case("documents of discovery and of the version")
def _(api: Api) -> None:
    for name in ("version", "api", "apis", "apis/apps", "apis/rbac.authorization.k8s.io"):
        api.request("GET", f"{V3}/{name}", pick=without_prose)


@case("the head of a document")
def _(api: Api) -> None:
    for name in ("openapi", "info"):
        api.request("GET", APPS, pick=at(name))
    api.request("GET", APPS, pick=at("components", "securitySchemes"))


@case("the paths and schemas of a group-version")
def _(api: Api) -> None:
    for name in ("apis/apps/v1", "apis/authorization.k8s.io/v1", "apis/policy/v1", "apis/autoscaling/v2"):
        api.request("GET", f"{V3}/{name}", pick=names)


@case("operations on a collection")
def _(api: Api) -> None:
    root = "/apis/apps/v1"
    api.request("GET", APPS, pick=at("paths", f"{root}/namespaces/{{namespace}}/deployments"))
    api.request("GET", APPS, pick=at("paths", f"{root}/deployments"))
    api.request("GET", APPS, pick=at("paths", f"{root}/watch/deployments"))


@case("operations on an object")
def _(api: Api) -> None:
    root = "/api/v1/namespaces/{namespace}/pods/{name}"
    api.request("GET", CORE, pick=at("paths", root))
    api.request("GET", CORE, pick=at("paths", "/api/v1/namespaces/{name}"))
    api.request("GET", CORE, pick=at("paths", "/api/v1/componentstatuses/{name}"))


@case("operations on subresources")
def _(api: Api) -> None:
    root = "/api/v1/namespaces/{namespace}/pods/{name}"
    for part in ("status", "eviction", "log", "exec", "proxy/{path}", "ephemeralcontainers"):
        api.request("GET", CORE, pick=at("paths", f"{root}/{part}"))
    api.request("GET", CORE, pick=at("paths", "/api/v1/namespaces/{name}/finalize"))
    api.request("GET", APPS, pick=at("paths", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"))


@case("schemas of kinds and of their parts")
def _(api: Api) -> None:
    for name in ("Deployment", "DeploymentList", "DeploymentSpec", "StatefulSetStatus"):
        api.request("GET", APPS, pick=schema(f"io.k8s.api.apps.v1.{name}"))
    for name in ("ServicePort", "Container", "EnvVarSource", "ResourceRequirements", "SeccompProfile"):
        api.request("GET", CORE, pick=schema(f"io.k8s.api.core.v1.{name}"))


@case("schemas of meta types and of values")
def _(api: Api) -> None:
    for name in ("DeleteOptions", "WatchEvent", "LabelSelector", "Time", "ManagedFieldsEntry", "Patch"):
        api.request("GET", APPS, pick=schema(f"{META}.{name}"))
    for name in ("api.resource.Quantity", "util.intstr.IntOrString", "runtime.RawExtension"):
        api.request("GET", APPS, pick=schema(f"io.k8s.apimachinery.pkg.{name}"))


# Version 2


@case("version 2 in several forms")
def _(api: Api) -> None:
    for accept in (
        "",
        "*/*",
        "application/json",
        PROTOBUF,
        OLD_PROTOBUF,
        f"{OLD_PROTOBUF}, application/json",
    ):
        api.request("GET", V2, headers={"Accept": accept}, pick=size, compare=CACHING)
    for accept in ("text/html", "application/yaml"):
        api.request("GET", V2, headers={"Accept": accept}, compare=CACHING)


@case("version 2 is compressed and revalidated")
def _(api: Api) -> None:
    etag = api.request("GET", V2, headers={"Accept-Encoding": "gzip"}, pick=size, compare=CACHING).headers.get(
        "ETag", [""]
    )[0]
    api.request("GET", V2, headers={"If-None-Match": etag}, compare=CACHING)
    api.request("GET", V2, headers={"If-None-Match": '"other"'}, pick=size, compare=CACHING)


@case("definitions and security of version 2")
def _(api: Api) -> None:
    for name in ("swagger", "info", "security", "securityDefinitions"):
        api.request("GET", V2, pick=at(name))
    for name in (
        "api.apps.v1.DeploymentSpec",
        "api.core.v1.ServicePort",
        "apimachinery.pkg.api.resource.Quantity",
    ):
        api.request("GET", V2, pick=at("definitions", f"io.k8s.{name}"))


# Custom resources


def definition(group: str, kind: str = "Widget", **facts: Any) -> Plain:
    """A definition in a group, which is to be one that no other case has; operations are named by it."""
    plural = f"{kind.lower()}s"
    scope = facts.pop("scope", "Namespaced")
    versions = facts.pop("versions", None) or [version("v1", **facts)]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": versions,
        },
    }


def version(name: str, schema: Plain | None = None, **facts: Any) -> Plain:
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema or {"type": "object"}},
        **facts,
    }


def document_of(group: str, name: str = "v1") -> str:
    return f"{V3}/apis/{group}/{name}"


def custom(group: str, kind: str = "Widget", name: str = "v1") -> str:
    return f"com.example.{group.partition('.')[0]}.{name}.{kind}"


def install(api: Api, body: Plain, until: str = "") -> None:
    """Create a definition, and wait until its document is there, and has a text."""
    api.request("POST", DEFINITIONS, body, pick=lambda _: None)
    wanted = until or body["spec"]["names"]["kind"]
    document = document_of(body["spec"]["group"])
    api.await_response(document, lambda code, found: code == 200 and wanted in json.dumps(found))


@case("the document of a custom resource")
def _(api: Api) -> None:
    group = "whole.example.com"
    properties = {
        "spec": {
            "type": "object",
            "description": f"{OWN_PROSE}.",
            "properties": {"size": {"type": "integer", "minimum": 0}},
        }
    }
    install(api, definition(group, schema={"type": "object", "required": ["spec"], "properties": properties}))
    api.request("GET", V3, pick=entries(f"apis/{group}"))
    api.request("GET", document_of(group), pick=at("info"), compare=CACHING)
    api.request("GET", document_of(group), pick=names)
    api.request("GET", document_of(group), pick=at("components", "securitySchemes"))
    api.request("GET", document_of(group), pick=schema(custom(group)))
    api.request("GET", document_of(group), pick=schema(custom(group, "WidgetList")))


@case("operations on custom resources")
def _(api: Api) -> None:
    group = "operations.example.com"
    install(api, definition(group))
    root = f"/apis/{group}/v1"
    inside = f"{root}/namespaces/{{namespace}}/widgets"
    for path in (f"{root}/widgets", inside, f"{inside}/{{name}}"):
        api.request("GET", document_of(group), pick=at("paths", path))


@case("operations on custom resources of the cluster, and on subresources")
def _(api: Api) -> None:
    group = "cluster.example.com"
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    install(api, definition(group, scope="Cluster", subresources={"status": {}, "scale": scale}))
    root = f"/apis/{group}/v1/widgets"
    api.request("GET", document_of(group), pick=names)
    for path in (root, f"{root}/{{name}}/status", f"{root}/{{name}}/scale"):
        api.request("GET", document_of(group), pick=at("paths", path))


FEATURES: Plain = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["maybe", "name"],
            "properties": {
                "name": {"type": "string", "pattern": "^a", "maxLength": 9, "default": "a"},
                "maybe": {"type": "string", "nullable": True},
                "port": {"x-kubernetes-int-or-string": True},
                "share": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^[0-9]+%?$",
                },
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "anything": {"x-kubernetes-preserve-unknown-fields": True},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                },
                "raw": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "either": {
                    "type": "object",
                    "properties": {"a": TEXT, "b": TEXT},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
                "items": {
                    "type": "array",
                    "maxItems": 5,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["key"],
                    "items": {"type": "object", "required": ["key"], "properties": {"key": TEXT}},
                },
                "counts": {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}},
                "color": {"type": "string", "enum": ["red", "blue"]},
                "rule": {
                    "type": "integer",
                    "x-kubernetes-validations": [{"rule": "self > 0", "message": "no"}],
                },
            },
        }
    },
}


@case("every feature of a schema")
def _(api: Api) -> None:
    group = "features.example.com"
    install(api, definition(group, schema=FEATURES))
    api.request("GET", document_of(group), pick=schema(custom(group)))


@case("every feature of a schema in version 2")
def _(api: Api) -> None:
    group = "older.example.com"
    install(api, definition(group, schema=FEATURES))
    api.await_response(V2, lambda _, found: custom(group) in found.get("definitions", {}))
    api.request("GET", V2, pick=at("definitions", custom(group)))
    api.request("GET", V2, pick=at("definitions", custom(group, "WidgetList")))
    root = f"/apis/{group}/v1/namespaces/{{namespace}}/widgets/{{name}}"
    api.request("GET", V2, pick=lambda found: sorted(found["paths"].get(root, {})))


@case("an object of any shape")
def _(api: Api) -> None:
    group = "open.example.com"
    install(api, definition(group, schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    api.request("GET", document_of(group), pick=schema(custom(group)))


@case("several versions of a definition have documents of their own")
def _(api: Api) -> None:
    group = "versions.example.com"
    old = version("v1beta1", {"type": "object", "properties": {"old": TEXT}}, deprecated=True)
    gone = version("v1alpha1", served=False)
    install(api, definition(group, versions=[version("v1"), old, gone]))
    api.await_response(document_of(group, "v1beta1"), lambda code, _: code == 200)
    api.request("GET", V3, pick=entries(f"apis/{group}"))
    api.request("GET", document_of(group, "v1beta1"), pick=schema(custom(group, name="v1beta1")))
    api.request("GET", document_of(group, "v1alpha1"))


@case("definitions of one group-version share a document")
def _(api: Api) -> None:
    group = "shared.example.com"
    install(api, definition(group))
    install(api, definition(group, "Gadget", schema={"type": "object", "properties": {"size": TEXT}}))
    api.request("GET", document_of(group), pick=names)
    api.request("GET", document_of(group), pick=schema(custom(group, "Gadget")))


@case("selectable fields are stated")
def _(api: Api) -> None:
    group = "selectable.example.com"
    fields = {
        "type": "object",
        "properties": {"color": TEXT, "spec": {"type": "object", "properties": {"size": TEXT}}},
    }
    paths = [{"jsonPath": ".color"}, {"jsonPath": ".spec.size"}]
    install(api, definition(group, schema=fields, selectableFields=paths))
    api.request(
        "GET",
        document_of(group),
        pick=at("components", "schemas", custom(group), "x-kubernetes-selectable-fields"),
    )
    api.request(
        "GET",
        document_of(group),
        pick=at("components", "schemas", custom(group, "WidgetList"), "x-kubernetes-selectable-fields"),
    )


@case("a document changes with the schema of its definition")
def _(api: Api) -> None:
    group = "changing.example.com"
    install(api, definition(group))
    path = "/spec/versions/0/schema/openAPIV3Schema/properties"
    patch = [{"op": "add", "path": path, "value": {"brandNew": TEXT}}]
    name = f"widgets.{group}"
    headers = {"Content-Type": "application/json-patch+json"}
    api.request("PATCH", f"{DEFINITIONS}/{name}", patch, headers=headers, pick=lambda _: None)
    api.await_response(document_of(group), lambda _, found: "brandNew" in json.dumps(found))
    api.request("GET", document_of(group), pick=schema(custom(group)))


@case("a document goes with its definition")
def _(api: Api) -> None:
    group = "going.example.com"
    install(api, definition(group))
    api.request("DELETE", f"{DEFINITIONS}/widgets.{group}", pick=lambda _: None)
    api.await_response(document_of(group), lambda code, _: code == 404)
    api.request("GET", document_of(group), compare=CACHING)
