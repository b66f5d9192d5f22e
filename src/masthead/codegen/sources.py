"""Where specs come from: a folder, a live server, or CRD manifests."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead.codegen.spec import Spec
from masthead.errors import DecodeError, GenerateError
from masthead.meta import yaml
from masthead.meta.gvk import GroupVersion, GroupVersionKind
from masthead.meta.resource import Resource, Subresource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_CRD_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_TIMEOUT: Final = 30.0


# -- A folder --------------------------------------------------------------------------------------------------


def from_folder(folder: Path) -> Spec:
    """Read every OpenAPI v3 and aggregated discovery document in a folder, and in the folders in it.

    Raises:
        GenerateError: if there is no OpenAPI document, or a file is not JSON.
    """
    spec = Spec()
    for path in sorted(folder.rglob("*.json")):
        try:
            add_document(spec, msgspec.json.decode(path.read_bytes()))
        except (OSError, msgspec.DecodeError) as error:
            raise GenerateError(f"{path}: {error}") from None
    if not spec.schemas:
        raise GenerateError(f"{folder} holds no OpenAPI v3 document: a JSON file with components.schemas")
    return spec


def add_document(spec: Spec, document: object) -> None:
    """Add an OpenAPI v3 or aggregated discovery document; anything else is passed over."""
    if not isinstance(document, dict):
        return
    content = cast("dict[str, Any]", document)
    # Shared types stand in many documents; the first one will do, because they agree in what we read.
    for name, schema in content.get("components", {}).get("schemas", {}).items():
        spec.schemas.setdefault(name, schema)
    if content.get("kind") == "APIGroupDiscoveryList":
        for group in content.get("items", []):
            _add_group(spec, group)


def _add_group(spec: Spec, group: Mapping[str, Any]) -> None:
    group_name = group.get("metadata", {}).get("name", "")
    for version in group.get("versions", []):
        served = GroupVersion(group_name, version["version"])
        for described in version.get("resources", []):
            if "responseKind" in described:
                spec.resources[_kind(served, described["responseKind"])] = _resource(served, described)


def _resource(served: GroupVersion, described: Mapping[str, Any]) -> Resource:
    return Resource(
        name=described["resource"],
        singular=described.get("singularResource", ""),
        namespaced=described.get("scope") == "Namespaced",
        verbs=tuple(sorted(described.get("verbs", []))),
        short_names=tuple(described.get("shortNames", [])),
        categories=tuple(described.get("categories", [])),
        subresources=tuple(
            Subresource(
                each["subresource"], _kind(served, each["responseKind"]), tuple(sorted(each["verbs"]))
            )
            for each in described.get("subresources", [])
            if "responseKind" in each
        ),
    )


def _kind(served: GroupVersion, response: Mapping[str, str]) -> GroupVersionKind:
    """The kind that a resource answers with; discovery leaves out what equals the resource's own."""
    if response.get("version"):
        return GroupVersionKind(response.get("group", ""), response["version"], response["kind"])
    return served.kind(response["kind"])


# -- A live server ---------------------------------------------------------------------------------------------


def from_server(
    url: str,
    *,
    token: str = "",
    ca_file: Path | None = None,
    insecure: bool = False,
    groups: Iterable[str] = (),
) -> Spec:
    """Read the documents of a live server.

    Args:
        url: Where it is, such as ``https://127.0.0.1:6443``.
        token: A bearer token.
        ca_file: The certificate authority to trust instead of the system's.
        insecure: Trust any certificate.
        groups: Read these groups only; none means all.

    Raises:
        GenerateError: if it does not answer, or not with what it should.
    """
    get = _getter(url.rstrip("/"), token, ca_file, insecure=insecure)
    wanted = frozenset(groups)
    spec = Spec()
    for path in ("/api", "/apis"):
        add_document(spec, get(path, _AGGREGATED))
    index = cast("Mapping[str, Any]", get("/openapi/v3", "application/json"))
    urls: list[str] = [
        entry["serverRelativeURL"]
        for path, entry in sorted(index.get("paths", {}).items())
        if (served := _group_version_at(path)) and (not wanted or served.group in wanted)
    ]
    # Documents are some hundred kilobytes each and made on demand: a few at a time.
    with ThreadPoolExecutor(max_workers=4) as pool:
        for document in pool.map(get, urls, ["application/json"] * len(urls)):
            add_document(spec, document)
    if not spec.schemas:
        raise GenerateError(
            f"{url} serves no OpenAPI v3 document for {', '.join(sorted(wanted)) or 'any group'}"
        )
    return spec


