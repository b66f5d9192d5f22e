"""Random bodies of built-in kinds: the embedded server decodes them as a real one does.

Nulls, values of the wrong type, unknown fields and duplicate keys, in creates, updates, patches and applies: the same
status, the same message, the same warnings, and the same object and managers where both accept it. Rules about valid
values are not compared here: where either server refuses an object for its contents, it has been decoded.

``MASTHEAD_RANDOM_BODIES`` is the number of bodies of each kind, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import Target, embedded_target, real_target
from tests.real.random_bodies import STORED, Plain, RandomBodies

if TYPE_CHECKING:
    import http.client
    from collections.abc import Iterator

    from tests.conformance.cases.minimal import Minimal
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

BODIES = int(os.environ.get("MASTHEAD_RANDOM_BODIES", "4"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
NAMESPACE = "random-bodies"
MERGE_PATCH = "application/merge-patch+json"
WITHOUT_FINALIZERS = json.dumps({"metadata": {"finalizers": None}})
APPLY_PATCH = "application/apply-patch+yaml"
REFUSED_FOR_CONTENTS = frozenset({403, 404, 409, 422})
UNDECLARED = "field not declared in schema"
SEVERAL = ": errors:\n"
"""What is between the beginning of a message and a list of errors of types."""
_CHANGING = frozenset(
    {
        *(
            "uid",
            "resourceVersion",
            "managedFields",
            "creationTimestamp",
            "nodePort",
            "clusterIP",
            "clusterIPs",
        ),
        # A dry run of the real server shows it; nothing stores it.
        "selfLink",
    }
)
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOW = re.compile(r"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_OBJECT = re.compile(r'"\{\\".*\}"(?=: )')


@dataclass(frozen=True)
class Response:
    """What is compared of a response."""

    status: int
    message: str
    warnings: tuple[str, ...]
    body: object
    managers: object = field(compare=False)

    @property
    def is_decoded(self) -> bool:
        return self.status != 400


class Server:
    """One of the two servers."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()

    def close(self) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: str, media_type: str = "application/json") -> Response:
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": media_type}
        self._connection.request(method, path, body.encode(), headers)
        return _read(self._connection.getresponse())


def _read(response: http.client.HTTPResponse) -> Response:
    warnings = tuple(response.headers.get_all("Warning") or ())
    body = json.loads(response.read())
    message = _UID.sub("<uid>", _OBJECT.sub("<object>", body.get("message", "")))
    managers = _normal(body.get("metadata", {}).get("managedFields"))
    return Response(response.status, message if response.status >= 400 else "", warnings, _normal(body), managers)


def _normal(value: object) -> object:
    if isinstance(value, dict):
        return {key: _normal(each) for key, each in value.items() if key not in _CHANGING}
    if isinstance(value, list):
        return [_normal(each) for each in value]
    return _NOW.sub("<time>", _UID.sub("<uid>", value)) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def servers(real_server: RealServer) -> Iterator[tuple[Server, Server]]:
    with (
        embedded_target() as embedded,
        closing(Server(real_target(real_server))) as real,
        closing(Server(embedded)) as here,
    ):
        for server in (real, here):
            namespace = json.dumps({"metadata": {"name": NAMESPACE}})
            server.send("POST", "/api/v1/namespaces", namespace)
            account = json.dumps({"metadata": {"name": "default"}})
            server.send("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", account)
        yield real, here


def path_of(minimal: Minimal) -> str:
    root = "/apis" if "/" in minimal.api_version else "/api"
    within = "" if minimal.in_cluster else f"/namespaces/{NAMESPACE}"
    return f"{root}/{minimal.api_version}{within}/{minimal.resource}"


def differ(real: Response, here: Response) -> bool:
    if real.is_decoded != here.is_decoded or not real.is_decoded:
        return real != here
    if REFUSED_FOR_CONTENTS & {real.status, here.status}:
        return False
    return real != here


