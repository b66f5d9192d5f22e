"""Under any sequence of requests, the server behaves like a model of a few dozen lines."""

from __future__ import annotations

import base64
import itertools
import json
import urllib.parse
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.server.calls import JSON_PATCH, MERGE_PATCH, Caller, CallResponse, config_map
from tests.server.model import Key, Model, Plain, Refused

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead.server import Server

NOW = "2026-01-01T00:00:00Z"
SELECTORS = ("", "", "app=web", "app=db")
EXPIRED = "The provided continue parameter is too old to display a consistent list result. "

names = st.sampled_from("abc")
sides = st.sampled_from([0, 0, 1])
labels = st.sampled_from([None, None, {"app": "web"}, {"app": "db"}])
data = st.sampled_from([None, {"a": "1"}, {"a": "2"}, {"b": "1"}])
finalizers = st.sampled_from([None, None, ["example.com/one"], ["example.com/one", "example.com/two"]])
selectors = st.sampled_from(SELECTORS)


class Page(NamedTuple):
    """A list that was read in part."""

    namespace: str
    selector: str
    version: int
    last: str
    token: str


class ServerMachine(RuleBasedStateMachine):
    """Does the same to a server and to the model, and compares the responses."""

    server: ClassVar[Server]
    caller: ClassVar[Caller]
    numbers: ClassVar[Iterator[int]] = itertools.count()

    @initialize()
    def begin(self) -> None:
        number = next(self.numbers)
        self.namespaces = [f"model-{number}-{side}" for side in "ab"]
        for name in self.namespaces:
            response = self.caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
            assert response.code == 201
        self.first = self.server.revision
        self.model = Model(self.first, NOW)
        self.versions = [self.first]
        self.pages: list[Page] = []
        self.uids: set[str] = set()
        self.live = [self.caller.connect() for _ in self.namespaces]
        for connection, namespace in zip(self.live, self.namespaces, strict=True):
            connection.request("GET", f"{maps(namespace)}?watch=true&resourceVersion={self.first}")
        self.streams = [connection.getresponse() for connection in self.live]

    # Writes.

    @rule(side=sides, name=names, labels=labels, data=data, finalizers=finalizers)
    def create(self, side: int, name: str, labels: object, data: object, finalizers: object) -> None:
        key = self.namespaces[side], name
        sent = made(name, labels=labels, data=data, finalizers=finalizers)
        response = self.caller.call("POST", maps(key[0]), sent)
        uid = response.json["metadata"].get("uid", "")
        self.compare(response, 201, lambda: self.model.create(key, sent, uid))
        if response.code == 201:
            assert uid not in self.uids
            self.uids.add(uid)

    @rule(
        side=sides,
        name=names,
        labels=labels,
        data=data,
        finalizers=finalizers,
        version=st.sampled_from(["right", "right", "none", "stale"]),
    )
    def update(self, side: int, name: str, labels: object, data: object, finalizers: object, version: str) -> None:
        key = self.namespaces[side], name
        sent = made(name, labels=labels, data=data, finalizers=finalizers)
        sent["metadata"] |= self.version_of(key, version)
        response = self.caller.call("PUT", f"{maps(key[0])}/{name}", sent)
        self.compare(response, 200, lambda: self.model.update(key, sent))

    @rule(
        side=sides,
        name=names,
        labels=st.none() | labels,
        data=data,
        finalizers=finalizers,
        version=st.sampled_from(["none", "right", "stale"]),
    )
    def patch(self, side: int, name: str, labels: object, data: object, finalizers: object, version: str) -> None:
        key = self.namespaces[side], name
        meta = {"labels": labels, "finalizers": finalizers, **self.version_of(key, version)}
        patch: Plain = {"metadata": meta, "data": data}
        response = self.caller.call("PATCH", f"{maps(key[0])}/{name}", patch, content_type=MERGE_PATCH)
        self.compare(response, 200, lambda: self.model.patch(key, patch))

    @rule(side=sides, name=names, value=st.sampled_from(["1", "2"]))
    def patch_if(self, side: int, name: str, value: str) -> None:
        """A JSON patch whose test decides."""
        key = self.namespaces[side], name
        operations = [
            {"op": "test", "path": "/data/a", "value": value},
            {"op": "replace", "path": "/data/a", "value": "3"},
        ]
        response = self.caller.call("PATCH", f"{maps(key[0])}/{name}", operations, content_type=JSON_PATCH)
        present = self.model.objects.get(key)
        if present is None or present.get("data", {}).get("a") == value:
            self.compare(response, 200, lambda: self.model.patch(key, {"data": {"a": "3"}}))
        else:
            assert response.failure[:2] == (422, "Invalid")

    @rule(
        side=sides,
        name=names,
        uid=st.sampled_from(["none", "none", "right", "stale"]),
        version=st.sampled_from(["none", "none", "right", "stale"]),
    )
    def delete(self, side: int, name: str, uid: str, version: str) -> None:
        key = self.namespaces[side], name
        conditions = {**self.version_of(key, version), **self.uid_of(key, uid)}
        body = {"preconditions": conditions} if conditions else None
        response = self.caller.call("DELETE", f"{maps(key[0])}/{name}", body)
        present = self.model.objects.get(key)

        def model() -> Plain | None:
            left = self.model.delete(key, uid=conditions.get("uid"), version=conditions.get("resourceVersion"))
            return left if left is not None or present is None else gone(name, present)

        self.compare(response, 200, model)

    @rule(side=sides, selector=selectors)
    def delete_collection(self, side: int, selector: str) -> None:
        namespace = self.namespaces[side]
        chosen = self.model.select(namespace, selector, self.model.version)
        response = self.caller.call("DELETE", f"{maps(namespace)}?{query(labelSelector=selector)}")
        assert response.code == 200
        assert items(response) == chosen
        for found in chosen:
            self.model.delete((namespace, found["metadata"]["name"]))
        self.versions.append(self.model.version)

    # Reads.

    @rule(side=sides, name=names)
    def get(self, side: int, name: str) -> None:
        key = self.namespaces[side], name
        self.compare(self.caller.call("GET", f"{maps(key[0])}/{name}"), 200, lambda: self.model.find(key))

    @rule(side=sides, selector=selectors, limit=st.integers(0, 2))
    def list_first_page(self, side: int, selector: str, limit: int) -> None:
        namespace = self.namespaces[side]
        response = self.caller.call("GET", f"{maps(namespace)}?{query(labelSelector=selector, limit=limit)}")
        assert response.json["metadata"]["resourceVersion"] == str(self.model.version)
        wanted = self.model.select(namespace, selector, self.model.version)
        self.check_page(response, Page(namespace, selector, self.model.version, "", ""), wanted, limit)

    @precondition(lambda self: self.pages)
    @rule(pick=st.integers(0, 100), limit=st.integers(0, 2))
    def list_next_page(self, pick: int, limit: int) -> None:
        page = self.pages.pop(pick % len(self.pages))
        path = f"{maps(page.namespace)}?{query(labelSelector=page.selector, limit=limit)}&continue={page.token}"
        response = self.caller.call("GET", path)
        if 0 < page.version < self.model.compacted:
            self.check_expired(response, page)
            return
        version = page.version if page.version > 0 else self.model.version
        assert response.json["metadata"]["resourceVersion"] == str(version)
        wanted = self.model.select(page.namespace, page.selector, version, after=page.last)
        self.check_page(response, page._replace(version=version), wanted, limit)

    @rule(side=sides, selector=selectors, pick=st.integers(0, 100))
    def list_the_past(self, side: int, selector: str, pick: int) -> None:
        namespace, version = self.namespaces[side], self.versions[pick % len(self.versions)]
        parameters = query(labelSelector=selector, resourceVersion=version, resourceVersionMatch="Exact")
        response = self.caller.call("GET", f"{maps(namespace)}?{parameters}")
        if version < self.model.compacted:
            message = "The resourceVersion for the provided list is too old."
            assert response.failure == (410, "Expired", message)
            return
        assert response.json["metadata"] == {"resourceVersion": str(version)}
        assert items(response) == self.model.select(namespace, selector, version)

    @rule(side=sides, selector=selectors, pick=st.integers(0, 100))
    def watch(self, side: int, selector: str, pick: int) -> None:
        namespace, version = self.namespaces[side], self.versions[pick % len(self.versions)]
        path = f"{maps(namespace)}?watch=true&{query(labelSelector=selector, resourceVersion=version)}"
        if version < self.model.compacted:
            events = self.caller.events(path, 2)
            assert [event["type"] for event in events] == ["ERROR"]
            message = f"too old resource version: {version} ({self.model.compacted})"
            assert (events[0]["object"]["code"], events[0]["object"]["message"]) == (410, message)
            return
        with self.caller.watching(path) as stream:
            self.mark_the_end(namespace, selector)
            self.check_stream(stream, self.model.events(namespace, selector, version))

    @rule(side=sides, selector=selectors)
    def watch_from_the_state(self, side: int, selector: str) -> None:
        namespace = self.namespaces[side]
        version = self.model.version
        state = self.model.select(namespace, selector, version)
        path = f"{maps(namespace)}?watch=true&{query(labelSelector=selector)}"
        with self.caller.watching(path) as stream:
            self.mark_the_end(namespace, selector)
            self.check_stream(
                stream,
                [("ADDED", each) for each in state] + self.model.events(namespace, selector, version),
            )

    @rule()
    def compact(self) -> None:
        # A watch with unsent events would be cut off, as one that is too slow.
        self.server.block_until_idle()
        self.model.compacted = self.server.compact()
        assert self.model.compacted == self.model.version

    @invariant()
    def versions_go_up_by_one(self) -> None:
        if hasattr(self, "model"):
            assert self.server.revision == self.model.version

    def teardown(self) -> None:
        if not hasattr(self, "streams"):
            return
        for stream, connection, namespace in zip(self.streams, self.live, self.namespaces, strict=True):
            self.mark_the_end(namespace, "")
            self.check_stream(stream, self.model.events(namespace, "", self.first))
            connection.close()

    # How the responses are compared.

    def compare(self, response: CallResponse, code: int, act: Callable[[], Any]) -> None:
        wanted: object
        try:
            wanted = act()
            found = (response.json, response.code == code)
        except Refused as refused:
            wanted, found = refused.failure, (response.failure, True)
        assert found == (wanted, True)
        self.versions.append(self.model.version)

    def check_page(self, response: CallResponse, page: Page, wanted: list[Plain], limit: int) -> None:
        assert response.code == 200
        shown = wanted[:limit] if limit else wanted
        later: list[Plain] = []
        if limit and len(shown) == limit:
            # A full page leads to another if anything comes after it, selected or not.
            last = shown[-1]["metadata"]["name"]
            later = self.model.select(page.namespace, "", page.version, after=last)
            page = page._replace(last=last)
        meta = response.json["metadata"]
        assert items(response) == shown
        assert ("continue" in meta) == bool(later)
        assert meta.get("remainingItemCount") == (len(later) if later and not page.selector else None)
        if later:
            self.pages.append(page._replace(token=meta["continue"]))

    def check_expired(self, response: CallResponse, page: Page) -> None:
        """The error has a continue token for an inconsistent continuation at any version."""
        code, reason, message = response.failure
        assert (code, reason) == (410, "Expired")
        assert message.startswith(EXPIRED)
        token = response.json["metadata"]["continue"]
        assert json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))["rv"] == -1
        self.pages.append(page._replace(version=-1, token=token))

    def mark_the_end(self, namespace: str, selector: str) -> None:
        """Make a write that every watch of the selection is sent, and revert it."""
        name, _, value = selector.partition("=")
        sent = made("zz", labels={name: value} if selector else None)
        response = self.caller.call("POST", maps(namespace), sent)
        self.compare(
            response,
            201,
            lambda: self.model.create((namespace, "zz"), sent, response.json["metadata"]["uid"]),
        )
        response = self.caller.call("DELETE", f"{maps(namespace)}/zz")
        assert response.code == 200
        self.model.delete((namespace, "zz"))

    def check_stream(self, stream: Any, wanted: list[tuple[str, Plain]]) -> None:
        assert stream.status == 200
        events = [json.loads(stream.readline()) for _ in wanted]
        assert [(event["type"], event["object"]) for event in events] == wanted

    def version_of(self, key: Key, which: str) -> dict[str, str]:
        present = self.model.objects.get(key)
        if which == "none":
            return {}
        if which == "stale" or present is None:
            return {"resourceVersion": str(self.first)}
        return {"resourceVersion": present["metadata"]["resourceVersion"]}

    def uid_of(self, key: Key, which: str) -> dict[str, str]:
        present = self.model.objects.get(key)
        if which == "none":
            return {}
        return {"uid": "stale" if which == "stale" or present is None else present["metadata"]["uid"]}


def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def query(**parameters: object) -> str:
    return urllib.parse.urlencode({key: value for key, value in parameters.items() if value})


def made(name: str, **parts: object) -> Plain:
    return config_map(name, **{key: value for key, value in parts.items() if value is not None})


def gone(name: str, found: Plain) -> Plain:
    """The response to a deletion that was completed at once."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": name, "kind": "configmaps", "uid": found["metadata"]["uid"]},
    }


def items(response: CallResponse) -> list[Plain]:
    """A list's items, each as it would be alone."""
    listed = response.json
    assert listed["kind"] == "ConfigMapList"
    return [{"kind": "ConfigMap", "apiVersion": "v1", **each} for each in listed["items"]]


@pytest.fixture(scope="module")
def _server() -> Iterator[None]:
    clock = masthead.server.VirtualClock()
    with masthead.server.run(token=None, clock=clock, controllers=False) as server:
        ServerMachine.server = server
        ServerMachine.caller = Caller(server.url)
        yield
        ServerMachine.caller.close()


@pytest.mark.slow
@pytest.mark.usefixtures("_server")
def test_a_server_behaves_as_the_model_does() -> None:
    run_state_machine_as_test(ServerMachine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None))