def _group_version_at(path: str) -> GroupVersion | None:
    """The group and version of a path of the index: ``api/v1`` or ``apis/apps/v1``."""
    match path.split("/"):
        case ["api", version]:
            return GroupVersion("", version)
        case ["apis", group, version]:
            return GroupVersion(group, version)
        case _:
            return None


def _getter(base: str, token: str, ca_file: Path | None, *, insecure: bool) -> Callable[[str, str], object]:
    if not base.startswith(("http://", "https://")):
        raise GenerateError(f'"{base}" is no URL of a server; it starts with http:// or https://')
    context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(path: str, accept: str) -> object:
        request = urllib.request.Request(f"{base}{path}", headers={**headers, "Accept": accept})
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT, context=context) as answer:
                return msgspec.json.decode(answer.read())
        except urllib.error.HTTPError as error:
            raise GenerateError(f"GET {base}{path}: {error.code} {error.reason}") from None
        except (OSError, msgspec.DecodeError) as error:
            raise GenerateError(f"GET {base}{path}: {error}") from None

    return get


# -- CRD manifests ---------------------------------------------------------------------------------------------


def from_manifests(paths: Iterable[Path]) -> Spec:
    """Read the CustomResourceDefinitions in YAML or JSON files; other objects are passed over.

    Raises:
        GenerateError: if a file cannot be read or no definition is found.
    """
    spec = Spec()
    read: list[str] = []
    for path in paths:
        read.append(str(path))
        try:
            documents = yaml.load_all(path.read_bytes())
        except (OSError, DecodeError) as error:
            raise GenerateError(f"{path}: {error}") from None
        for document in documents:
            for definition in _definitions_in(document):
                _add_definition(spec, definition, str(path))
    if not spec.schemas:
        raise GenerateError(
            f"no CustomResourceDefinition of apiextensions.k8s.io/v1 in {', '.join(read) or 'nothing'}"
        )
    return spec


def _definitions_in(document: object) -> list[Mapping[str, Any]]:
    if not isinstance(document, dict):
        return []
    content = cast("dict[str, Any]", document)
    if content.get("kind") in {"List", "CustomResourceDefinitionList"}:
        return [found for item in content.get("items", []) for found in _definitions_in(item)]
    is_definition = content.get("kind") == "CustomResourceDefinition"
    return [content] if is_definition and content.get("apiVersion") == "apiextensions.k8s.io/v1" else []


def _add_definition(spec: Spec, definition: Mapping[str, Any], origin: str) -> None:
    try:
        body = definition["spec"]
        group, names = body["group"], body["names"]
        for version in body["versions"]:
            if version.get("served", True):
                _add_version(spec, GroupVersion(group, version["name"]), names, body["scope"], version)
    except (KeyError, TypeError) as error:
        name = definition.get("metadata", {}).get("name", "?")
        raise GenerateError(
            f"{origin}: CustomResourceDefinition {name}: {error} is missing or not what it should be"
        ) from None


def _add_version(
    spec: Spec, served: GroupVersion, names: Mapping[str, Any], scope: str, version: Mapping[str, Any]
) -> None:
    kind = served.kind(names["kind"])
    list_kind = served.kind(names.get("listKind", f"{kind.kind}List"))
    prefix = ".".join([*reversed(served.group.split(".")), served.version])
    schema = dict(version.get("schema", {}).get("openAPIV3Schema", {"type": "object"}))
    schema["properties"] = {
        **schema.get("properties", {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
    }
    schema["x-kubernetes-group-version-kind"] = [_gvk_extension(kind)]
    spec.schemas[f"{prefix}.{kind.kind}"] = schema
    spec.schemas[f"{prefix}.{list_kind.kind}"] = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"},
            "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{prefix}.{kind.kind}"}},
        },
        "x-kubernetes-group-version-kind": [_gvk_extension(list_kind)],
    }
    spec.resources[kind] = Resource(
        name=names["plural"],
        singular=names.get("singular", kind.kind.lower()),
        namespaced=scope == "Namespaced",
        verbs=_CRD_VERBS,
        short_names=tuple(names.get("shortNames", [])),
        categories=tuple(names.get("categories", [])),
        subresources=_subresources(kind, version.get("subresources", {})),
    )


def _gvk_extension(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _subresources(kind: GroupVersionKind, declared: Mapping[str, Any]) -> tuple[Subresource, ...]:
    verbs = ("get", "patch", "update")
    scale = GroupVersionKind("autoscaling", "v1", "Scale")
    served = {"scale": scale, "status": kind}
    return tuple(Subresource(name, served[name], verbs) for name in sorted(served) if name in declared)
