"""Watch-lists of informers that are compared with plain lists."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from tests.unit.client.scripted import FakeResponse, FakeTransport, SentRequest, failure, reply, stream

from masthead._auth.tokens import AnonymousCredentials
from masthead._cache.informer.informer import SharedInformer
from masthead._client.base import ClientContext, Defaults
from masthead._client.resource import ResourceClient
from masthead._client.resource_target import typed_target
from masthead._rest.client import RestClient
from masthead.api.core.v1 import ConfigMap
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable


def config_map(name: str, version: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": version}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def end_of_initial_events(version: str) -> dict[str, object]:
    metadata = {"resourceVersion": version, "annotations": {"k8s.io/initial-events-end": "true"}}
    return {"type": "BOOKMARK", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}}


class ForgetfulServer:
    """A server whose watch cache lacks an object, or has an old version of it."""

    def __init__(self, *streamed: dict[str, object], refuses_lists: bool = False) -> None:
        self.network = FakeTransport(self._respond)
        self.refuses_lists = refuses_lists
        self._streamed = streamed

    def informer(
        self, *, checks: bool, transform: Callable[[ConfigMap], ConfigMap] | None = None
    ) -> SharedInformer[ConfigMap]:
        context = ClientContext(RestClient(self.network, AnonymousCredentials()), Defaults(check_watch_lists=checks))
        return SharedInformer(ResourceClient(context, typed_target(ConfigMap), "default"), transform=transform)

    @property
    def lists(self) -> list[str]:
        return [sent.query.get("resourceVersionMatch", "") for sent in self.network.sent if not sent.is_watch]

    def _respond(self, request: SentRequest) -> FakeResponse:
        if request.is_watch:
            initial = [{"type": "ADDED", "object": obj} for obj in self._streamed]
            is_initial = "sendInitialEvents" in request.query
            return stream(*initial, end_of_initial_events("9")) if is_initial else stream()
        if self.refuses_lists:
            return reply(failure(500, "InternalError"), status=500)
        items = [config_map("a", "5"), config_map("b", "7")]
        return reply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMapList",
                "metadata": {"resourceVersion": "9"},
                "items": items,
            }
        )


FAULTY = pytest.mark.parametrize(
    "streamed",
    [[config_map("a", "5")], [config_map("a", "5"), config_map("b", "6")]],
    ids=["an object is missing", "an object is old"],
)


@FAULTY
@in_virtual_time
async def test_a_watch_list_that_differs_from_a_plain_list_is_reported_and_not_stored(
    streamed: list[dict[str, object]], caplog: pytest.LogCaptureFixture
) -> None:
    server = ForgetfulServer(*streamed)
    async with server.informer(checks=True) as informer:
        await informer.wait_for_cache_sync(60)
        assert {obj.key: obj.metadata.resource_version for obj in informer.lister.list()} == {
            "default/a": "5",
            "default/b": "7",
        }
        assert informer.health.last_error.startswith("InconsistentListError")
    assert "watch-list of configmaps at version 9: 1 objects are not as a plain list has them: default/b" in caplog.text
    assert server.lists[0] == "Exact"


@FAULTY
@in_virtual_time
async def test_watch_lists_are_compared_only_if_the_client_enables_it(
    streamed: list[dict[str, object]],
) -> None:
    server = ForgetfulServer(*streamed)
    async with server.informer(checks=False) as informer:
        await informer.wait_for_cache_sync(60)
        assert len(informer.lister.list()) == len(streamed)
    assert server.lists == []


def mark(obj: ConfigMap) -> ConfigMap:
    obj.metadata.labels = {"transformed": "true"}
    return obj


@pytest.mark.parametrize("transform", [None, mark], ids=["as it comes", "transformed"])
@in_virtual_time
async def test_a_consistent_watch_list_is_stored_immediately(
    caplog: pytest.LogCaptureFixture, transform: Callable[[ConfigMap], ConfigMap] | None
) -> None:
    server = ForgetfulServer(config_map("b", "7"), config_map("a", "5"))
    async with server.informer(checks=True, transform=transform) as informer:
        await informer.wait_for_cache_sync(1)
        assert len(informer.lister.list()) == 2
        assert informer.health.last_error == ""
    assert server.lists == ["Exact"]
    assert caplog.records == []


@in_virtual_time
async def test_a_watch_list_that_cannot_be_compared_is_stored(caplog: pytest.LogCaptureFixture) -> None:
    server = ForgetfulServer(config_map("a", "5"), refuses_lists=True)
    with caplog.at_level(logging.WARNING, "masthead.cache"):
        async with server.informer(checks=True) as informer:
            await informer.wait_for_cache_sync(60)
            assert len(informer.lister.list()) == 1
    assert "configmaps of the API server: the watch-list is not compared" in caplog.text
