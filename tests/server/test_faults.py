"""Fault injection over real HTTP: each fault hits the requests that match, as the real failure would."""

from __future__ import annotations

import asyncio
import http.client
import json
import select
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, WATCH_LIST, Caller, config_map

import masthead.aio
import masthead.server
from masthead.api.core.v1 import ConfigMap
from masthead.config import Config
from masthead.errors import DeadlineError, ServiceUnavailableError
from masthead.testing.virtual_time import LoopClock, in_virtual_time, now

if TYPE_CHECKING:
    from masthead.server import Server


def create(caller: Caller, *names: str) -> list[str]:
    """Create config maps; returns their versions."""
    return [caller.call("POST", MAPS, config_map(name)).json["metadata"]["resourceVersion"] for name in names]


def next_event(stream: http.client.HTTPResponse) -> Any:
    return json.loads(stream.readline())


def rest_of(stream: http.client.HTTPResponse) -> bytes:
    """The rest of a stream whose connection breaks."""
    with pytest.raises(http.client.IncompleteRead) as broken:
        stream.read()
    return broken.value.partial


# Answers


def test_a_write_whose_response_is_lost_was_done(server: Server, caller: Caller) -> None:
    fault = server.faults.lose_response(resource="configmaps")

    with pytest.raises(ConnectionError):
        caller.call("POST", MAPS, config_map("a"))
    assert caller.call("GET", f"{MAPS}/a").code == 200
    assert fault.hits == 1


def test_reads_lose_their_responses_only_if_that_is_said(server: Server, caller: Caller) -> None:
    server.faults.lose_response()
    assert caller.call("GET", MAPS).code == 200
    server.faults.clear()
    server.faults.lose_response(verb="read")
    with pytest.raises(ConnectionError):
        caller.call("GET", MAPS)


def test_a_refused_write_may_lose_its_response_as_well(server: Server, caller: Caller) -> None:
    server.faults.lose_response()
    server.faults.fail(500)

    with pytest.raises(ConnectionError):
        caller.call("POST", MAPS, config_map("a"))
    assert caller.call("GET", f"{MAPS}/a").code == 404


@in_virtual_time
async def test_a_delayed_request_takes_its_time() -> None:
    async with (
        masthead.server.run(token=None, bootstrap=False, clock=LoopClock()) as server,
        masthead.aio.Client(Config(server=server.url)) as client,
    ):
        maps = client.core_v1.config_maps("default")
        server.faults.delay(30, verb="create")
        server.faults.fail(503, verb="create")
        with pytest.raises(ServiceUnavailableError):
            await maps.create(ConfigMap.new("a"))
        assert now() == 30
        server.faults.delay(100, verb="create")
        with pytest.raises(DeadlineError):
            await maps.create(ConfigMap.new("a"), timeout=10)
        await asyncio.sleep(100)
        assert (await maps.list()).items == []


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_delay_is_a_time(server: Server, seconds: float) -> None:
    with pytest.raises(ValueError, match="a delay is a number of seconds"):
        server.faults.delay(seconds)


def test_a_failed_request_has_no_effect(server: Server, caller: Caller) -> None:
    fault = server.faults.fail(503, verb="create", resource="configmaps")

    assert caller.call("POST", MAPS, config_map("a")).failure[:2] == (503, "ServiceUnavailable")
    assert caller.call("GET", f"{MAPS}/a").code == 404
    assert fault.hits == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [(500, "InternalError"), (502, ""), (503, "ServiceUnavailable"), (504, "Timeout"), (403, "Forbidden")],
)
def test_a_code_has_its_usual_reason(server: Server, caller: Caller, code: int, reason: str) -> None:
    server.faults.fail(code)

    assert caller.call("GET", MAPS).failure[:2] == (code, reason)


