"""What servers answer to shard selectors: one sequence of requests, recorded from a real server with the gate on.

The shards are those of namespaces, whose hashes are the same on every server; so responses can be compared as they are.
``python -m tests.server.shards`` records them anew, if the real programs are installed.
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.parse
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.real_server import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.target import Target

FILE = Path(__file__).with_name("shards.json")
GATE = {"feature-gates": "ShardedListAndWatch=true"}
"""The option of kube-apiserver that switches shards on."""
Plain = dict[str, Any]
START, MIDDLE, END = "0x0000000000000000", "0x8000000000000000", "0x10000000000000000"
NAMESPACES = ("black", "blue", "cache", "green", "grey", "red", "shop")
"""Four of the lower half of all hashes, three of the upper one."""
GROUP = "example.com"
SITES = f"/apis/{GROUP}/v1/sites"
MAPS = "/api/v1/configmaps"
OURS = "app=shards"
_STREAMED = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}
_DEFINITION: Plain = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"sites.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "sites", "kind": "Site"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


def shard_range(start: str, end: str, field: str = "object.metadata.namespace") -> str:
    """One range of hashes."""
    return f"shardRange({field}, '{start}', '{end}')"


LOWER, UPPER = shard_range(START, MIDDLE), shard_range(MIDDLE, END)


def selectors() -> list[str]:
    """The selectors of the recording: valid ones, and those that a server refuses."""
    return [each["selector"] for each in json.loads(FILE.read_text("utf-8"))["selectors"]]


class ShardSession:
    """Prepares a server, and asks it for shards.

    Args:
        target: The server; its gate must be on.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def call(self, method: str, path: str, body: object = None, accept: str = "application/json") -> Plain:
        """Send a request, and return the decoded response."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, self._headers(accept))
        return json.loads(self._connection.getresponse().read())  # type: ignore[no-any-return]

    def _headers(self, accept: str = "application/json") -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self._target.token}",
            "Content-Type": "application/json",
            "Accept": accept,
        }

    def answer(self, selector: str) -> str:
        """What a list with a selector echoes; or the message of the refusal."""
        found = self.call("GET", _path(MAPS, shardSelector=selector))
        if found["kind"] == "Status":
            assert (found["code"], found.get("reason")) == (500, None)
            return str(found["message"])
        return str(found["metadata"]["shardInfo"]["selector"])

    def prepare(self) -> None:
        """Create a map and a site in every namespace, and one more map in some."""
        self.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _DEFINITION)
        for number, namespace in enumerate(NAMESPACES):
            self.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            for name in ("one", "two")[: 1 + number % 2]:
                self.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", _map(name))
        self._wait_for_sites()
        for namespace in NAMESPACES:
            site = {"apiVersion": f"{GROUP}/v1", "kind": "Site", "metadata": {"name": "one"}}
            self.call("POST", f"/apis/{GROUP}/v1/namespaces/{namespace}/sites", site)

    def _wait_for_sites(self) -> None:
        # A real server serves a definition when it is ready.
        assert wait_until(lambda: "items" in self._page(SITES))

    def _page(self, path: str) -> Plain:
        """A list, or nothing if the path is not served."""
        self._connection.request("GET", path, headers=self._headers())
        response = self._connection.getresponse()
        body = response.read()
        return json.loads(body) if response.status == 200 else {}

    def outcomes(self) -> Iterator[Plain]:
        """Send all requests; yields what was asked and what the server responded."""
        for path, query in _lists():
            yield self._list(path, query)
        for accept in ("Table", "PartialObjectMetadataList"):
            yield self._list(
                MAPS,
                {"labelSelector": OURS, "shardSelector": LOWER},
                f"application/json;as={accept};v=v1;g=meta.k8s.io",
            )
        yield from self._pages()
        for path in (MAPS, SITES):
            for selector in (LOWER, UPPER):
                yield self._watch(path, {"shardSelector": selector, **_STREAMED})
        yield from self._changes()
        yield self._list(MAPS, {"labelSelector": OURS, "shardSelector": UPPER}, method="DELETE")
        yield self._list(MAPS, {"labelSelector": OURS})

    def _list(self, path: str, query: dict[str, str], accept: str = "application/json", method: str = "GET") -> Plain:
        if method == "DELETE":  # only a namespace's objects can be deleted at once
            path = "/api/v1/namespaces/blue/configmaps"
        found = self.call(method, _path(path, **query), accept=accept)
        return {"method": method, "path": path, "query": query, "accept": accept, **_normal(found)}

    def _pages(self) -> Iterator[Plain]:
        for path in (MAPS, SITES, "/api/v1/namespaces/blue/configmaps"):
            for selector in (LOWER, UPPER, f"{LOWER} || {UPPER}"):
                for more in ({}, {"labelSelector": OURS}):
                    if path == MAPS and not more:
                        continue  # the servers have maps of their own
                    yield from self._pages_of(path, {"shardSelector": selector, "limit": "2", **more})

    def _pages_of(self, path: str, query: dict[str, str]) -> Iterator[Plain]:
        token = ""
        while True:
            found = self.call("GET", _path(path, **query, **({"continue": token} if token else {})))
            yield {
                "method": "GET",
                "path": path,
                "query": query,
                "accept": "application/json",
                **_normal(found),
            }
            token = found["metadata"].get("continue", "")
            if not token:
                return

    def _changes(self) -> Iterator[Plain]:
        since = self.call("GET", MAPS)["metadata"]["resourceVersion"]
        for namespace in ("blue", "cache"):
            maps = f"/api/v1/namespaces/{namespace}/configmaps"
            self.call("POST", maps, _map("new"))
            self.call("PUT", f"{maps}/new", _map("new", tier="web"))
            self.call("PUT", f"{maps}/new", _map("new", tier="db"))
            self.call("DELETE", f"{maps}/new")
            self.call("POST", maps, _map("last", tier="web"))
        for selector in (LOWER, UPPER):
            for more in ({}, {"labelSelector": "tier=web"}):
                yield self._watch(MAPS, {"shardSelector": selector, **more}, since)

    def _watch(self, path: str, query: dict[str, str], since: str = "") -> Plain:
        """Watch until the end of the initial state, or until the last change."""
        events: list[str] = []
        with closing(self._target.connect()) as connection:
            version = {"resourceVersion": since} if since else {}
            connection.request("GET", _path(path, watch="1", **query, **version), headers=self._headers())
            stream = connection.getresponse()
            assert stream.status == 200
            while line := stream.readline():
                event = json.loads(line)
                meta = event["object"]["metadata"]
                if event["type"] == "BOOKMARK" or meta["name"] == "last":
                    events.append(event["type"])
                    break
                if meta["namespace"] in NAMESPACES:
                    events.append(f"{event['type']} {meta['namespace']}/{meta['name']}")
        return {"path": path, "query": query, "events": events}


def _lists() -> Iterator[tuple[str, dict[str, str]]]:
    for path in (MAPS, SITES):
        for selector in (
            LOWER,
            UPPER,
            f"{LOWER} || {UPPER}",
            f"{UPPER}||{shard_range(START, '0xfffffffffffffff0')}",
            shard_range(START, END),
            shard_range(MIDDLE, "0xc5ccd29bc2dda64d"),
            shard_range(MIDDLE, "0xc5ccd29bc2dda64e"),
            shard_range("0xc5ccd29bc2dda64d", END),
            f"  {LOWER.replace(' ', '')}  ",
        ):
            yield path, {"shardSelector": selector, **({"labelSelector": OURS} if path == MAPS else {})}
    ours = {"labelSelector": OURS, "shardSelector": LOWER}
    yield MAPS, {**ours, "resourceVersion": "0"}
    yield MAPS, {**ours, "labelSelector": f"{OURS},name=two"}
    yield MAPS, {**ours, "fieldSelector": "metadata.name=two"}
    yield MAPS, {**ours, "fieldSelector": "metadata.namespace=blue"}
    yield MAPS, {**ours, "fieldSelector": "metadata.namespace=cache"}
    yield MAPS, {**ours, "shardSelector": ""}
    yield "/api/v1/namespaces", {"labelSelector": "kubernetes.io/metadata.name=blue", "shardSelector": LOWER}
    yield "/api/v1/namespaces", {"labelSelector": "kubernetes.io/metadata.name=blue", "shardSelector": UPPER}
    yield from ((MAPS, {"shardSelector": "bad", **more}) for more in _AND_SOMETHING_ELSE_WRONG)


_AND_SOMETHING_ELSE_WRONG: tuple[dict[str, str], ...] = (
    {"labelSelector": "!!"},
    {"fieldSelector": "spec.x=1"},
    {"limit": "x"},
    {"resourceVersion": "x"},
    {"resourceVersion": "99999999"},
    {"resourceVersionMatch": "x"},
    {"continue": "x"},
    {"watch": "1"},
    {"watch": "1", "resourceVersion": "x"},
)


def _map(name: str, **labels: str) -> Plain:
    return {"metadata": {"name": name, "labels": {"app": "shards", "name": name, **labels}}}


def _path(path: str, **query: str) -> str:
    return f"{path}?{urllib.parse.urlencode(query)}"


def _normal(found: Plain) -> Plain:
    """A list as its metadata and the names of its objects; a refusal as its message."""
    if found["kind"] == "Status":
        return {"code": found["code"], "reason": found.get("reason", ""), "message": found["message"]}
    meta = dict(found["metadata"])
    meta.pop("resourceVersion")
    if meta.get("continue"):
        meta["continue"] = json.loads(base64.b64decode(meta["continue"] + "=="))["start"]
    items = found["items"] if "items" in found else [row["object"] for row in found["rows"]]
    names = [f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}" for item in items or []]
    return {"kind": found["kind"], "metadata": meta, "items": names}


def main() -> None:
    """Record all responses of a real server anew."""
    from tests.conformance.target import real_target
    from tests.real_server import RestartableServer

    with TemporaryDirectory() as state, RestartableServer(Path(state), GATE) as running:
        with closing(ShardSession(real_target(running.server))) as session:
            session.prepare()
            answers = [{"selector": selector, "answer": session.answer(selector)} for selector in selectors()]
            outcomes = list(session.outcomes())
        version = running.server.call("GET", "/version")["gitVersion"]
    recording = {"version": version, "selectors": answers, "outcomes": outcomes}
    FILE.write_text(json.dumps(recording, indent=1, ensure_ascii=True) + "\n", "utf-8")
    print(f"{len(answers)} selectors and {len(outcomes)} responses in {FILE}", file=sys.stderr)


if __name__ == "__main__":
    main()