def titled(minimal: Minimal) -> str:
    return f"{minimal.kind} of {minimal.api_version}"


@pytest.mark.parametrize("minimal", STORED, ids=titled)
def test_new_objects_are_decoded_alike(minimal: Minimal, servers: tuple[Server, Server]) -> None:
    random = Random(f"{SEED} {titled(minimal)}")
    bodies = RandomBodies(minimal, random)
    name = minimal.name.replace("*", NAMESPACE)
    for _ in range(BODIES):
        body = bodies.broken(name)
        strictness = random.choice(("Strict", "Warn", "Ignore"))
        path = f"{path_of(minimal)}?dryRun=All&fieldValidation={strictness}"
        real, here = (server.send("POST", path, body) for server in servers)
        assert not differ(real, here), f"POST {path}\n{body}\nreal {real}\nhere {here}"


@pytest.mark.parametrize("minimal", [each for each in STORED if not each.dry], ids=titled)
def test_changes_are_decoded_alike(minimal: Minimal, servers: tuple[Server, Server]) -> None:
    random = Random(f"{SEED} {titled(minimal)}")
    bodies = RandomBodies(minimal, random)
    name = minimal.name.replace("*", NAMESPACE)
    collection = path_of(minimal)
    valid = json.dumps(bodies.valid(name))
    created = [server.send("POST", collection, valid) for server in servers]
    if {each.status for each in created} != {201}:
        pytest.skip(f"it is not created: {created}")
    try:
        for _ in range(BODIES):
            path = f"{collection}/{name}?dryRun=All&fieldValidation={random.choice(('Strict', 'Warn'))}"
            for method, body, media_type in (
                ("PUT", bodies.broken(name), "application/json"),
                ("PATCH", json.dumps(bodies.patch()), MERGE_PATCH),
                ("PATCH", json.dumps(_operations(bodies.patch())), "application/json-patch+json"),
            ):
                real, here = (server.send(method, path, body, media_type) for server in servers)
                assert not differ(real, here), f"{method} {path}\n{body}\nreal {real}\nhere {here}"
    finally:
        for server in servers:
            server.send("DELETE", f"{collection}/{name}?gracePeriodSeconds=0", "")
            # No controller removes them here, and the next version of the kind uses the name again.
            server.send("PATCH", f"{collection}/{name}", WITHOUT_FINALIZERS, MERGE_PATCH)


@pytest.mark.parametrize("minimal", STORED, ids=titled)
def test_configurations_are_applied_alike(minimal: Minimal, servers: tuple[Server, Server]) -> None:
    random = Random(f"{SEED} {titled(minimal)}")
    bodies = RandomBodies(minimal, random)
    name = minimal.name.replace("*", NAMESPACE)
    for _ in range(BODIES):
        body = bodies.broken(name)
        strictness = random.choice(("Strict", "Warn", "Ignore"))
        path = f"{path_of(minimal)}/{name}?dryRun=All&fieldManager=one&fieldValidation={strictness}"
        real, here = (server.send("PATCH", path, body, APPLY_PATCH) for server in servers)
        assert not differ_when_applied(real, here), f"PATCH {path}\n{body}\nreal {real}\nhere {here}"


def differ_when_applied(real: Response, here: Response) -> bool:
    if UNDECLARED in real.message and UNDECLARED in here.message:
        # The real server looks at fields in any order, and at no more of a struct after one that is not declared.
        return real.status != here.status
    if SEVERAL in real.message:
        return _in_order(real.message) != _in_order(here.message)
    if REFUSED_FOR_CONTENTS & {real.status, here.status}:
        return False
    return real != here or real.managers != here.managers


def _in_order(message: str) -> list[str]:
    return sorted(message.splitlines())


def _operations(patch: Plain) -> list[Plain]:
    return [{"op": "add", "path": f"/{name}", "value": value} for name, value in patch.items()]
