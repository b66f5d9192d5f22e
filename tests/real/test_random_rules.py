"""Random values of built-in kinds: the embedded server accepts, changes and refuses them as a real one does.

The same errors in the same words, and the same object where both accept it. The order of errors is not compared: that
of a map's keys is random in the real server. Of the errors about immutable fields, the shown structs are not compared.

``MASTHEAD_RANDOM_RULES`` is the number of objects of each kind, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import http.client
import json
import os
import re
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.target import Target, embedded_target, real_target
from tests.real.random_bodies import STORED
from tests.real.random_values import RandomValues

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.cases.minimal import Minimal
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

OBJECTS = int(os.environ.get("MASTHEAD_RANDOM_RULES", "60"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
NAMESPACE = "random-rules"
LEFT_OUT = {
    "ResourcePoolStatusRequest": "an alpha kind without rules here",
    "Service": "a dry run of a real server checks neither addresses nor ports",
}
_CHANGING = frozenset({"uid", "resourceVersion", "managedFields", "creationTimestamp", "selfLink"})
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOW = re.compile(r"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_STRUCT = re.compile(r"(Invalid value: )\{.*\}(?=: field is immutable)|\n(?s:.*)")
_CLAIM = re.compile(r"(spec\.template\.spec\.volumes)\[\d+\]")
KINDS = [each for each in STORED if each.kind not in LEFT_OUT and not each.dry]


class Server:
    """One of the two servers."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()

    def close(self) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: object) -> tuple[int, Any] | None:
        """Send a request; return the status and the comparable body of its response, or nothing if there is none."""
        media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": media_type}
        try:
            self._connection.request(method, path, json.dumps(body).encode(), headers)
            response = self._connection.getresponse()
            found = json.loads(response.read())
        except (http.client.RemoteDisconnected, ConnectionError):
            # A real server panics over some objects: over a success policy without completions.
            self._connection.close()
            return None
        return response.status, _causes(found) if response.status >= 400 else _comparable(found)


def _causes(status: dict[str, Any]) -> object:
    """The causes in a refusal, or its message if it has none."""
    causes = status.get("details", {}).get("causes", [])
    lines = [f"{cause.get('field')}: {cause['message']}" for cause in causes]
    # The volumes of a StatefulSet's claims are in random order.
    return (
        sorted(_CLAIM.sub(r"\1[*]", _STRUCT.sub(r"\1", _UID.sub("<uid>", line))) for line in lines) or status["message"]
    )


def _comparable(value: object) -> object:
    if isinstance(value, dict):
        return {key: _comparable(each) for key, each in value.items() if key not in _CHANGING}
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    return _NOW.sub("<time>", _UID.sub("<uid>", value)) if isinstance(value, str) else value


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


def path_of(minimal: Minimal) -> str:
    root = "/apis" if "/" in minimal.api_version else "/api"
    within = "" if minimal.in_cluster else f"/namespaces/{NAMESPACE}"
    return f"{root}/{minimal.api_version}{within}/{minimal.resource}"


def titled(minimal: Minimal) -> str:
    return f"{minimal.kind} of {minimal.api_version}"


def compare(servers: tuple[Server, Server], method: str, path: str, body: object) -> None:
    real, here = (server.send(method, path, body) for server in servers)
    if real is not None and real[0] < 500:
        assert here == real, f"{method} {path}\n{json.dumps(body)}\nreal {real}\nhere {here}"


@pytest.mark.parametrize("minimal", KINDS, ids=titled)
def test_new_objects_follow_the_same_rules(minimal: Minimal, servers: tuple[Server, Server]) -> None:
    values = RandomValues(minimal, Random(f"{SEED} {titled(minimal)}"))
    for _ in range(OBJECTS):
        body = values.body(minimal.name.replace("*", NAMESPACE))
        compare(servers, "POST", f"{path_of(minimal)}?dryRun=All", body)


# The time in a taint rule, which is now, changes its generation from one second to the next.
@pytest.mark.parametrize("minimal", [each for each in KINDS if each.kind != "DeviceTaintRule"], ids=titled)
def test_changes_follow_the_same_rules(minimal: Minimal, servers: tuple[Server, Server]) -> None:
    values = RandomValues(minimal, Random(f"{SEED} changes {titled(minimal)}"))
    name, collection = minimal.name.replace("*", NAMESPACE), path_of(minimal)
    metadata = {"name": name, "labels": {"app": "a"}}
    created = [server.send("POST", collection, {"metadata": metadata, **minimal.fields}) for server in servers]
    assert [each and each[0] for each in created] == [201, 201], created
    try:
        for _ in range(OBJECTS):
            compare(servers, "PUT", f"{collection}/{name}?dryRun=All", values.body(name))
    finally:
        for server in servers:
            server.send("DELETE", f"{collection}/{name}?gracePeriodSeconds=0", None)
            # No controller removes them here, and the next version of the kind uses the name again.
            server.send("PATCH", f"{collection}/{name}", {"metadata": {"finalizers": None}})
