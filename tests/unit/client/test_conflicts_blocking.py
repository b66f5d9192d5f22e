"""Concurrent updates and retries on conflict: the blocking façade, against the embedded server."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from masthead._auth.tokens import BearerToken
from masthead._client.base import ClientContext, Defaults
from masthead._client.resource import ResourceClient
from masthead._client.resource_target import typed_target
from masthead._meta.secret import Secret
from masthead._rest.client import RestClient
from masthead._sansio.backoff import Attempts
from masthead._sync.conflicts import RetryVerbs, retry_on, retry_on_conflict
from masthead._sync.portal import Portal
from masthead._transport.http import HttpTransport
from masthead.api.core.v1 import ConfigMap
from masthead.errors import AlreadyExistsError, ApplyConflictError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

AT_ONCE = Attempts(count=3, first=0.0, factor=1.0, jitter=0.0)


@contextmanager
def config_maps(server: Server, namespace: str | None = "default") -> Iterator[RetryVerbs[ConfigMap]]:
    portal = Portal()
    rest = RestClient(HttpTransport(server.url, tls=None), BearerToken(Secret(server.token or "")))
    portal.at_close(rest.close)
    try:
        yield RetryVerbs(portal, ResourceClient(ClientContext(rest, Defaults()), typed_target(ConfigMap), namespace))
    finally:
        portal.close()


def verbs(server: Server) -> list[str]:
    return [request.info.verb for request in server.requests]


def add_one(obj: ConfigMap) -> None:
    obj.data["count"] = str(int(obj.data.get("count", "0")) + 1)


class Flaky:
    """Fails some times, then returns how often it was called."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.times, self.calls = error, times, 0

    def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return self.calls


def test_an_apply_that_conflicts_with_other_managers_is_not_retried() -> None:
    flaky = Flaky(ApplyConflictError("owned"), 1)
    with pytest.raises(ApplyConflictError):
        retry_on_conflict(flaky, attempts=AT_ONCE)
    assert flaky.calls == 1


def test_only_conflicts_are_retried_and_the_last_is_raised() -> None:
    assert retry_on_conflict(Flaky(ConflictError("taken"), 2)) == 3
    assert retry_on(Flaky(KeyError("a"), 1), KeyError, attempts=AT_ONCE) == 2
    for error, times, expected in ((ConflictError("taken"), 9, 3), (AlreadyExistsError("there"), 1, 1)):
        flaky = Flaky(error, times)
        with pytest.raises(type(error)):
            retry_on_conflict(flaky, attempts=AT_ONCE)
        assert flaky.calls == expected


def test_a_change_is_repeated_in_the_callers_thread(kube_server: Server) -> None:
    threads: set[int] = set()

    def change(obj: ConfigMap) -> None:
        threads.add(threading.get_ident())
        add_one(obj)

    with config_maps(kube_server) as maps:
        maps.create_or_update(ConfigMap.new("a"))
        kube_server.faults.conflict(verb="update", times=2)
        assert maps.update_with_retry("a", change, attempts=AT_ONCE).data == {"count": "1"}
        assert maps.update_with_retry("a", lambda _: None).data == {"count": "1"}
        with pytest.raises(NotFoundError):
            maps.update_with_retry("b", change)
    assert threads == {threading.get_ident()}
    assert verbs(kube_server) == ["get", "create", *["get", "update"] * 3, "get", "get"]


def test_a_cached_object_is_copied_and_after_a_conflict_read_from_the_server(kube_server: Server) -> None:
    with config_maps(kube_server, None) as maps:
        cached, _ = maps.create_or_update(ConfigMap.new("a", namespace="default"))
        before = cached.to_json()
        maps.create_or_update(ConfigMap.new("a", namespace="default", data={"count": "5"}))
        assert maps.update_with_retry(lambda: cached, add_one).data == {"count": "6"}
        assert cached.to_json() == before


def test_an_object_is_created_then_left_alone_then_updated(kube_server: Server) -> None:
    with config_maps(kube_server) as maps:
        outcomes = [maps.create_or_update(ConfigMap.new("a", data={"b": value}))[1] for value in ("1", "1", "2")]
        assert outcomes == ["created", "unchanged", "updated"]
        assert maps.create_or_update(ConfigMap.new("a"), add_one)[1] == "updated"
        kube_server.faults.fail(404, reason="NotFound", verb="get")
        assert maps.create_or_update(ConfigMap.new("a"), add_one, attempts=AT_ONCE)[1] == "updated"
        kube_server.faults.fail(404, reason="NotFound", verb="update", times=None)
        with pytest.raises(ConflictError, match="was deleted after it was read"):
            maps.create_or_update(ConfigMap.new("a"), add_one, attempts=AT_ONCE)
