"""Random paths: the embedded server refuses what a user may not do in the words of a real one.

The user has no roles, so that nearly every path is refused, with the verb, the resource and the namespace that both
servers read in it. ``MASTHEAD_RANDOM_PATHS`` is the number of paths, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import Target, embedded_target, real_target

if TYPE_CHECKING:
    import http.client

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

PATHS = int(os.environ.get("MASTHEAD_RANDOM_PATHS", "400"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
METHODS = ("GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
SEGMENTS = (
    *("api", "apis", "v1", "apps", "v7", "namespaces", "pods", "deployments", "watch", "proxy", "status", "finalize"),
    *("x", "scale", "log", "exec", "", "..", "a%2Fb", "a%20b", "%3Cb%3E", "rbac.authorization.k8s.io", "roles"),
    *("healthz", "version", "metrics", "openapi", "v2"),
)
BEGINNINGS = ("/api/v1", "/api/v1/namespaces/x", "/apis/apps/v1", "/apis/example.com/v1", "")
ONE_NAME = "fieldSelector=metadata.name%3Dx"
QUERIES = (
    *("", "watch=1", "watch=false", "watch", "watch=0&watch=1", ONE_NAME, f"{ONE_NAME},metadata.name%3Dy"),
    *("fieldSelector=metadata.name%21%3Dx", "fieldSelector=metadata.name%3D%2Fx", "fieldSelector=bad"),
    *(f"{ONE_NAME}&labelSelector=a%20in", f"{ONE_NAME}&limit=-1", f"{ONE_NAME}&limit=x&watch=1"),
    *(f"{ONE_NAME}&timeoutSeconds=1.5", f"{ONE_NAME}&allowWatchBookmarks=x", "fieldSelector=metadata.name%3D%3Dx"),
)


def refusal_of(target: Target, connection: http.client.HTTPConnection, method: str, path: str) -> tuple[int, object]:
    """The status of a response, and what a refusal says."""
    headers = {"Authorization": f"Bearer {target.token}", "Impersonate-User": "nobody"}
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    return response.status, json.loads(body) if response.status == 403 and body else None


def random_path(random: Random) -> str:
    segments = random.choices(SEGMENTS, k=random.randint(0, 5))
    path = "/".join([random.choice(BEGINNINGS), *segments, *random.choice(([], [], [""]))])
    return f"{path or '/'}?{random.choice(QUERIES)}"


def test_random_paths_are_refused_in_the_same_words(real_server: RealServer) -> None:
    random, theirs = Random(SEED), real_target(real_server)
    differences: list[str] = []
    refused = 0
    with embedded_target() as ours, closing(ours.connect()) as one, closing(theirs.connect()) as other:
        for _ in range(PATHS):
            method, path = random.choice(METHODS), random_path(random)
            wanted = refusal_of(theirs, other, method, path)
            refused += wanted[0] == 403
            found = refusal_of(ours, one, method, path)
            # A path that ends with a verb of the old form is an internal error of the real server.
            if found != wanted and wanted[0] != 500:
                differences.append(f"{method} {path}\nreal: {wanted}\nhere: {found}")
    assert refused > PATHS // 2
    assert not differences, f"{len(differences)} differences\n" + "\n\n".join(differences[:5])
