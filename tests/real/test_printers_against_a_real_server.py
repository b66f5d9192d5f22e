"""Cells that the printers make, beside those of a real server: of random objects in random states.

``MASTHEAD_RANDOM_ROWS`` is how many objects of each kind (8), ``MASTHEAD_RANDOM_SEED`` the seed (1).
"""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.real.random_objects import KINDS, RandomObject

from masthead import printers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

ROWS = int(os.environ.get("MASTHEAD_RANDOM_ROWS") or 4)
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED") or 1)
NAMESPACE = "rows"


class Client:
    """Sends requests to the real server."""

    def __init__(self, server: RealServer) -> None:
        trust = ssl.create_default_context(cafile=str(server.ca_file))
        handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust))
        self._opener = urllib.request.build_opener(*handlers)
        self._server = server

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """Send a request; returns None if it is refused."""
        request = urllib.request.Request(
            f"{self._server.url}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._server.token}",
                "Content-Type": "application/json",
                **{name.replace("_", "-"): value for name, value in headers.items()},
            },
        )
        try:
            with self._opener.open(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            error.close()
            return None


@pytest.fixture(scope="module")
def client(real_server: RealServer) -> Client:
    made = Client(real_server)
    assert made.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    return made


def _create(client: Client, number: int, made: RandomObject) -> str:
    """Create an object in its state; returns its path, or nothing if the server refuses it."""
    collection = made.path.replace("{ns}", NAMESPACE)
    name = f"row-{number}"
    finalizers = {"finalizers": ["example.com/hold"]} if made.is_deleted else {}
    body = json.loads(json.dumps(made.body).replace("{ns}", NAMESPACE))
    if client.call("POST", collection, {"metadata": {"name": name, **made.metadata, **finalizers}, **body}) is None:
        return ""
    path = f"{collection}/{name}"
    if made.status and not client.call(
        "PATCH", f"{path}/status", {"status": made.status}, Content_Type="application/merge-patch+json"
    ):
        client.call("DELETE", f"{path}?gracePeriodSeconds=0")
        return ""
    if made.is_deleted:
        client.call("DELETE", f"{path}?gracePeriodSeconds=0")
    return path


def _remove(client: Client, path: str) -> None:
    client.call("PATCH", path, {"metadata": {"finalizers": None}}, Content_Type="application/merge-patch+json")
    client.call("DELETE", f"{path}?gracePeriodSeconds=0")


def _differences(real: dict[str, Any], before: datetime, after: datetime) -> list[str]:
    """What differs between a server's table of whole objects and the one that is made of those."""
    (row,) = real["rows"]
    first, last = (printers.table([row["object"]], now=now) for now in (before, after))
    wanted = [(each["name"], each["type"], each["format"], each["priority"]) for each in real["columnDefinitions"]]
    made = [(column.name, column.type, column.format, column.priority) for column in first.columns]
    found = [] if made == wanted else [f"columns {made}, real {wanted}"]
    cells = zip(row["cells"], first.rows[0].cells, last.rows[0].cells, strict=True)
    found += [
        f"cell {index}: {one!r}, real {cell!r}"
        for index, (cell, one, other) in enumerate(cells)
        if cell not in (one, other)
    ]
    return [f"{each} of {json.dumps(row['object'])}" for each in found]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_cells_are_those_of_the_real_server(client: Client, kind: Callable[[Random], RandomObject]) -> None:
    random = Random(f"{SEED} {kind.__name__}")
    differences: list[str] = []
    accepted = 0
    for number in range(ROWS):
        path = _create(client, number, kind(random))
        if not path:
            continue
        accepted += 1
        before = datetime.now(UTC)
        table = client.call(
            "GET", f"{path}?includeObject=Object", Accept="application/json;as=Table;v=v1;g=meta.k8s.io"
        )
        differences += _differences(table, before, datetime.now(UTC))
        _remove(client, path)
    # Some random states are invalid; too many would mean that nothing is tested.
    assert accepted >= ROWS / 2
    assert not differences, "\n".join(differences[:10])
