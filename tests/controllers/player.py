"""Plays the actions of scenarios on a server, in a namespace of its own for each scenario."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.controllers.scenario import PATHS
from tests.controllers.state import canonical, normalised

if TYPE_CHECKING:
    from tests.conformance.target import Target
    from tests.controllers.moments import Moments
    from tests.controllers.scenario import Action
    from tests.controllers.state import State

_OBJECT_UID = re.compile(r"\{uid:(\w+)/([\w-]+)\}")
_MERGE_PATCH = "application/merge-patch+json"
_METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE", "evict": "POST"}


class ScenarioPlayer:
    """Plays one scenario on one server.

    Args:
        target: The server.
        namespace: The namespace, which `begin` creates.
        moments: The times of the scenario.
    """

    def __init__(self, target: Target, namespace: str, moments: Moments) -> None:
        self._target = target
        self._connection = target.connect()
        self.namespace = namespace
        self._moments = moments

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def begin(self) -> None:
        """Create the namespace."""
        code, body = self.send("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        assert code == 201, body

    def play(self, action: Action) -> int:
        """Send the request of an action; returns the status, or 0 if there is no pod to pick."""
        path = self._path(action)
        if path is None:
            return 0
        kind = _MERGE_PATCH if action.verb == "patch" else "application/json"
        body = None if action.body is None else json.loads(self._reveal(json.dumps(action.body)))
        code, _ = self.send(_METHODS[action.verb], path, body, kind)
        return code

    def read(self, resources: tuple[str, ...]) -> State:
        """Read and normalise the objects of the namespace."""
        return normalised({resource: self.list(resource) for resource in resources}, self.namespace, self._moments)

    def list(self, resource: str) -> list[Any]:
        """The objects of a resource in the namespace."""
        code, body = self.send("GET", self._collection(resource))
        assert code == 200, body
        items: list[Any] = body["items"]
        return items

    def clean(self, resources: tuple[str, ...]) -> None:
        """Delete what the scenario and the controller created, so that later scenarios are not slowed down."""
        query = "?gracePeriodSeconds=0&propagationPolicy=Background"
        for resource in (*(name for name in resources if name not in {"pods", "events"}), "pods", "events"):
            if resource == "services":
                for item in self.list(resource):
                    self.send("DELETE", f"{self._collection(resource)}/{item['metadata']['name']}")
            else:
                self.send("DELETE", f"{self._collection(resource)}{query}")
        for pod in self.list("pods"):
            path = f"{self._collection('pods')}/{pod['metadata']['name']}"
            self.send("PATCH", path, {"metadata": {"finalizers": None}}, _MERGE_PATCH)
        self.send("DELETE", f"/api/v1/nodes?labelSelector=scenario%3D{self.namespace}")

    def send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, Any]:
        """Send a request; returns the status and the decoded body."""
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read() or b"null")

    def _collection(self, resource: str) -> str:
        if resource == "nodes":
            return "/api/v1/nodes"
        return f"{PATHS[resource]}/namespaces/{self.namespace}/{resource}"

    def _path(self, action: Action) -> str | None:
        path = self._collection(action.resource)
        if action.verb != "create":
            name = self._reveal(action.name) or self._pick(action)
            if name is None:
                return None
            path = f"{path}/{name}"
        tail = "/eviction" if action.verb == "evict" else f"/{action.subresource}" if action.subresource else ""
        return f"{path}{tail}{'?' if action.query else ''}{action.query}"

    def _pick(self, action: Action) -> str | None:
        """Choose a pod by its normalised contents: which of several equal ones does not matter."""
        items = [item for item in self.list(action.resource) if _suits(item, action.where)]
        if not items:
            return None
        items.sort(key=lambda item: canonical(normalised({"": [item]}, self.namespace, self._moments)))
        name: str = items[action.pick % len(items)]["metadata"]["name"]
        return name

    def _reveal(self, text: str) -> str:
        text = self._moments.reveal(text.replace("{ns}", self.namespace))
        return _OBJECT_UID.sub(lambda found: self._uid(found[1], found[2]), text)

    def _uid(self, resource: str, name: str) -> str:
        code, body = self.send("GET", f"{self._collection(resource)}/{name}")
        # An owner that is not there is one that was deleted.
        return str(body["metadata"]["uid"]) if code == 200 else "00000000-0000-0000-0000-000000000000"


def _suits(item: Any, where: str) -> bool:
    phase = (item.get("status") or {}).get("phase")
    is_terminating, is_finished = "deletionTimestamp" in item["metadata"], phase in {"Succeeded", "Failed"}
    return {
        "any": True,
        "active": not is_finished and not is_terminating,
        "bound": not is_finished and not is_terminating and bool((item.get("spec") or {}).get("nodeName")),
        "terminating": is_terminating,
        "finished": is_finished,
    }[where]
