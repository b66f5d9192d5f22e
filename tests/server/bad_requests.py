"""Requests that a server must reject, and a command that records the responses of a real one.

``python -m tests.server.bad_requests https://HOST:PORT TOKEN`` sends them to a real kube-apiserver,
in a namespace of its own, and writes the responses to ``bad_requests.json``.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.calls import JSON, JSON_PATCH, MERGE_PATCH, Caller, CallResponse, config_map

RECORDED = Path(__file__).with_suffix(".json")
NAMESPACE = "bad-requests"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
LIMIT = 3 * 1024 * 1024


@dataclass(frozen=True)
class Case:
    """One request."""

    title: str
    method: str
    path: str
    body: bytes | None = field(default=None, repr=False)
    content_type: str | None = JSON

    def put_to(self, caller: Caller) -> CallResponse:
        return caller.call(self.method, self.path, self.body, content_type=self.content_type)


def _bodies() -> list[Case]:
    """Bodies that are no object, or the wrong one."""
    bodies = {
        "nothing": b"",
        "no json": b"no json",
        "no utf-8": b"\xff\xfe",
        "half an object": b"{",
        "two objects": b'{"a":1}{"b":2}',
        "a list": b"[]",
        "a string": b'"x"',
        "a number": b"7",
        "null": b"null",
        "an object without a name": b"{}",
        "a kind that is no string": b'{"kind":7}',
        "the wrong kind": b'{"kind":"Pod","apiVersion":"v1"}',
        "an unknown kind": b'{"kind":"Nope","apiVersion":"v1"}',
        "a kind of another group": b'{"kind":"ConfigMap","apiVersion":"apps/v1"}',
        "metadata that is a list": b'{"metadata":[]}',
        "a name that is a number": b'{"metadata":{"name":7}}',
        "data that is a number": b'{"data":{"a":1}}',
        "lists too deep": b"[" * 20_000,
        "objects too deep": b'{"a":' * 20_000,
        "one byte too much": (b" " * LIMIT + json.dumps(config_map("big")).encode())[-LIMIT - 1 :],
    }
    formats = ("text/plain", "nonsense", "application/cbor")
    return [
        *(Case(f"create with {name}", "POST", MAPS, body) for name, body in bodies.items()),
        *(Case(f"create with {each}", "POST", MAPS, b"x", each) for each in formats),
    ]


def _names() -> list[Case]:
    """Names with slashes and dots, in bodies and in paths."""
    found: list[Case] = []
    for name in ("a/b", "..", ".", "a%2Fb", "", "A_b", "x" * 254):
        body = json.dumps(config_map(name)).encode()
        found.append(Case(f"create {name[:9]!r}", "POST", MAPS, body))
    for name in (
        "..",
        ".",
        "%2e%2e",
        "a%2Fb",
        "%2E%2E%2Fx",
        "..%2f..",
        "%00",
        "%25",
        "%zz",
        "a%",
        "a%20b",
        "x" * 300,
    ):
        path = f"{MAPS}/{name}"
        other = json.dumps(config_map("x")).encode()
        found += [
            Case(f"get {name[:9]}", "GET", path),
            Case(f"delete {name[:9]}", "DELETE", path),
            Case(f"update {name[:9]} with another", "PUT", path, other),
            Case(f"patch {name[:9]}", "PATCH", path, b"{}", MERGE_PATCH),
        ]
    found.append(Case("update ..", "PUT", f"{MAPS}/..", json.dumps(config_map("..")).encode()))
    found.append(Case("list in ..", "GET", "/api/v1/namespaces/../configmaps"))
    found.append(Case("list in a%2Fb", "GET", "/api/v1/namespaces/a%2Fb/configmaps"))
    return found


def _places() -> list[Case]:
    """Resources and verbs that there are not."""
    paths = (
        "/nope",
        "/api/v2",
        "/api/v1/nope",
        "/apis/nope",
        "/apis/nope/v1/things",
        "/apis/apps/v9/deployments",
        "//api/v1",
        "/api/v1/configmaps/x",
        "/api/v1/namespaces/x/nodes",
        f"/api/v1/namespaces/{NAMESPACE}/nope",
        f"{MAPS}/a/nope",
        f"{MAPS}/a/status",
        f"{MAPS}/a/b/c",
    )
    found = [Case(f"get {path}", "GET", path) for path in paths]
    for method, path in (
        ("PUT", MAPS),
        ("PATCH", MAPS),
        ("POST", f"{MAPS}/x"),
        ("OPTIONS", MAPS),
        ("TRACE", f"{MAPS}/x"),
        ("PROPFIND", MAPS),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", "/version"),
        ("POST", "/api"),
    ):
        found.append(Case(f"{method} {path}", method, path, b"{}" if method in {"PUT", "PATCH", "POST"} else None))
    return found


def _queries() -> list[Case]:
    """Selectors, tokens, versions and numbers that cannot be read."""
    queries = (
        "labelSelector=a%20in",
        "labelSelector=!",
        "labelSelector=%2C",
        "labelSelector=a%3D%3D%3D",
        "labelSelector=a%3Db%20c",
        "fieldSelector=a",
        "fieldSelector=%5C",
        "fieldSelector=spec.x%3D1",
        "limit=x",
        "limit=1.5",
        "limit=9223372036854775808",
        "timeoutSeconds=x",
        "timeoutSeconds=-9223372036854775809",
        "continue=x",
        "continue=!!",
        "continue=e30",
        "continue=bm8ganNvbg",
        "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
        "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ",
        "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi94In0",
        "resourceVersion=x",
        "resourceVersion=-1",
        "resourceVersion=1.5",
        "resourceVersion=18446744073709551616",
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=x&resourceVersion=1",
        "resourceVersionMatch=Exact&resourceVersion=0",
        "sendInitialEvents=true",
        "watch=true&resourceVersion=x",
        "watch=true&resourceVersion=18446744073709551616",
        "watch=true&sendInitialEvents=true",
        "watch=true&continue=x",
    )
    body = json.dumps(config_map("x")).encode()
    of_creations = ("dryRun=x", "fieldValidation=x", "fieldManager=%00")
    of_deletions = ("gracePeriodSeconds=x", "propagationPolicy=x", "dryRun=x")
    return [
        *(Case(f"list ?{query}", "GET", f"{MAPS}?{query}") for query in queries),
        *(Case(f"create ?{query}", "POST", f"{MAPS}?{query}", body) for query in of_creations),
        *(Case(f"delete ?{query}", "DELETE", f"{MAPS}/there?{query}") for query in of_deletions),
    ]


def _patches() -> list[Case]:
    merges = {
        "nothing": b"",
        "no json": b"x",
        "a list": b"[]",
        "null": b"null",
        "a number": b"7",
        "no metadata": b'{"metadata":null}',
        "another name": b'{"metadata":{"name":"y"}}',
        "no version": b'{"metadata":{"resourceVersion":"x"}}',
        "an old version": b'{"metadata":{"resourceVersion":"1"}}',
        "a bad label": b'{"metadata":{"labels":{"a":"b c"}}}',
    }
    lists = {
        "nothing": b"",
        "no json": b"x",
        "an object": b"{}",
        "a number": b"[7]",
        "an unknown operation": b'[{"op":"nope","path":"/a"}]',
        "no path": b'[{"op":"add"}]',
        "a relative path": b'[{"op":"add","path":"a","value":1}]',
        "a path that leads nowhere": b'[{"op":"remove","path":"/nope"}]',
        "a test that fails": b'[{"op":"test","path":"/kind","value":1}]',
        "the removal of everything": b'[{"op":"remove","path":""}]',
        "too many operations": b"[" + b",".join([b'{"op":"add","path":"/data","value":{}}'] * 10_001) + b"]",
    }
    there = f"{MAPS}/there"
    found = [Case(f"merge {name}", "PATCH", there, body, MERGE_PATCH) for name, body in merges.items()]
    found += [Case(f"json patch with {name}", "PATCH", there, body, JSON_PATCH) for name, body in lists.items()]
    for content_type in (JSON, "text/plain", None):
        found.append(Case(f"patch as {content_type}", "PATCH", there, b"{}", content_type))
    return found


def _deletions() -> list[Case]:
    bodies = {
        "no json": b"x",
        "a list": b"[]",
        "another kind": b'{"kind":"Pod","apiVersion":"v1"}',
        "preconditions that are a number": b'{"preconditions":7}',
        "a grace period that is a string": b'{"gracePeriodSeconds":"x"}',
        "an unknown policy": b'{"propagationPolicy":"x"}',
        "a dry run that is a string": b'{"dryRun":"All"}',
        "an unknown dry run": b'{"dryRun":["x"]}',
    }
    return [Case(f"delete with {name}", "DELETE", f"{MAPS}/there", body) for name, body in bodies.items()]


def all_cases() -> list[Case]:
    return [*_bodies(), *_names(), *_places(), *_queries(), *_patches(), *_deletions()]


def prepare(caller: Caller) -> None:
    """Create the objects of the requests."""
    caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    caller.call("POST", MAPS, config_map("there"))


def summary_of(response: CallResponse) -> dict[str, Any]:
    """The part of a response that is compared."""
    is_json = response.content_type == JSON
    content_type = response.content_type.replace(" ", "").lower()
    return {
        "code": response.code,
        "type": content_type,
        "body": response.json if is_json else response.body.decode(),
    }


class _RealCaller(Caller):
    def connect(self) -> http.client.HTTPConnection:
        # The responses are reviewed before they are committed.
        trust = ssl._create_unverified_context()
        return http.client.HTTPSConnection(self.host, self.port, timeout=60, context=trust)


def _record(url: str, token: str) -> None:
    caller = _RealCaller(url, token)
    prepare(caller)
    responses = {case.title: summary_of(case.put_to(caller)) for case in all_cases()}
    caller.call("DELETE", MAPS)
    caller.close()
    RECORDED.write_text(json.dumps(responses, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    _record(*sys.argv[1:])