def test_reason_message_and_time_to_wait_can_be_chosen(server: Server, caller: Caller) -> None:
    server.faults.fail(429, reason="Mine", message="not now", retry_after=7)

    response = caller.call("GET", MAPS)

    assert response.failure == (429, "Mine", "not now")
    assert response.headers["retry-after"] == "7"
    assert response.json["details"] == {"retryAfterSeconds": 7}


def test_a_throttled_request_gets_a_line_of_text_and_a_time_to_wait(server: Server, caller: Caller) -> None:
    server.faults.throttle(retry_after=3)

    response = caller.call("GET", MAPS)

    assert (response.code, response.headers["retry-after"]) == (429, "3")
    assert response.body == b"Too many requests, please try again later.\n"
    assert response.content_type == "text/plain; charset=utf-8"


def test_a_watch_is_rejected_by_its_http_status(server: Server, caller: Caller) -> None:
    server.faults.fail(503, verb="watch")

    assert caller.call("GET", f"{MAPS}?watch=1").failure[:2] == (503, "ServiceUnavailable")


def test_non_resource_requests_can_fail_too(server: Server, caller: Caller) -> None:
    server.faults.fail(500, verb="get", resource="")

    assert caller.call("GET", "/version").code == 500
    assert caller.call("GET", "/version").code == 200


def test_faults_hit_authenticated_requests_only(server: Server) -> None:
    fault = server.faults.fail(503)

    stranger = Caller(server.url, "wrong")
    assert stranger.call("GET", MAPS).code == 401
    stranger.close()
    assert fault.hits == 0


# Conflicts


def test_a_conflict_names_the_object_of_the_request(server: Server, caller: Caller) -> None:
    body = {"metadata": {"name": "web"}, "spec": {}}
    fault = server.faults.conflict(resource="deployments", times=2)

    updated = caller.call("PUT", "/apis/apps/v1/namespaces/default/deployments/web", body)
    patched = caller.call(
        "PATCH", "/apis/apps/v1/namespaces/default/deployments/web/status", {}, content_type=MERGE_PATCH
    )

    message = (
        'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your '
        "changes to the latest version and try again"
    )
    assert updated.failure == patched.failure == (409, "Conflict", message)
    assert updated.json["details"] == {"name": "web", "group": "apps", "kind": "deployments"}
    assert fault.hits == 2


def test_a_conflict_does_nothing_and_spares_reads_creates_and_deletes(server: Server, caller: Caller) -> None:
    fault = server.faults.conflict()
    create(caller, "a")

    assert caller.call("GET", f"{MAPS}/a").code == 200
    assert caller.call("PUT", f"{MAPS}/a", config_map("a", data={"k": "v"})).code == 409
    assert "data" not in caller.call("GET", f"{MAPS}/a").json
    assert caller.call("PUT", f"{MAPS}/a", config_map("a", data={"k": "v"})).code == 200
    assert caller.call("DELETE", f"{MAPS}/a").code == 200
    assert fault.hits == 1


def test_a_conflict_of_a_create_is_already_exists(server: Server, caller: Caller) -> None:
    server.faults.conflict(verb="create")

    response = caller.call("POST", MAPS, config_map("a"))

    assert response.failure == (409, "AlreadyExists", 'configmaps "a" already exists')


# Versions


def test_an_expired_list_gets_a_410(server: Server, caller: Caller) -> None:
    server.faults.expire(resource="configmaps")

    response = caller.call("GET", f"{MAPS}?resourceVersion=3&resourceVersionMatch=Exact")

    assert response.failure == (410, "Expired", "The resourceVersion for the provided list is too old.")


def test_an_expired_page_has_a_token_to_continue_with(server: Server, caller: Caller) -> None:
    create(caller, "a", "b", "c")
    token = caller.call("GET", f"{MAPS}?limit=1").json["metadata"]["continue"]
    server.faults.expire()

    response = caller.call("GET", f"{MAPS}?limit=1&continue={token}")

    assert response.failure[:2] == (410, "Expired")
    fresh = response.json["metadata"]["continue"]
    rest = caller.call("GET", f"{MAPS}?continue={fresh}").json["items"]
    assert [each["metadata"]["name"] for each in rest] == ["b", "c"]


