"""The custom resource of the operator benchmarks, and the requests that make and change its objects.

It imports nothing of masthead: the workers of peers use it, too.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness.wire import Connection, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.harness.wire import Address

GROUP: Final = "bench.example.com"
VERSION: Final = "v1"
PLURAL: Final = "widgets"
KIND: Final = "Widget"
NAMESPACE: Final = "default"
OBJECTS: Final = f"/apis/{GROUP}/{VERSION}/namespaces/{NAMESPACE}/{PLURAL}"

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CONNECTIONS: Final = 4
_TEXT: Final = {"type": "string"}
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "image": _TEXT,
                "replicas": {"type": "integer", "minimum": 0},
                "hosts": {"type": "array", "items": _TEXT},
                "labels": {"type": "object", "additionalProperties": _TEXT},
                "serial": {"type": "integer"},
                "changed": {"type": "number"},
            },
        },
        "status": {
            "type": "object",
            "properties": {"observedGeneration": {"type": "integer"}, "phase": _TEXT},
        },
    },
}


def definition() -> bytes:
    """The definition of the resource."""
    version: dict[str, Any] = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _SCHEMA},
        "subresources": {"status": {}},
    }
    spec = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "widget", "kind": KIND},
        "versions": [version],
    }
    metadata = {"name": f"{PLURAL}.{GROUP}"}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }
    return json.dumps(body).encode()


def name_of(number: int) -> str:
    """The name of an object."""
    return f"widget-{number:05}"


def widget(number: int) -> bytes:
    """An object as people write them."""
    spec = {
        "image": f"registry.example.com/team-{number % 40}/web:1.{number}",
        "replicas": number % 7,
        "hosts": [f"site-{number}.example.com", f"www.site-{number}.example.com"],
        "labels": {"app": f"site-{number}", "tier": "web", "cost-center": str(number % 100)},
    }
    labels = {"app.kubernetes.io/name": f"site-{number}", "app.kubernetes.io/part-of": f"team-{number % 40}"}
    metadata = {"name": name_of(number), "labels": labels, "annotations": {"example.com/owner": "team-web"}}
    body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": metadata, "spec": spec}
    return json.dumps(body).encode()


def change(address: Address, number: int, serial: int) -> bytes:
    """A request that changes the spec of an object, and says when."""
    body = b'{"spec":{"serial":%d,"changed":%.6f}}' % (serial, time.monotonic())
    return address.request("PATCH", f"{OBJECTS}/{name_of(number)}", body, "application/merge-patch+json")


def create_all(address: Address, count: int) -> None:
    """Create the definition, and so many objects."""
    with Connection(address) as connection:
        connection.send(address.request("POST", _DEFINITIONS, definition()))
        _await_served(connection, address)

    def create(numbers: Iterable[int]) -> None:
        with Connection(address) as connection:
            for number in numbers:
                connection.send(address.request("POST", OBJECTS, widget(number)))

    with ThreadPoolExecutor(_CONNECTIONS) as threads:
        list(threads.map(create, [range(first, count, _CONNECTIONS) for first in range(_CONNECTIONS)]))


def last_version(address: Address) -> int:
    """The resource version of the server: it counts its writes."""
    with Connection(address) as connection:
        page = json.loads(connection.send(address.request("GET", f"{OBJECTS}?limit=1")))
    return int(page["metadata"]["resourceVersion"])


def _await_served(connection: Connection, address: Address) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            connection.send(address.request("GET", OBJECTS))
        except RefusedError:
            continue
        return
    raise TimeoutError(f"{PLURAL} are not served")
