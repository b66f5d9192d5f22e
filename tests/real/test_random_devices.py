"""Random changes of valid objects: the embedded server accepts and refuses them as a real one does.

Fields of flow control's and devices' kinds are removed, repeated and replaced, in creates, updates and writes of the
status: the same code, the same errors in any order (Go's maps have none), and the same object where both accept it.

``MASTHEAD_RANDOM_DEVICES`` is the number of changes of each object, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import copy
import http.client
import json
import os
import re
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.target import Target, embedded_target, real_target
from tests.real.valid_devices import VALID, Plain, ValidObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

CHANGES = int(os.environ.get("MASTHEAD_RANDOM_DEVICES", "25"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
NAMESPACE = "random-devices"
EXPRESSIONS = [
    "",
    "1",
    "device.attributes['a']",
    "device.attributes['a'].b",
    "device.attributes['a'].b.c",
    "device.attributes['a'].b.exists(x, x == 1)",
    "device.attributes.all(k, device.attributes[k].all(l, device.attributes.all(m, true)))",
    "device.capacity['a'].b.isGreaterThan(quantity('1'))",
    "cel.bind(x, device.attributes['a'], x.a && x.b)",
    "device.foo",
    "1/0 == 1",
]
TEXTS = ["", "a", "A_b", "a/b", "x.com/x", "Upper.Case", "-", "a" * 70, "1.2.3", "All", "Exists", "*", "/a//b", "<a>"]
VALUES: list[Any] = [*TEXTS, 0, -1, 1, 101, 10_001, True, False, [], {}, ["a"], ["a", "a"], ["*", "get"], "10Gi"]
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class Server:
    """One of the two servers."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()

    def close(self) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: Plain | None = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": "application/json"}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = self._connection.getresponse()
            return response.status, json.loads(response.read())
        # A capacity whose steps are zero makes kube-apiserver panic.
        except http.client.RemoteDisconnected:
            self._connection.close()
            return 0, {}

    def compare(self, method: str, path: str, body: Plain) -> object:
        """What both servers must agree about."""
        code, answer = self.send(method, path, body)
        causes = (answer.get("details") or {}).get("causes")
        if causes:
            return code, sorted(json.dumps(cause, sort_keys=True) for cause in causes)
        if code >= 400:
            return code, answer["message"]
        for field in ("uid", "creationTimestamp", "resourceVersion", "managedFields"):
            answer.get("metadata", {}).pop(field, None)
        if answer.get("kind") == "FlowSchema":
            answer.pop("status", None)  # the real server writes its conditions
        return code, _TIME.sub("<time>", json.dumps(answer, sort_keys=True))


@pytest.fixture(scope="module")
def servers(real_server: RealServer) -> Iterator[tuple[Server, Server]]:
    with (
        embedded_target() as embedded,
        closing(Server(real_target(real_server))) as real,
        closing(Server(embedded)) as here,
    ):
        for server in (real, here):
            server.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield real, here


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path and path[0] not in {"apiVersion", "kind"} and path[:1] != ("metadata",):
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from paths_of(inner, (*path, key))


def change(body: Plain, random: Random) -> Plain:
    """Change one to three fields of an object."""
    changed = copy.deepcopy(body)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        path = random.choice(list(paths_of(changed)))
        owner: Any = changed
        for key in path[:-1]:
            owner = owner[key]
        _change_field(owner, path[-1], random)
    return changed


def _change_field(owner: Any, key: Any, random: Random) -> None:
    how, value = random.randrange(6), owner[key]
    if how == 0:
        del owner[key]
    elif how == 1 and isinstance(owner, list):
        owner.extend(copy.deepcopy(value) for _ in range(random.choice([1, 40])))
    elif how == 1:
        owner[random.choice(["b", "a/b", "A.b/c", "x.y/zz", "bad key", "a" * 80])] = copy.deepcopy(value)
    elif key == "expression":
        owner[key] = random.choice(EXPRESSIONS)
    else:
        alike = [candidate for candidate in VALUES if type(candidate) is type(value)]
        owner[key] = random.choice(alike or VALUES) if how < 5 else random.choice(VALUES)


@pytest.mark.parametrize("title", VALID)
def test_changed_objects_are_accepted_and_refused_alike(servers: tuple[Server, Server], title: str) -> None:
    valid, random = VALID[title], Random(f"{SEED} {title}")
    path = path_of(valid)
    for server in servers:
        server.send("DELETE", f"{path}/stored")
        assert server.send("POST", path, valid.body)[0] == 201
    found = []
    for _ in range(CHANGES):
        request = random_request(valid, path, random)
        real, here = (server.compare(*request) for server in servers)
        if real != here and real[0]:  # type: ignore[index]  # a panic has no code
            found.append(f"{request}\n  real {real}\n  here {here}")
    for server in servers:
        server.send("DELETE", f"{path}/stored")
    assert not found, f"{len(found)} of {CHANGES} differ:\n" + "\n".join(found[:5])


def path_of(valid: ValidObject) -> str:
    within = f"/namespaces/{NAMESPACE}" if valid.is_namespaced else ""
    return f"/apis/{valid.body['apiVersion']}{within}/{valid.resource}"


def random_request(valid: ValidObject, path: str, random: Random) -> tuple[str, str, Plain]:
    if valid.status is not None and random.random() < 0.4:
        body = change({**valid.body, "status": valid.status}, random)
        return "PUT", f"{path}/stored/status?dryRun=All", body
    body = change(valid.body, random)
    if random.random() < 0.5:
        return "PUT", f"{path}/stored?dryRun=All", body
    return "POST", f"{path}?dryRun=All", {**body, "metadata": {"name": "new"}}
