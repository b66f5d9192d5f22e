"""Random tokens and impersonations: the embedded server takes them for the same users as a real one does.

Each server gets variations of its own tokens, made in the same way. ``MASTHEAD_RANDOM_CREDENTIALS`` is the number of
variations of each kind, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.identities import SELF, TOKEN_REVIEWS, alter, encode_part
from tests.conformance.target import Target, embedded_target, real_target

if TYPE_CHECKING:
    import http.client
    from collections.abc import Callable, Sequence

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

COUNT = int(os.environ.get("MASTHEAD_RANDOM_CREDENTIALS", "200"))
SEED = os.environ.get("MASTHEAD_RANDOM_SEED", "1")
API = "https://kubernetes.default.svc"
NAMESPACE = "random-credentials"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
AUDIENCES: list[list[str]] = [[], [API], ["vault"], ["vault", API], ["other"], [""]]
USERS = ["root", "boss", "jane", "ann", "node", "impersonator", ""]
NAMES = [
    "bob",
    "system:anonymous",
    "system:node:n1",
    "system:node:N",
    f"system:serviceaccount:{NAMESPACE}:robot",
    "system:serviceaccount:a:",
    "system:serviceaccount:a:b:c",
    "ä",
]
GROUPS = ["devs", "system:masters", "system:authenticated", "system:unauthenticated", "system:nodes", ""]
KEYS = ["a", "acme.io%2fa", "Acme.io%2FA", "%", "a%20b", "under_score.io%2fa", "acme.io%2f"]
PATHS = [SELF, f"/api/v1/namespaces/{NAMESPACE}/configmaps", "/healthz", f"/api/v1/namespaces/{NAMESPACE}/pods/x"]
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Plain = dict[str, Any]
Headers = list[tuple[str, str]]


class Server:
    """One of the two servers, with tokens of a service account."""

    def __init__(self, target: Target, connection: http.client.HTTPConnection) -> None:
        self._token = target.token
        self._connection = connection
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        self.tokens = [self._request_token(audiences) for audiences in AUDIENCES[:4]]

    def _request_token(self, audiences: list[str]) -> str:
        _, made = self.call("POST", f"{ACCOUNTS}/robot/token", {"spec": {"audiences": audiences}})
        return str(made["status"]["token"])

    def call(self, method: str, path: str, body: object = None, headers: Headers | None = None) -> tuple[int, Any]:
        content = b"" if body is None else json.dumps(body).encode()
        own = [("Authorization", f"Bearer {self._token}")] if headers is None else []
        self._connection.putrequest(method, path)
        for name, value in (*own, ("Content-Type", "application/json"), *(headers or ())):
            self._connection.putheader(name, value.encode())
        self._connection.putheader("Content-Length", str(len(content)))
        self._connection.endheaders(content)
        response = self._connection.getresponse()
        read = response.read()
        return response.status, json.loads(read) if read.startswith(b"{") else read.decode()


def vary(random: Random, token: str) -> str:
    """A token with another header, other claims, another signature, or something around it."""
    head, payload, signature = token.split(".")
    variations: Sequence[Callable[[], str]] = (
        lambda: token,
        lambda: alter(token, header={"alg": random.choice(["none", "HS256", "ES256", "RS256", None, 7, []])}),
        lambda: alter(token, header={"kid": random.choice(["x", "", None, 7])}),
        lambda: alter(token, claims={random.choice(["exp", "nbf"]): random.choice([0, 1, "x", None, 2**40])}),
        lambda: alter(token, claims={"iss": random.choice(["", "kubernetes/serviceaccount", "other", None, []])}),
        lambda: alter(token, signature=encode_part(random.randbytes(random.choice([0, 1, 63, 64, 65])))),
        lambda: random.choice([f"{head}.{payload}", f"{head}..{signature}", f".{payload}.{signature}", f"{token}."]),
        lambda: random.choice([f" {token}", f"{token} ", f"{token} x", f"x {token}", f"{token}\n", f"\t{token}"]),
        lambda: f"{head}.{payload}.{signature[:40]}{random.choice('!=+/')}{signature[41:]}",
        lambda: f"{encode_part(random.choice([b'{}', b'', b'[]', b'null', b'1']))}.{payload}.{signature}",
        lambda: f"{head}.{encode_part(random.choice([b'{}', b'[]', b'null', json.dumps({'ISS': API}).encode()]))}.x",
        lambda: "jane-token",
    )
    return random.choice(variations)()


def act(random: Random) -> tuple[str, Headers]:
    """A path, and the headers of somebody who acts as somebody else."""
    user = random.choice(USERS)
    headers = [("Authorization", f"Bearer {user}-token")] if user else [("Authorization", "")]
    if random.random() < 0.9:
        headers.append(("Impersonate-User", random.choice(NAMES)))
    headers += [("Impersonate-Group", random.choice(GROUPS)) for _ in range(random.choice([0, 0, 1, 2, 5]))]
    if random.random() < 0.3:
        headers.append(("Impersonate-Uid", random.choice(["", "7"])))
    if random.random() < 0.4:
        headers.append((f"Impersonate-Extra-{random.choice(KEYS)}", random.choice(["b", "", "c d"])))
    return random.choice(PATHS), headers


def without_chance(response: tuple[int, Any]) -> str:
    """A response without uids, times and versions."""
    code, body = response
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name not in {"metadata", "spec"}}
    return f"{code} {_UID.sub('<uid>', json.dumps(body, sort_keys=True))}"


def test_random_credentials_are_those_of_the_same_users(real_server: RealServer) -> None:
    with embedded_target() as target:
        targets = (real_target(real_server), target)
        with closing(targets[0].connect()) as first, closing(targets[1].connect()) as second:
            servers = (Server(targets[0], first), Server(targets[1], second))
            found = [*_compare_reviews(servers), *_compare_impersonations(servers)]

    assert not found, f"{len(found)} of {2 * COUNT} differ:\n" + "\n".join(found[:10])


def _compare_reviews(servers: tuple[Server, Server]) -> list[str]:
    differences: list[str] = []
    for number in range(COUNT):
        outcomes: list[str] = []
        for server in servers:
            random = Random(f"{SEED} review {number}")  # the same for both
            spec: Plain = {"audiences": random.choice(AUDIENCES), "token": vary(random, random.choice(server.tokens))}
            outcomes.append(without_chance(server.call("POST", TOKEN_REVIEWS, {"spec": spec})))
        if outcomes[0] != outcomes[1]:
            differences.append(f"review {number}: real {outcomes[0]}, here {outcomes[1]}")
    return differences


def _compare_impersonations(servers: tuple[Server, Server]) -> list[str]:
    differences: list[str] = []
    for number in range(COUNT):
        path, headers = act(Random(f"{SEED} impersonation {number}"))
        body: Plain | None = {} if path == SELF else None
        method = "GET" if body is None else "POST"
        real, here = (without_chance(server.call(method, path, body, headers)) for server in servers)
        if real != here:
            differences.append(f"impersonation {number}, {path} {headers}: real {real}, here {here}")
    return differences