def test_an_expired_watch_gets_the_410_within_its_stream(server: Server, caller: Caller) -> None:
    server.faults.expire_watch()

    with caller.watching(f"{MAPS}?watch=1&resourceVersion=3") as stream:
        assert stream.status == 200
        event = next_event(stream)
        assert stream.readline() == b""

    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"] == f"too old resource version: 3 ({server.revision})"


def test_a_watch_can_expire_after_some_events(server: Server, caller: Caller) -> None:
    [version, *_] = create(caller, "a", "b", "c")
    server.faults.expire_watch(after=1)

    events = caller.events(f"{MAPS}?watch=1&resourceVersion={version}", 9)

    assert [event["type"] for event in events] == ["ADDED", "ERROR"]


def test_a_version_that_has_not_come_yet_is_named_with_the_newest(server: Server, caller: Caller) -> None:
    fault = server.faults.too_large_version(times=3)

    listed = caller.call("GET", f"{MAPS}?resourceVersion=3")
    read = caller.call("GET", f"{MAPS}/a")
    [event] = caller.events(f"{MAPS}?{WATCH_LIST}&resourceVersion=4", 9)

    newest = server.revision
    message = "Timeout: Too large resource version:"
    assert listed.failure == (504, "Timeout", f"{message} 3, current: {newest}")
    assert listed.headers["retry-after"] == "1"
    assert read.failure == (504, "Timeout", f"{message} {newest + 1}, current: {newest}")
    assert event["type"] == "ERROR"
    assert event["object"]["message"] == f"{message} 4, current: {newest}"
    assert event["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert fault.hits == 3


def test_compaction_makes_old_versions_expire(server: Server, caller: Caller) -> None:
    [version, newest] = create(caller, "a", "b")

    assert server.compact() == server.revision

    [event] = caller.events(f"{MAPS}?watch=1&resourceVersion={version}", 9)
    assert event["object"]["message"] == f"too old resource version: {version} ({newest})"
    exact = caller.call("GET", f"{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert exact.failure[:2] == (410, "Expired")


def test_stale_lists_are_sent_to_requests_for_any_version(server: Server, caller: Caller) -> None:
    [first, second] = create(caller, "a", "b")
    fault = server.faults.stale_lists(by=1, resource="configmaps")

    def names(query: str) -> list[str]:
        return [each["metadata"]["name"] for each in caller.call("GET", f"{MAPS}?{query}").json["items"]]

    assert names("resourceVersion=0") == ["a"]
    assert caller.call("GET", f"{MAPS}?resourceVersion=0").json["metadata"]["resourceVersion"] == first
    assert names(f"resourceVersion={second}") == ["a", "b"]
    assert names("") == ["a", "b"]
    fault.remove()
    assert names("resourceVersion=0") == ["a", "b"]


# Streams


def test_a_watch_is_dropped_after_so_many_events(server: Server, caller: Caller) -> None:
    [version, *_] = create(caller, "a", "b", "c", "d")
    fault = server.faults.drop_watch(after=2, resource="configmaps")

    with caller.watching(f"{MAPS}?watch=1&resourceVersion={version}") as stream:
        lines = rest_of(stream).splitlines()

    assert [json.loads(line)["object"]["metadata"]["name"] for line in lines] == ["b", "c"]
    assert fault.hits == 1


def test_a_watch_is_dropped_as_soon_as_the_last_event_was_sent(server: Server, caller: Caller) -> None:
    server.faults.drop_watch(after=1)

    with caller.watching(f"{MAPS}?watch=1&resourceVersion={server.revision}") as stream:
        create(caller, "a")
        assert json.loads(rest_of(stream))["type"] == "ADDED"


def test_a_watch_can_be_dropped_before_its_first_event(server: Server, caller: Caller) -> None:
    server.faults.drop_watch()

    with caller.watching(f"{MAPS}?watch=1") as stream:
        assert stream.status == 200
        assert rest_of(stream) == b""


def test_after_a_drop_a_client_resumes_its_watch(server: Server, caller: Caller) -> None:
    [version, second, _] = create(caller, "a", "b", "c")
    server.faults.drop_watch(after=1)
    with caller.watching(f"{MAPS}?watch=1&resourceVersion={version}") as stream:
        rest_of(stream)

    [event] = caller.events(f"{MAPS}?watch=1&resourceVersion={second}", 1)

    assert event["object"]["metadata"]["name"] == "c"


def test_a_watch_is_cut_in_the_middle_of_a_line(server: Server, caller: Caller) -> None:
    [version, *_] = create(caller, "a", "b", "c")
    server.faults.cut_watch(after=1)

    with caller.watching(f"{MAPS}?watch=1&resourceVersion={version}") as stream:
        whole, half = rest_of(stream).split(b"\n")

    assert json.loads(whole)["object"]["metadata"]["name"] == "b"
    assert half.startswith(b'{"type":"ADDED","object":{')
    with pytest.raises(ValueError, match=r"Unterminated|Expecting|delimiter"):
        json.loads(half)


def test_a_silenced_watch_stays_open_and_does_not_time_out(server: Server, caller: Caller) -> None:
    server.faults.silence_watch(after=1)
    query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion={server.revision}"
    with caller.watching(f"{MAPS}?{query}") as stream:
        create(caller, "a")
        assert next_event(stream)["type"] == "ADDED"
        create(caller, "b")
        server.block_until_idle()
        server.advance(3600)
        server.block_until_idle()
        readable, _, _ = select.select([stream.fileno()], [], [], 0)

    assert not readable


def test_a_watch_that_began_before_a_fault_is_spared(server: Server, caller: Caller) -> None:
    with caller.watching(f"{MAPS}?watch=1&resourceVersion={server.revision}") as stream:
        fault = server.faults.drop_watch()
        create(caller, "a")
        assert next_event(stream)["type"] == "ADDED"

    assert fault.hits == 0


# Bookmarks


def test_bookmarks_are_held_back_until_the_fault_is_removed(server: Server, caller: Caller) -> None:
    held = server.faults.hold_bookmarks(resource="configmaps")
    with caller.watching(f"{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion=5") as stream:
        server.block_until_idle()
        server.advance(150)
        [version] = create(caller, "a")
        server.block_until_idle()
        server.faults.fail(500).remove()  # which is none of its business
        held.remove()
        server.advance(31)
        server.block_until_idle()
        events = [next_event(stream) for _ in range(3)]

    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["resourceVersion"] == version
    assert held.hits == 2


def test_the_bookmark_that_ends_a_watch_list_can_be_held_back(server: Server, caller: Caller) -> None:
    create(caller, "a")
    held = server.faults.hold_bookmarks()
    with caller.watching(f"{MAPS}?{WATCH_LIST}") as stream:
        assert next_event(stream)["type"] == "ADDED"
        create(caller, "b")
        assert next_event(stream)["type"] == "ADDED"
        held.remove()
        last = next_event(stream)

    assert last["type"] == "BOOKMARK"
    assert last["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_bookmark_that_was_held_back_once_is_sent_with_the_next(server: Server, caller: Caller) -> None:
    server.faults.hold_bookmarks(times=1)
    with caller.watching(f"{MAPS}?{WATCH_LIST}") as stream:
        server.block_until_idle()
        server.advance(60)
        event = next_event(stream)

    assert event["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_bookmarks_can_come_more_than_once(server: Server, caller: Caller) -> None:
    fault = server.faults.repeat_bookmarks(3, times=1)
    with caller.watching(f"{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion=5") as stream:
        server.block_until_idle()
        server.advance(120)
        create(caller, "a")
        events = [next_event(stream) for _ in range(5)]

    assert [event["type"] for event in events] == ["BOOKMARK"] * 4 + ["ADDED"]
    assert fault.hits == 1
