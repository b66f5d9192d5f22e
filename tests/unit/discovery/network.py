"""A transport with a scripted server, and documents for it to serve."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from masthead._discovery.client import DiscoveryClient
from masthead._meta.secret import Secret
from masthead._rest.client import RestClient
from masthead._rest.settings import RestSettings
from masthead.errors import MastheadError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from masthead._discovery.disk_cache import DiskCache
    from masthead._transport.contract import TransportRequest

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
PLAIN = "application/json"
ALL_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


@dataclass(frozen=True)
class Reply:
    """A response, as transports return it."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")

    def headers_of(self, name: str) -> list[str]:
        return [value] if (value := self.header(name)) else []

    async def read(self) -> bytes:
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body

    def close(self) -> None:
        pass


Page: TypeAlias = "Reply | MastheadError | Callable[[TransportRequest], Reply]"


@dataclass
class Network:
    """Serves a page per path; other paths are not found.

    Attributes:
        pages: By path and query.
        asked: All requests so far.
        gate: Requests wait until it is set.
        at_once: The maximum number of concurrent requests.
    """

    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[TransportRequest] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: int = 0
    at_once: int = 0
    is_closed: bool = False

    def __post_init__(self) -> None:
        self.gate.set()

    async def send(self, request: TransportRequest) -> Reply:
        self.asked.append(request)
        self.under_way += 1
        self.at_once = max(self.at_once, self.under_way)
        try:
            await asyncio.sleep(0)  # let the others come
            await self.gate.wait()
            page = self.pages.get(request.target, Reply(404, b"404 page not found"))
            if isinstance(page, MastheadError):
                raise page
            return page if isinstance(page, Reply) else page(request)
        finally:
            self.under_way -= 1

    async def close(self) -> None:
        self.is_closed = True

    @property
    def targets(self) -> list[str]:
        return [request.target for request in self.asked]


class Nobody:
    """No credentials."""

    async def authorization(self) -> Secret:
        return Secret()

    async def certificate(self) -> None:
        return None

    async def renew(self, refused: Secret) -> bool:  # noqa: ARG002 - the contract's
        return False


class Clock:
    """A clock that moves when it is set."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time

    async def pause(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


def rest_over(network: Network) -> RestClient:
    return RestClient(network, Nobody(), settings=RestSettings(attempts=1))


def discovery_over(
    network: Network,
    *,
    now: Clock | None = None,
    cache: DiskCache | None = None,
    aggregated: bool = True,
    expiry: float = 600.0,
) -> DiscoveryClient:
    clock = now or Clock()
    return DiscoveryClient(
        rest_over(network), now=clock, pause=clock.pause, cache=cache, aggregated=aggregated, expiry=expiry
    )


def page(data: object, content_type: str = PLAIN, **headers: str) -> Reply:
    return Reply(200, json.dumps(data).encode(), {"Content-Type": content_type, **headers})


def tagged(data: object, etag: str, content_type: str = AGGREGATED.format("v2")) -> Callable[[TransportRequest], Reply]:
    """A page with an ETag."""

    def answer(request: TransportRequest) -> Reply:
        if ("If-None-Match", etag) in request.headers:
            return Reply(304, b"", {"ETag": etag})
        return page(data, content_type, ETag=etag)

    return answer


def resource(plural: str, kind: str, **more: Any) -> dict[str, Any]:
    """A resource of an aggregated document."""
    return {
        "resource": plural,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": "Namespaced",
        "singularResource": kind.lower(),
        "verbs": ALL_VERBS,
        **more,
    }


def version(name: str, *resources: dict[str, Any], freshness: str = "Current") -> dict[str, Any]:
    return {"version": name, "resources": list(resources), "freshness": freshness}


def group(name: str, *versions: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name} if name else {}, "versions": list(versions)}


def groups(*items: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": list(items)}


def aggregated(*items: dict[str, Any], form: str = "v2") -> Reply:
    return page(groups(*items), AGGREGATED.format(form))


PODS = resource(
    "pods",
    "Pod",
    shortNames=["po"],
    categories=["all"],
    subresources=[
        {"subresource": "log", "responseKind": {"kind": "Pod"}, "verbs": ["get"]},
        {
            "subresource": "eviction",
            "responseKind": {"group": "policy", "version": "v1", "kind": "Eviction"},
            "verbs": ["create"],
        },
    ],
)
NODES = resource("nodes", "Node", shortNames=["no"], scope="Cluster")
DEPLOYMENTS = resource("deployments", "Deployment", shortNames=["deploy"], categories=["all"])
CORE = group("", version("v1", PODS, NODES))
APPS = group("apps", version("v1", DEPLOYMENTS), version("v1beta1", DEPLOYMENTS))
WIDGETS = group("example.com", version("v1", resource("widgets", "Widget", shortNames=["wd"])))


def whole_server() -> Network:
    """A server with aggregated discovery."""
    return Network({"/api": aggregated(CORE), "/apis": aggregated(APPS)})


def old_server(*others: str) -> Network:
    """A server with legacy discovery only, and further empty groups."""
    served = {"apps": ["v1", "v1beta1"], **{name: ["v1"] for name in others}}
    listed = [
        {
            "name": name,
            "versions": [{"groupVersion": f"{name}/{each}", "version": each} for each in versions],
            "preferredVersion": {"groupVersion": f"{name}/{versions[0]}", "version": versions[0]},
        }
        for name, versions in served.items()
    ]
    pages: dict[str, Page] = {
        "/api": page({"kind": "APIVersions", "versions": ["v1"]}),
        "/apis": page({"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}),
        "/api/v1": page(resource_list("v1", PODS, NODES)),
        "/apis/apps/v1": page(resource_list("apps/v1", DEPLOYMENTS)),
        "/apis/apps/v1beta1": page(resource_list("apps/v1beta1", DEPLOYMENTS)),
        **{f"/apis/{name}/v1": page(resource_list(f"{name}/v1")) for name in others},
    }
    return Network(pages)


def resource_list(api_version: str, *resources: dict[str, Any]) -> dict[str, Any]:
    """The same resources in legacy documents."""
    listed: list[dict[str, Any]] = []
    for each in resources:
        own = {
            "name": each["resource"],
            "singularName": each["singularResource"],
            "namespaced": each["scope"] == "Namespaced",
            "kind": each["responseKind"]["kind"],
            "verbs": each["verbs"],
            "shortNames": each.get("shortNames"),
            "categories": each.get("categories"),
        }
        listed += [own, *(_part(own, part) for part in each.get("subresources", ()))]
    return {"kind": "APIResourceList", "groupVersion": api_version, "resources": listed or None}


def _part(owner: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": f"{owner['name']}/{part['subresource']}",
        "singularName": "",
        "namespaced": owner["namespaced"],
        "verbs": part["verbs"],
        **part["responseKind"],
    }


async def until(is_so: Callable[[], bool]) -> None:
    """Yield to other tasks until a condition is true."""
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never became so")
