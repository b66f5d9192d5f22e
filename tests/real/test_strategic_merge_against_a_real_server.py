"""Random strategic merge patches, put to a real server and to the embedded one.

``MASTHEAD_STRATEGIC_PATCHES`` says how many; ``MASTHEAD_STRATEGIC_SEED`` which.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import ssl
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest
from tests.real.strategic_patches import OBJECTS, PatchGenerator, path_of

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

Plain = dict[str, Any]
COUNT = int(os.environ.get("MASTHEAD_STRATEGIC_PATCHES", "120"))
SEED = int(os.environ.get("MASTHEAD_STRATEGIC_SEED", "12"))
NAMESPACE = "strategic"
TRIES = 16
"""Where several things are wrong with a patch, kube-apiserver reports one of them by chance."""
OF_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


class Server:
    """A server to compare, over one connection."""

    def __init__(self, url: str, token: str, ca_file: Path | None = None) -> None:
        self._address = urllib.parse.urlsplit(url)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._context = ssl.create_default_context(cafile=str(ca_file)) if ca_file else None
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = str(self._address.hostname), self._address.port
        if self._context is None:
            return http.client.HTTPConnection(host, port)
        return http.client.HTTPSConnection(host, port, context=self._context)

    def close(self) -> None:
        self._connection.close()

    def call(self, method: str, path: str, body: object = None, kind: str = "json") -> tuple[int, Plain]:
        """Send a request; a closed connection is the code 0."""
        headers = {**self._headers, "Content-Type": f"application/{kind}"}
        try:
            self._connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = self._connection.getresponse()
            return response.status, json.loads(response.read())
        except (http.client.HTTPException, OSError):
            self._connection.close()
            self._connection = self._connect()
            return 0, {}


def create_objects(server: Server) -> list[Plain]:
    """Create the objects that are patched, and return them."""
    server.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    found: list[Plain] = []
    for cls, content, _ in OBJECTS:
        made = {**content, "apiVersion": cls.GVK.api_version, "kind": cls.GVK.kind}
        made["metadata"] = {**content["metadata"], "name": NAMESPACE}
        code, created = server.call("POST", path_of(cls, NAMESPACE), made)
        assert code == 201, created
        found.append(created)
    return found


def comparable(response: tuple[int, Plain]) -> object:
    """Reduce a response to what the merge determines; the rest is a matter of validation."""
    code, body = response
    if code in {0, 500} and "unhashable" in body.get("message", "unhashable"):
        return "cannot be compared"  # kube-apiserver panics and closes the connection
    if code == 200:
        kept = {key: value for key, value in body["metadata"].items() if key not in OF_SERVER}
        spec = {key: value for key, value in body.get("spec", {}).items() if not key.startswith("clusterIP")}
        return {**body, "metadata": kept, "spec": spec}
    if code == 422:
        is_of_patch = body["message"].startswith(' "" is invalid: patch')
        # Which of several wrong types is reported depends on the order of Go's fields.
        return code, body["message"].rpartition('": ')[0] if is_of_patch else ""
    return code, body.get("message")


def agrees(real: Callable[[], tuple[int, Plain]], mine: tuple[int, Plain]) -> str:
    """Return how the responses differ; empty if they agree."""
    wanted: object = None
    for _ in range(TRIES):
        wanted = comparable(real())
        # What a real server validates, and this one does not, is not about merging.
        if wanted == comparable(mine) or (wanted == (422, "") and mine[0] == 200):
            return ""
    return f"real {json.dumps(wanted)}\nhere {json.dumps(comparable(mine))}"


@pytest.fixture
def real(real_server: RealServer) -> Iterator[Server]:
    with contextlib.closing(Server(real_server.url, real_server.token, real_server.ca_file)) as made:
        yield made


def test_random_patches_have_the_same_results(real: Server) -> None:
    chance = random.Random(SEED)
    with (
        masthead.server.run(controllers=False) as running,
        contextlib.closing(Server(running.url, running.token or "")) as here,
    ):
        present, _ = create_objects(real), create_objects(here)
        problems: list[str] = []
        for _ in range(COUNT):
            index = chance.randrange(len(OBJECTS))
            cls, _, subresource = OBJECTS[index]
            patch = PatchGenerator(chance, chance.choice((0, 0, 0.02, 0.05))).patch(cls, present[index])
            part = f"/{subresource}" if subresource and chance.random() < 0.3 else ""
            strictness = chance.choice(("Warn", "Strict", "Ignore"))
            path = f"{path_of(cls, NAMESPACE)}/{NAMESPACE}{part}?dryRun=All&fieldValidation={strictness}"

            def send(server: Server, path: str = path, patch: Plain = patch) -> tuple[int, Plain]:
                return server.call("PATCH", path, patch, "strategic-merge-patch+json")

            if problem := agrees(lambda send=send: send(real), send(here)):  # type: ignore[misc]
                problems.append(f"{path}\n{json.dumps(patch)}\n{problem}")
    assert not problems, "\n\n".join(problems)
