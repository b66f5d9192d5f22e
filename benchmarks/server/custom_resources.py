"""Custom resources of the embedded server: how soon a definition is served, validated writes, and many definitions."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness.report import Column, Row, Table, Target
from benchmarks.harness.wire import Connection, RefusedError
from benchmarks.server.pings import Pings

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from benchmarks.harness.wire import Address

    Start = Callable[[], AbstractContextManager[tuple[Address, int]]]

SERVED: Final = 50.0
"""Milliseconds from the response to the creation of a definition until its objects are served."""
WRITES: Final = 2_000.0
"""Validated creates per second."""
STALL: Final = 100.0
"""Milliseconds that another request waits at most while definitions are created."""
CONNECTIONS: Final = 4
_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_TEXT: Final = {"type": "string"}
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["image"],
            "properties": {
                "replicas": {"type": "integer", "minimum": 0, "default": 1},
                "image": {"type": "string", "minLength": 1, "maxLength": 255},
                "policy": {"type": "string", "enum": ["Always", "Never"], "default": "Always"},
                "resources": {"type": "object", "additionalProperties": _TEXT},
                "env": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": _TEXT, "value": _TEXT}},
                },
                "ports": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {
                            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                            "protocol": {"type": "string", "default": "TCP"},
                        },
                    },
                },
            },
        },
        "status": {"type": "object", "properties": {"phase": _TEXT}},
    },
}


def custom_resources_table(start: Start, repeat: int, definitions: int, objects: int) -> Table:
    """Measure a server that has no definition yet.

    Args:
        start: Runs a server for the length of a block.
        repeat: Rounds, each with a server of its own.
        definitions: How many definitions to create.
        objects: How many objects to create.
    """
    rounds = [_requests(start, definitions, objects) for _ in range(repeat)]
    best = {name: min(each[name] for each in rounds) for name in rounds[0]}
    writes = max(each["writes"] for each in rounds)
    rows = (
        Row("first", "the first definition, created", (best["create"], None)),
        _row("served", "  until its objects are served", best["served"], SERVED),
        Row(
            "writes",
            f"creates of a typical object, {CONNECTIONS} connections",
            (None, writes),
            Target("custom_resources_writes", writes, WRITES, is_least=True),
        ),
        Row("list", f"  a list of {objects:,} objects", (best["list"], None)),
        Row("many", f"{definitions:,} more definitions, each", (best["many"], None)),
        _row("stall", "  the longest GET /version meanwhile", best["stall"], STALL),
        Row("discovery", "  aggregated discovery of them all", (best["discovery"], None)),
        _row("late", "  one more, until its objects are served", best["late"], SERVED),
    )
    title = f"custom resources: best of {repeat}"
    return Table("custom resources", title, (Column("ms", "wall ms"), Column("rate", "per second")), rows)


def _row(name: str, title: str, spent: float, limit: float) -> Row:
    return Row(name, title, (spent, None), Target(f"custom_resources_{name}_ms", spent, limit))


def _requests(start: Start, definitions: int, objects: int) -> dict[str, float]:
    with start() as (address, _), Connection(address) as connection:
        connection.send(address.request("GET", "/version"))
        figures: dict[str, float] = {}
        figures["create"] = _timed(lambda: connection.send(_create(address, 0)))
        figures["served"] = _timed(lambda: _await_served(connection, address, 0))
        figures["writes"] = _writes_per_second(address, objects)
        figures["list"] = _timed(lambda: connection.send(address.request("GET", _objects(0))))
        pings = Pings(address)
        with pings:
            creates = [_create(address, number) for number in range(1, definitions + 1)]
            spent = _timed(lambda: [connection.send(each) for each in creates])
        figures["many"] = spent / definitions
        figures["stall"] = pings.longest * 1e3
        figures["discovery"] = _timed(lambda: connection.send(_aggregated(address)))
        connection.send(_create(address, definitions + 1))
        figures["late"] = _timed(lambda: _await_served(connection, address, definitions + 1))
        return figures


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1e3


def _writes_per_second(address: Address, objects: int) -> float:
    def create(owner: int) -> None:
        bodies = [_object(f"object-{owner}-{number}") for number in range(objects // CONNECTIONS)]
        requests = [address.request("POST", _objects(0), body) for body in bodies]
        with Connection(address) as connection:
            for request in requests:
                connection.send(request)

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        began = time.perf_counter()
        list(threads.map(create, range(CONNECTIONS)))
        return objects / (time.perf_counter() - began)


def _await_served(connection: Connection, address: Address, number: int) -> None:
    request = address.request("GET", _objects(number))
    while True:
        try:
            connection.send(request)
        except RefusedError:
            continue
        return


def _group(number: int) -> str:
    return f"group{number % 100}.example.com"


def _objects(number: int) -> str:
    return f"/apis/{_group(number)}/v1/namespaces/default/kind{number}s"


def _create(address: Address, number: int) -> bytes:
    names = {"plural": f"kind{number}s", "kind": f"Kind{number}"}
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _SCHEMA},
        "subresources": {"status": {}},
    }
    definition: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{_group(number)}"},
        "spec": {"group": _group(number), "scope": "Namespaced", "names": names, "versions": [version]},
    }
    return address.request("POST", _PATH, json.dumps(definition).encode())


def _object(name: str) -> bytes:
    spec = {
        "image": "registry.example.com/app:1.2.3",
        "env": [{"name": f"NAME_{number}", "value": "value"} for number in range(5)],
        "resources": {"cpu": "100m", "memory": "128Mi"},
        "ports": [{"port": 80}, {"port": 443, "protocol": "TCP"}],
    }
    metadata = {"name": name, "labels": {"app": "app", "tier": "backend"}}
    head = {"apiVersion": f"{_group(0)}/v1", "kind": "Kind0"}
    return json.dumps({**head, "metadata": metadata, "spec": spec}).encode()


def _aggregated(address: Address) -> bytes:
    accept = b"Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    return address.request("GET", "/apis").replace(b"Accept: application/json", accept)
