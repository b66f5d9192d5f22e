"""No apply, and no managedFields that a client sends, hold the event loop for long or take much memory.

Time is measured as in `tests.server.test_runaway`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import APPLY_PATCH, JSON, MERGE_PATCH, Caller
from tests.server.metered_server import TOKEN, can_measure, metered
from tests.server.runaway import Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARGIN = 4.0
MANY = 15_000
"""As many keys as an object may have, or fields a set."""
ITEMS = 4_900
"""As many items as the lists of an object may have, nearly."""
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
APPLY = "?dryRun=All&fieldManager=one"

Plain = dict[str, Any]

pytestmark = pytest.mark.skipif(not can_measure(), reason="only Linux reports the peak memory of a process")


def config_map(name: str, data: object, **metadata: object) -> Plain:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def pod(name: str, **container: object) -> Plain:
    spec = {"containers": [{"name": "main", "image": "image", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def keys(value: str = "") -> dict[str, str]:
    return {f"k{number}": value for number in range(MANY)}


def variables() -> list[Plain]:
    return [{"name": f"V{number}", "value": "v"} for number in range(ITEMS)]


def entry(fields: object, manager: str = "one", operation: str = "Update") -> Plain:
    facts = {"apiVersion": "v1", "fieldsType": "FieldsV1", "time": "2026-01-02T03:04:05Z"}
    return {**facts, "manager": manager, "operation": operation, "fieldsV1": fields}


def deep(levels: int) -> Plain:
    found: Plain = {}
    for _ in range(levels):
        found = {"f:a": found}
    return found


def applying(body: Callable[[], Plain], options: str = "") -> Callable[[], bytes]:
    def make() -> bytes:
        made = body()
        folder = MAPS if made["kind"] == "ConfigMap" else PODS
        return request("PATCH", f"{folder}/{made['metadata']['name']}{APPLY}{options}", made, APPLY_PATCH)

    return make


def bringing(*entries: Callable[[], Plain | list[Plain]]) -> Callable[[], bytes]:
    """An update that brings entries of managedFields."""

    def make() -> bytes:
        made = [each() for each in entries]
        flat = [one for each in made for one in (each if isinstance(each, list) else [each])]
        return request("PUT", f"{MAPS}/small?dryRun=All", config_map("small", {"a": "2"}, managedFields=flat))

    return make


def request(method: str, path: str, body: object, media: str = JSON) -> bytes:
    text = json.dumps(body, separators=(",", ":")).encode()
    lines = (
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        f"Authorization: Bearer {TOKEN}",
        f"Content-Type: {media}",
        f"Content-Length: {len(text)}",
    )
    return "\r\n".join([*lines, "", ""]).encode() + text


CASES: dict[str, tuple[int, Callable[[], bytes]]] = {
    "many keys": (200, applying(lambda: config_map("small", keys()))),
    "a new object of many keys": (201, applying(lambda: config_map("new", keys()))),
    "one key of many": (409, applying(lambda: config_map("large", {"k1": "1"}))),
    "one key of many, forced": (200, applying(lambda: config_map("large", {"k1": "1"}), "&force=true")),
    "a conflict in each of many keys": (409, applying(lambda: config_map("large", keys("1")))),
    "a patch of one key of many": (
        200,
        lambda: request("PATCH", f"{MAPS}/large?dryRun=All", {"data": {"k1": "1"}}, MERGE_PATCH),
    ),
    "other keys in place of many": (
        200,
        lambda: request("PUT", f"{MAPS}/large?dryRun=All", config_map("large", {f"j{n}": "" for n in range(MANY)})),
    ),
    "items with keys": (201, applying(lambda: pod("new", env=variables()))),
    "items with keys in another order": (
        422,
        applying(lambda: pod("large", env=variables()[::-1]), "&force=true"),
    ),
    "items that are all the same": (500, applying(lambda: pod("new", env=variables()[:1] * ITEMS))),
    "items without keys": (500, applying(lambda: pod("new", env=[{"value": "a"}] * ITEMS))),
    "a label beside many items": (
        200,
        applying(lambda: {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large", "labels": {"a": "b"}}}),
    ),
    "values of wrong types": (500, applying(lambda: config_map("small", dict.fromkeys(keys(), 1)))),
    "a deep value": (500, applying(lambda: config_map("small", deep(180)))),
    "many managers": (
        200,
        bringing(lambda: [entry({"f:data": {"f:a": {}}}, f"manager-{number}") for number in range(4_000)]),
    ),
    "many managers that apply": (
        200,
        bringing(lambda: [entry({"f:data": {"f:a": {}}}, f"manager-{number}", "Apply") for number in range(4_000)]),
    ),
    "a set of many fields": (200, bringing(lambda: entry({"f:data": {f"f:k{n}": {} for n in range(MANY)}}))),
    "a set of many items": (
        200,
        bringing(lambda: entry({"f:spec": {f'k:{{"name":"{n}"}}': {} for n in range(MANY)}})),
    ),
    "a set of many values": (200, bringing(lambda: entry({"f:spec": {f'v:"{n}"': {} for n in range(MANY)}}))),
    "an element of many keys": (
        200,
        bringing(lambda: entry({"k:{" + ",".join(f'"{n}":1' for n in range(100_000)) + "}": {}})),
    ),
    "a deep set": (200, bringing(lambda: entry(deep(180)))),
    "a set that is deeper than anything": (200, bringing(lambda: entry(deep(190)))),
    "a manager of a megabyte": (422, bringing(lambda: entry({"f:data": {}}, "m" * 1_000_000))),
    "a manager of signs to be escaped": (422, bringing(lambda: entry({"f:data": {}}, "\t" * 1_000_000))),
}


@pytest.fixture(scope="module")
def sender() -> Iterator[Sender]:
    with metered() as server:
        caller = Caller(server.url, TOKEN)
        for path, body in (
            (MAPS, config_map("small", {"a": "1"})),
            (MAPS, config_map("large", keys())),
            (PODS, pod("large", env=variables())),
        ):
            assert caller.call("POST", path, body).code == 201
        caller.close()
        yield Sender(server, margin=MARGIN)


@pytest.mark.slow
@pytest.mark.parametrize("title", CASES)
def test_no_apply_holds_the_loop_or_takes_much_memory(sender: Sender, title: str) -> None:
    code, make = CASES[title]
    wire = make()

    cost, response = sender.cost(wire)
    if sender.is_too_much(cost, len(wire)):
        cost = sender.at_least(wire, len(wire), cost)

    assert response.startswith(f"HTTP/1.1 {code} ".encode()), response[:500]
    assert not sender.is_too_much(cost, len(wire)), cost
