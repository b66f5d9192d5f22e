"""Writes that wait for a webhook while other requests change the same object, its namespace or its definition."""

from __future__ import annotations

import http.client
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import APPLY_PATCH, MERGE_PATCH, Caller, CallResponse
from tests.server.conversion_webhook import ConversionWebhook
from tests.server.custom_definitions import DEFINITIONS, NAME, WIDGETS, define, version_of, widget
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Plain = dict[str, Any]

NEWER = WIDGETS.replace("/v1/", "/v2/")
DEFAULTED = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"size": {"type": "integer", "default": 3}},
        }
    },
}


@pytest.fixture
def webhook() -> Iterator[ConversionWebhook]:
    with ConversionWebhook() as running:
        yield running


@pytest.fixture
def other(cluster: QuietCluster) -> Iterator[Caller]:
    caller = Caller(cluster.server.url)
    yield caller
    caller.close()


def once(webhook: ConversionWebhook, act: Callable[[], object]) -> None:
    """Let another request happen while the next conversion runs."""

    def change(_: Plain) -> None:
        webhook.change = lambda _: None
        act()

    webhook.change = change


def merge(caller: Caller, path: str, body: Plain) -> CallResponse:
    return caller.call("PATCH", path, body, content_type=MERGE_PATCH)


def test_a_patch_is_repeated_on_the_object_that_another_write_stored(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))
    once(webhook, lambda: merge(other, f"{WIDGETS}/a", {"spec": {"size": 1}}))

    cluster.call("PATCH", f"{NEWER}/a", {"spec": {"shape": "round"}}, content_type=MERGE_PATCH)

    spec = cluster.call("GET", f"{WIDGETS}/a")["spec"]
    assert (spec["size"], spec["shape"]) == (1, "round")


def test_a_write_with_a_resource_version_conflicts_with_a_write_during_its_conversion(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    made = cluster.call("POST", WIDGETS, widget(spec={"color": "red"}))
    once(webhook, lambda: merge(other, f"{WIDGETS}/a", {"spec": {"size": 1}}))
    meta = {"resourceVersion": made["metadata"]["resourceVersion"]}

    response = cluster.caller.call("PUT", f"{NEWER}/a", widget(version="v2", metadata=meta, spec={"shape": "round"}))

    assert response.failure[:2] == (409, "Conflict")
    assert cluster.call("GET", f"{WIDGETS}/a")["spec"] == {"color": "red", "size": 1}


def test_a_patch_of_an_object_that_is_deleted_meanwhile_finds_none(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    cluster.call("POST", WIDGETS, widget())
    once(webhook, lambda: other.call("DELETE", f"{WIDGETS}/a"))

    response = merge(cluster.caller, f"{NEWER}/a", {"spec": {"shape": "round"}})

    assert response.failure[:2] == (404, "NotFound")
    assert not cluster.is_there(f"{WIDGETS}/a")


def test_a_deletion_with_a_precondition_fails_after_a_write_during_its_conversion(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    made = cluster.call("POST", WIDGETS, widget())
    once(webhook, lambda: merge(other, f"{WIDGETS}/a", {"spec": {"size": 1}}))
    options = {"preconditions": {"resourceVersion": made["metadata"]["resourceVersion"]}}

    response = cluster.caller.call("DELETE", f"{NEWER}/a", options)

    assert response.failure[:2] == (409, "Conflict")
    assert cluster.is_there(f"{WIDGETS}/a")


def test_of_two_creates_of_one_name_the_slower_is_refused(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    once(webhook, lambda: other.call("POST", WIDGETS, widget(spec={"color": "red"})))

    response = cluster.caller.call("POST", NEWER, widget(version="v2", spec={"color": "blue"}))

    assert response.failure[:2] == (409, "AlreadyExists")
    assert cluster.call("GET", f"{WIDGETS}/a")["spec"] == {"color": "red"}


def test_an_apply_that_creates_merges_into_an_object_created_meanwhile(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    once(webhook, lambda: other.call("POST", WIDGETS, widget(spec={"size": 1})))

    query = "?fieldManager=tests&force=true"
    config = widget(version="v2", spec={"shape": "round"})
    cluster.call("PATCH", f"{NEWER}/a{query}", config, content_type=APPLY_PATCH)

    spec = cluster.call("GET", f"{WIDGETS}/a")["spec"]
    assert (spec["size"], spec["shape"]) == (1, "round")


def test_nothing_is_created_in_a_namespace_that_is_deleted_meanwhile(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "short-lived"}})

    inside = NEWER.replace("/default/", "/short-lived/")
    once(webhook, lambda: other.call("DELETE", "/api/v1/namespaces/short-lived"))

    response = cluster.caller.call("POST", inside, widget(version="v2"))

    assert response.code in {403, 404}, response.body
    assert cluster.call("GET", "/apis/example.com/v1/widgets")["items"] == []


def test_nothing_is_created_of_a_definition_that_is_deleted_meanwhile(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    once(webhook, lambda: other.call("DELETE", f"{DEFINITIONS}/{NAME}"))

    response = cluster.caller.call("POST", NEWER, widget(version="v2"))

    assert response.code in {403, 404, 405}, response.body
    cluster.server.block_until_idle()
    define(cluster, version_of())
    assert cluster.call("GET", WIDGETS)["items"] == []


def test_an_object_gets_the_defaults_of_a_definition_that_changes_meanwhile(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    versions = [version_of(schema=DEFAULTED), version_of("v2", DEFAULTED)]
    once(webhook, lambda: merge(other, f"{DEFINITIONS}/{NAME}", {"spec": {"versions": versions}}))

    cluster.call("POST", NEWER, widget(version="v2", spec={"color": "red"}))

    assert cluster.call("GET", f"{WIDGETS}/a")["spec"]["size"] == 3


def test_a_collection_is_deleted_although_another_request_deletes_a_part_of_it(
    cluster: QuietCluster, webhook: ConversionWebhook, other: Caller
) -> None:
    define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
    for name in ("a", "b", "c"):
        cluster.call("POST", WIDGETS, widget(name))
    once(webhook, lambda: other.call("DELETE", f"{WIDGETS}/b"))

    cluster.call("DELETE", NEWER)

    assert cluster.call("GET", WIDGETS)["items"] == []


def test_a_server_stops_while_a_write_waits_and_stores_nothing_of_it(
    webhook: ConversionWebhook, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    called, may_return = threading.Event(), threading.Event()

    def block(_: Plain) -> None:
        called.set()
        may_return.wait(60)

    with masthead.server.run(clock=VirtualClock, token=None, bootstrap=False, data=store) as server:
        cluster = QuietCluster(server)
        define(cluster, version_of(), version_of("v2"), conversion=webhook.conversion())
        webhook.change = block
        outcome: list[object] = []

        def write() -> None:
            caller = Caller(server.url)
            try:
                outcome.append(caller.call("POST", NEWER, widget(version="v2")).code)
            except (OSError, http.client.HTTPException) as error:
                outcome.append(error)
            caller.close()

        writer = threading.Thread(target=write)
        writer.start()
        assert called.wait(60)
        cluster.caller.close()
    # The server has stopped, and the webhook still blocks.
    may_return.set()
    writer.join(60)
    assert outcome
    assert outcome != [201]

    with masthead.server.run(clock=VirtualClock, token=None, bootstrap=False, data=store) as server:
        cluster = QuietCluster(server)
        assert cluster.call("GET", WIDGETS)["items"] == []
        cluster.caller.close()
