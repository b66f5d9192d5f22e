"""A server whose controllers are idle between one request and the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.server.calls import MAPS, MERGE_PATCH, Caller, config_map

if TYPE_CHECKING:
    from masthead.server import Server


class QuietCluster:
    """A server that is idle between one call and the next."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.caller = Caller(server.url)

    def call(self, method: str, path: str, body: object = None, *, content_type: str = "application/json") -> Any:
        response = self.caller.call(method, path, body, content_type=content_type)
        assert response.code < 300, response.body
        self.server.block_until_idle()
        return response.json

    def create(self, name: str, *, owners: list[Any] | None = None, **meta: Any) -> Any:
        """Create a config map; returns its metadata."""
        body = config_map(name)
        body["metadata"] |= {"ownerReferences": owners or [], **meta}
        return self.call("POST", MAPS, body)["metadata"]

    def delete(self, name: str, policy: str = "Background") -> None:
        self.call("DELETE", f"{MAPS}/{name}", {"propagationPolicy": policy})

    def free(self, path: str) -> None:
        """Take an object's finalizers off."""
        self.call("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)

    def meta(self, name: str) -> Any:
        """A config map's metadata; None if it is gone."""
        response = self.caller.call("GET", f"{MAPS}/{name}")
        return response.json["metadata"] if response.code == 200 else None

    def is_there(self, path: str) -> bool:
        return self.caller.call("GET", path).code == 200


def pod(name: str, **rest: Any) -> Any:
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], **rest}
    return {"metadata": {"name": name}, "spec": spec}
