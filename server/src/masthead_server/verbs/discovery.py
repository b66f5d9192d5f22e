"""Discovery in both forms, and the version."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead._version import __version__
from masthead_server import scheme
from masthead_server.verbs.health import HEALTH_PATHS
from masthead_server.wire.request import ApiResponse, json_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.resource import Subresource
    from masthead_server.resources.catalog import Catalog
    from masthead_server.resources.resource import ServedResource
    from masthead_server.simulated_metrics import SimulatedMetrics
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest

__all__ = ["VERSION", "Discovery", "not_found_page"]

VERSION: Final = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.4",
    "gitCommit": "bb826b1d48562f110659e64e8ec444327433db95",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": f"masthead {__version__}",
    "platform": "python",
}
"""The Kubernetes version whose API is served. ``kubectl --match-server-version`` compares version, commit and tree
state with kubectl's, so only the compiler identifies this server."""
_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_MAX_CLAUSES: Final = 1_000
"""How many clauses of an Accept header are read; clients send three."""
_PATHS: Final = (
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    *HEALTH_PATHS,
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/version",
)


class Discovery:
    """Responds to requests about the server itself: what it serves, and its version.

    Documents are built on first request and cached until the catalog changes.

    Args:
        catalog: What the server serves.
        metrics: The metrics whose API is served, too, once there are some.
    """

    def __init__(self, catalog: Catalog, metrics: SimulatedMetrics) -> None:
        self._catalog = catalog
        self._metrics = metrics
        self._has_metrics = False
        self._generation = catalog.generation
        self._resource_lists: dict[tuple[str, str], bytes] = {}
        self._aggregated: dict[tuple[str, str], tuple[bytes, str]] = {}
        self._groups: dict[str, tuple[int, bytes]] = {}

    def describe(self, request: ApiRequest) -> ApiResponse | None:
        """Respond to a request about the server itself; None if the path is about something else."""
        self._drop_outdated()
        # kube-apiserver answers with or without the final slash.
        path = request.path.rstrip("/") or "/"
        if path == "/version":
            return _indent(VERSION)
        if path == "/":
            groups = [f"/apis/{group}" for group in self._named_groups()]
            return _indent({"paths": sorted([*_PATHS, *groups])})
        if path in {"/api", "/apis"}:
            return self._top(request, path)
        return self._of_group(path.split("/")[1:])

    def _drop_outdated(self) -> None:
        known = self._generation, self._has_metrics
        if known != (self._catalog.generation, self._metrics.has_usages):
            self._generation, self._has_metrics = self._catalog.generation, self._metrics.has_usages
            self._resource_lists.clear()
            self._aggregated.clear()

    def _named_groups(self) -> tuple[str, ...]:
        """Every group but the core group, whose path is ``/api``."""
        return tuple(filter(None, self._catalog.groups()))

    def _top(self, request: ApiRequest, path: str) -> ApiResponse:
        version = _aggregated_version(request.headers.get("accept", ""))
        if not version:
            return json_response(200, _api_versions(request) if path == "/api" else self._group_list())
        # Both versions are requested: older clients do not know v2.
        if (path, version) not in self._aggregated:
            self._aggregated[path, version] = self._aggregate(path, version)
        body, etag = self._aggregated[path, version]
        headers = (("ETag", etag), ("Vary", "Accept"), ("Cache-Control", "public"))
        # kubectl and controllers poll discovery; most polls find nothing new.
        if request.headers.get("if-none-match", "").strip() == etag:
            return ApiResponse(304, b"", _AGGREGATED.format(version), headers)
        return ApiResponse(200, body + b"\n", _AGGREGATED.format(version), headers)

    def _of_group(self, steps: list[str]) -> ApiResponse | None:
        match steps:
            case ["api", version]:
                group = ""
            case ["apis", group] if group and self._catalog.versions(group):
                return json_response(200, {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)})
            case ["apis", group, version] if group:
                pass
            case _:
                return None
        if version not in self._catalog.versions(group):
            return None
        if (group, version) not in self._resource_lists:
            self._resource_lists[group, version] = self._resource_list(group, version)
        return ApiResponse(200, self._resource_lists[group, version] + b"\n")

    def _group(self, group: str) -> Plain:
        versions = [
            {"groupVersion": f"{group}/{version}", "version": version} for version in self._catalog.versions(group)
        ]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _group_list(self) -> Plain:
        groups = [self._group(named_group) for named_group in self._named_groups()]
        if self._has_metrics:
            from masthead_server.verbs import resource_metrics

            groups.append(resource_metrics.group())
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def _resource_list(self, group: str, version: str) -> bytes:
        api_version = f"{group}/{version}" if group else version
        resources: list[Plain] = []
        for served in self._catalog.resources(group, version):
            resources += _resources(served)
        # The core group's list is older than the rule that lists say which version they are.
        head = {
            "kind": "APIResourceList",
            **({"apiVersion": "v1"} if group else {}),
            "groupVersion": api_version,
        }
        # Built-in resources are sorted with their subresources; those of definitions stay together.
        if group in scheme.VERSIONS:
            resources.sort(key=lambda each: each["name"])
        return msgspec.json.encode({**head, "resources": resources})

    def _aggregate(self, path: str, version: str) -> tuple[bytes, str]:
        """Build an aggregated document and its ETag."""
        groups = ("",) if path == "/api" else self._named_groups()
        head = msgspec.json.encode(
            {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": f"apidiscovery.k8s.io/{version}",
                "metadata": {},
            }
        )
        described = [self._group_discovery(group) for group in groups]
        if self._has_metrics and path == "/apis":
            from masthead_server.verbs import resource_metrics

            described.append(msgspec.json.encode(resource_metrics.aggregated_group()))
        items = b",".join(described)
        body = b'%b,"items":[%b]}' % (head[:-1], items)
        return body, f'"{hashlib.sha512(body).hexdigest().upper()}"'

    def _group_discovery(self, group: str) -> bytes:
        """Encode a group, cached until the group changes: there may be thousands of groups."""
        generation = self._catalog.group_generation(group)
        kept = self._groups.get(group)
        if kept is None or kept[0] != generation:
            kept = self._groups[group] = (generation, msgspec.json.encode(self._describe_group(group)))
        return kept[1]

    def _describe_group(self, group: str) -> Plain:
        versions = [
            {
                "version": version,
                "resources": [_describe_resource(served) for served in self._catalog.resources(group, version)],
                "freshness": "Current",
            }
            for version in self._catalog.versions(group)
        ]
        return {"metadata": {"name": group} if group else {}, "versions": versions}


