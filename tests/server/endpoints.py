"""Every endpoint of a server, as its discovery lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.registry import registry
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from tests.server.calls import Caller

    from masthead._meta.apitype import ApiType


@dataclass(frozen=True)
class Endpoint:
    """A resource or a part of one, as discovery lists it."""

    prefix: str
    name: str
    is_namespaced: bool
    verbs: tuple[str, ...]
    kind: GroupVersionKind

    def path(self, namespace: str, name: str) -> str:
        """To an object, or to a part of one; to the collection if the name is empty."""
        resource, _, part = self.name.partition("/")
        within = f"/namespaces/{namespace}" if self.is_namespaced and namespace else ""
        steps = [f"{self.prefix}{within}/{resource}", name, part if name else ""]
        return "/".join(step for step in steps if step)

    def object_class(self) -> ApiType | None:
        """The class of its objects; None for the options of proxies and the like, which are no objects."""
        try:
            return cast("ApiType", registry.object_class(self.kind))
        except UnknownKindError:
            return None


def endpoints_of(caller: Caller) -> list[Endpoint]:
    """Discover all endpoints of a server."""
    groups = caller.call("GET", "/apis").json["groups"]
    prefixes = [
        "/api/v1",
        *(f"/apis/{each['groupVersion']}" for group in groups for each in group["versions"]),
    ]
    return [_endpoint(prefix, each) for prefix in prefixes for each in caller.call("GET", prefix).json["resources"]]


def _endpoint(prefix: str, found: dict[str, Any]) -> Endpoint:
    group, _, version = prefix.removeprefix("/apis/").removeprefix("/api/").rpartition("/")
    kind = GroupVersionKind(found.get("group", group), found.get("version", version), found["kind"])
    return Endpoint(prefix, found["name"], found["namespaced"], tuple(found["verbs"]), kind)
