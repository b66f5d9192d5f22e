"""Random pods: the embedded server admits, refuses and warns about them as a real one does, at every level.

``MASTHEAD_RANDOM_PODS`` is the number of pods, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import embedded_target, real_target
from tests.server.random_pods import RandomPods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.target import Target
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

PODS = int(os.environ.get("MASTHEAD_RANDOM_PODS", "60"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
INVALID = 422
PREFIX = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
VERSIONS = ("v1.0", "v1.7", "v1.18", "v1.21", "v1.22", "v1.24", "v1.26", "v1.28", "v1.30", "v1.33", "v1.34", "v1.99")


class Server:
    """One of the two servers, with a namespace for each level and version."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()
        for level in LEVELS:
            for version in ("latest", *VERSIONS):
                labels = {f"{PREFIX}enforce": level, f"{PREFIX}enforce-version": version}
                # Every pod is judged twice: enforced at one level, and warned about at another.
                labels |= {f"{PREFIX}warn": "restricted", f"{PREFIX}warn-version": version}
                self.send("/api/v1/namespaces", {"metadata": {"name": name_of(level, version), "labels": labels}})

    def close(self) -> None:
        self._connection.close()

    def send(self, path: str, body: object) -> tuple[int, str, tuple[str, ...]]:
        headers = {"Authorization": f"Bearer {self._target.token}", "Content-Type": "application/json"}
        self._connection.request("POST", path, json.dumps(body).encode(), headers)
        response = self._connection.getresponse()
        warnings = tuple(response.headers.get_all("Warning") or ())
        message = json.loads(response.read()).get("message", "")
        return response.status, message, warnings


def name_of(level: str, version: str) -> str:
    return f"{level}-{version.replace('.', '-')}"


@pytest.fixture(scope="module")
def servers(real_server: RealServer) -> Iterator[tuple[Server, Server]]:
    with (
        embedded_target() as embedded,
        closing(Server(real_target(real_server))) as real,
        closing(Server(embedded)) as here,
    ):
        yield real, here


def test_random_pods_are_judged_alike(servers: tuple[Server, Server]) -> None:
    random = Random(SEED)
    pods = RandomPods(random)
    differences: list[str] = []
    outcomes: dict[int, int] = {}
    for number in range(PODS):
        pod = pods.make()
        places = [name_of(level, "latest") for level in LEVELS]
        places += [name_of(level, random.choice(VERSIONS)) for level in LEVELS[1:]]
        for place in places:
            path = f"/api/v1/namespaces/{place}/pods?dryRun=All"
            real, here = (server.send(path, pod) for server in servers)
            outcomes[real[0]] = outcomes.get(real[0], 0) + 1
            # The rules about valid pods come first, and are compared elsewhere.
            if real[0] != INVALID and real != here:
                differences.append(f"pod {number} in {place}: {json.dumps(pod)}\n  real {real}\n  here {here}")
    print(f"{PODS} pods: {outcomes}, {len(differences)} differences")

    assert not differences, "\n".join(differences[:10])
    assert outcomes.get(INVALID, 0) < sum(outcomes.values()) / 5
    assert {201, 403} <= outcomes.keys()