def takes_any_method(request: ApiRequest) -> bool:
    """Tell whether kube-apiserver accepts any method for a path."""
    return request.path.rstrip("/") == "/apis"


def ignores_accept(request: ApiRequest) -> bool:
    """Tell whether kube-apiserver answers a path with JSON whatever the Accept header."""
    return request.path.rstrip("/") == "/version"


def _aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that the client takes; nothing if it wants the plain form.

    The aggregated form is preferred, whatever its position in the Accept header.
    """
    for clause in accept.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]:
        media_type, *parameters = (word.strip() for word in clause.split(";"))
        if media_type not in {"application/json", "*/*"}:
            continue
        pairs = (parameter.partition("=") for parameter in parameters)
        named = {name: value for name, _, value in pairs}
        is_aggregated = named.get("g") == "apidiscovery.k8s.io" and named.get("as") == "APIGroupDiscoveryList"
        if is_aggregated and named.get("v") in {"v2", "v2beta1"}:
            return named["v"]
    return ""


def _api_versions(request: ApiRequest) -> Plain:
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": request.headers.get("host", "")}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]}


def _resources(served: ServedResource) -> Iterator[Plain]:
    resource = served.resource
    # A resource without verbs is not listed itself; only its subresources are.
    if resource.verbs:
        found: Plain = {
            "name": resource.name,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": served.kind,
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            found["shortNames"] = list(resource.short_names)
        if resource.categories:
            found["categories"] = list(resource.categories)
        if digest := served.storage_version_hash:
            found["storageVersionHash"] = digest
        yield found
    for part in resource.subresources:
        yield _subresource(served, part)


def _subresource(served: ServedResource, part: Subresource) -> Plain:
    found: dict[str, Any] = {
        "name": f"{served.name}/{part.name}",
        "singularName": "",
        "namespaced": served.is_namespaced,
    }
    # Only a kind of another group, such as Scale, is qualified.
    if (part.kind.group, part.kind.version) != (served.group, served.version):
        found |= {"group": part.kind.group, "version": part.kind.version}
    return {**found, "kind": part.kind.kind, "verbs": list(part.verbs)}


def _describe_resource(served: ServedResource) -> Plain:
    resource = served.resource
    found: Plain = {
        "resource": resource.name,
        "responseKind": _response_kind(served, served.gvk),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [_describe_subresource(served, part) for part in resource.subresources]
    return found


def _describe_subresource(served: ServedResource, part: Subresource) -> Plain:
    return {
        "subresource": part.name,
        "responseKind": _response_kind(served, part.kind),
        "verbs": list(part.verbs),
    }


def _response_kind(served: ServedResource, gvk: GroupVersionKind) -> Plain:
    # As kube-apiserver writes it: of a built-in kind, an empty group and version mean those of the list.
    is_implied = not served.is_custom and gvk.group_version == served.gvk.group_version
    group, version = ("", "") if is_implied else (gvk.group, gvk.version)
    return {"group": group, "version": version, "kind": gvk.kind}


def _indent(body: object) -> ApiResponse:
    """A response that is written without the API's encoders: indented, and without a line feed at its end."""
    return ApiResponse(200, msgspec.json.format(msgspec.json.encode(body), indent=2))


def not_found_page() -> ApiResponse:
    """The response to a path that the server does not have."""
    return ApiResponse(404, b"404 page not found\n", "text/plain; charset=utf-8")
