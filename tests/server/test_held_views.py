"""Faults that hold views back: frozen revisions, held events, silence that ends, and the clients that they are for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.calls import MAPS, MERGE_PATCH, WATCH_LIST, Caller, config_map

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    import http.client

    from masthead.server import Fault, Server

_FIRST = {"X-Masthead-Client": "first"}
_RECONCILE = {**_FIRST, "X-Masthead-Reconcile": "maps default/a 1"}
_BOOKMARKS = "allowWatchBookmarks=true"


def create(caller: Caller, *names: str) -> int:
    """Create config maps; returns the last version."""
    versions = [caller.call("POST", MAPS, config_map(name)).json["metadata"]["resourceVersion"] for name in names]
    return int(versions[-1])


def change(caller: Caller, name: str) -> int:
    """Change a config map; returns its version."""
    patched = caller.call("PATCH", f"{MAPS}/{name}", {"data": {"x": name}}, content_type=MERGE_PATCH)
    return int(patched.json["metadata"]["resourceVersion"])


def read_events(stream: http.client.HTTPResponse, count: int) -> list[tuple[str, str]]:
    """The type and the name of the next events; the version of a bookmark."""
    events: list[Any] = [json.loads(stream.readline()) for _ in range(count)]
    return [
        (event["type"], event["object"]["metadata"].get("name") or event["object"]["metadata"]["resourceVersion"])
        for event in events
    ]


def listed(caller: Caller, query: str = "", headers: dict[str, str] | None = None) -> tuple[list[str], int]:
    """The names and the version of a list."""
    found = caller.call("GET", f"{MAPS}?{query}", headers=headers).json
    return [item["metadata"]["name"] for item in found["items"]], int(found["metadata"]["resourceVersion"])


@pytest.mark.parametrize("query", ["", "resourceVersion=0", "limit=5"])
def test_a_frozen_list_shows_the_state_of_its_revision(server: Server, caller: Caller, query: str) -> None:
    revision = create(caller, "a", "b")
    frozen = server.faults.freeze(resource="configmaps")
    caller.call("DELETE", f"{MAPS}/a")
    create(caller, "c")

    assert listed(caller, query) == (["a", "b"], revision)
    assert frozen.hits == 1
    frozen.remove()
    assert listed(caller, query) == (["b", "c"], server.revision)


def test_a_frozen_list_of_a_later_version_fails(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    server.faults.freeze(resource="configmaps")
    later = create(caller, "b")

    failure = caller.call("GET", f"{MAPS}?resourceVersion={later}").failure
    assert failure[0] == 504
    assert failure[2] == f"Timeout: Too large resource version: {later}, current: {revision}"
    [event] = caller.events(f"{MAPS}?{WATCH_LIST}&resourceVersion={later}", 1)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    assert listed(caller, f"resourceVersion={revision}&resourceVersionMatch=Exact") == (["a"], revision)


def test_a_view_may_be_frozen_at_an_earlier_revision(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    create(caller, "b")
    server.faults.freeze(revision, resource="configmaps")

    assert listed(caller) == (["a"], revision)


def test_reads_by_name_writes_and_reconciles_see_the_present(server: Server, caller: Caller) -> None:
    create(caller, "a")
    server.faults.freeze()
    create(caller, "b")

    assert caller.call("GET", f"{MAPS}/b").code == 200
    assert listed(caller, headers=_RECONCILE) == (["a", "b"], server.revision)
    assert listed(caller)[0] == ["a"]


def test_a_frozen_view_is_for_one_client_and_resource(server: Server, caller: Caller) -> None:
    create(caller, "a")
    server.faults.freeze(resource="configmaps", client="first")
    create(caller, "b")

    assert listed(caller)[0] == ["a", "b"]
    assert listed(caller, headers=_FIRST)[0] == ["a"]
    namespaces = caller.call("GET", "/api/v1/namespaces", headers=_FIRST).json
    assert int(namespaces["metadata"]["resourceVersion"]) == server.revision


def test_an_open_watch_sends_what_it_missed_when_its_view_thaws(server: Server, caller: Caller) -> None:
    create(caller, "a")
    with caller.watching(f"{MAPS}?watch=1&{_BOOKMARKS}") as stream:
        read_events(stream, 2)  # with the bookmark that ends the initial events
        frozen = server.faults.freeze(resource="configmaps")
        revision = server.revision
        create(caller, "b")
        caller.call("DELETE", f"{MAPS}/a")
        server.block_until_idle()
        server.advance(60)
        assert read_events(stream, 1) == [("BOOKMARK", str(revision))]
        assert frozen.hits == 1
        frozen.remove()

        assert read_events(stream, 2) == [("ADDED", "b"), ("DELETED", "a")]


def test_a_watch_that_has_passed_the_frozen_revision_is_silent(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    later = create(caller, "b")
    with caller.watching(f"{MAPS}?watch=1&resourceVersion={later}&{_BOOKMARKS}") as stream:
        frozen = server.faults.freeze(revision, resource="configmaps")
        change(caller, "a")
        server.advance(60)
        server.block_until_idle()
        frozen.remove()
        assert read_events(stream, 1) == [("MODIFIED", "a")]


def test_a_frozen_watch_list_ends_its_initial_events_at_the_revision(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    frozen = server.faults.freeze(resource="configmaps")
    create(caller, "b")
    with caller.watching(f"{MAPS}?{WATCH_LIST}") as stream:
        assert read_events(stream, 2) == [("ADDED", "a"), ("BOOKMARK", str(revision))]
        frozen.remove()
        assert read_events(stream, 1) == [("ADDED", "b")]


def test_a_new_watch_of_a_frozen_view_waits(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    frozen = server.faults.freeze(resource="configmaps")
    later = create(caller, "b")
    create(caller, "c")
    with (
        caller.watching(f"{MAPS}?watch=1&resourceVersion={revision}") as behind,
        caller.watching(f"{MAPS}?watch=1&resourceVersion={later}") as ahead,
    ):
        server.block_until_idle()
        frozen.remove()
        assert read_events(behind, 2) == [("ADDED", "b"), ("ADDED", "c")]
        assert read_events(ahead, 1) == [("ADDED", "c")]


def test_a_frozen_revision_is_not_compacted_by_time(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    frozen = server.faults.freeze(resource="configmaps")
    create(caller, "b")
    server.advance(3600)

    assert listed(caller) == (["a"], revision)
    frozen.remove()
    server.advance(3600)
    with pytest.raises(ValueError, match="there is no revision"):
        server.faults.freeze(revision)


def test_history_bytes_limit_a_frozen_view() -> None:
    with masthead.server.run(clock=VirtualClock, bootstrap=False, token=None, history_bytes=20_000) as server:
        caller = Caller(server.url)
        create(caller, "a")
        server.faults.freeze(resource="configmaps")
        for number in range(200):
            caller.call("PATCH", f"{MAPS}/a", {"data": {"x": str(number)}}, content_type=MERGE_PATCH)

        assert caller.call("GET", MAPS).failure[0] == 410
        caller.close()


def test_events_are_held_from_the_first_that_matches(server: Server, caller: Caller) -> None:
    revision = create(caller, "a", "b")
    with caller.watching(f"{MAPS}?watch=1&resourceVersion={revision}&{_BOOKMARKS}") as stream:
        held = server.faults.hold_events("b", resource="configmaps")
        sent = change(caller, "a")
        change(caller, "b")
        create(caller, "c")
        server.advance(60)
        assert read_events(stream, 2) == [("MODIFIED", "a"), ("BOOKMARK", str(sent))]
        assert held.hits == 1
        held.remove()
        assert read_events(stream, 2) == [("MODIFIED", "b"), ("ADDED", "c")]


def test_events_are_held_after_a_revision(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    held = server.faults.hold_events(resource="configmaps", after_revision=revision + 1)
    with caller.watching(f"{MAPS}?watch=1&resourceVersion={revision}") as stream:
        create(caller, "b", "c")
        assert read_events(stream, 1) == [("ADDED", "b")]
        server.block_until_idle()
        held.remove()
        assert read_events(stream, 1) == [("ADDED", "c")]


def test_a_watch_that_ends_while_it_is_held_resumes_at_its_version(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    held = server.faults.hold_events(resource="configmaps")
    path = f"{MAPS}?watch=1&resourceVersion={revision}&timeoutSeconds=30"
    with caller.watching(path) as stream:
        create(caller, "b")
        server.block_until_idle()
        server.advance(30)
        assert stream.read() == b""
    held.remove()
    with caller.watching(path) as stream:
        assert read_events(stream, 1) == [("ADDED", "b")]


def test_events_of_other_namespaces_and_selections_are_not_held(server: Server, caller: Caller) -> None:
    create(caller, "a")
    held = server.faults.hold_events(namespace="kube-system", resource="configmaps")
    with caller.watching(f"{MAPS}?watch=1&resourceVersion={server.revision}") as stream:
        caller.call("POST", "/api/v1/namespaces/kube-system/configmaps", config_map("system"))
        create(caller, "b")
        assert read_events(stream, 1) == [("ADDED", "b")]
    assert not held.hits


def test_a_silenced_watch_goes_on_when_its_fault_is_removed(server: Server, caller: Caller) -> None:
    silence = server.faults.silence_watch(after=1, resource="configmaps")
    create(caller, "a", "b")
    with caller.watching(f"{MAPS}?watch=1&resourceVersion=0") as stream:
        assert read_events(stream, 1) == [("ADDED", "a")]
        server.block_until_idle()
        create(caller, "c")
        server.advance(60)
        silence.remove()
        assert read_events(stream, 2) == [("ADDED", "b"), ("ADDED", "c")]


def test_clearing_the_faults_releases_everything(server: Server, caller: Caller) -> None:
    server.faults.silence_watch(resource="configmaps")
    revision = server.revision
    with (
        caller.watching(f"{MAPS}?watch=1&resourceVersion={revision}") as silent,
        caller.watching(f"{MAPS}?watch=1&resourceVersion={revision}") as frozen,
    ):
        server.faults.freeze()
        create(caller, "a")
        server.block_until_idle()
        server.faults.clear()
        assert read_events(silent, 1) == read_events(frozen, 1) == [("ADDED", "a")]


def test_a_stale_watch_list_catches_up(server: Server, caller: Caller) -> None:
    revision = create(caller, "a")
    create(caller, "b")
    stale = server.faults.stale_lists(by=1, resource="configmaps")
    with caller.watching(f"{MAPS}?{WATCH_LIST}") as stream:
        assert read_events(stream, 2) == [("ADDED", "a"), ("ADDED", "b")]
        assert read_events(stream, 1)[0][0] == "BOOKMARK"
    assert stale.hits == 1
    assert listed(caller, "resourceVersion=0") == (["a"], revision)


@pytest.mark.parametrize("where", [{"skip": 2}, {"nth": 3}], ids=["skip", "nth"])
def test_a_fault_hits_the_nth_request(server: Server, caller: Caller, where: Any) -> None:
    server.faults.fail(503, resource="configmaps", verb="create", client="first", **where)
    created = [caller.call("POST", MAPS, config_map("other")).code]
    created += [caller.call("POST", MAPS, config_map(name), headers=_FIRST).code for name in "abcd"]

    assert created == [201, 201, 201, 503, 201]


def test_counted_requests_include_those_of_other_faults(server: Server, caller: Caller) -> None:
    server.faults.fail(500, resource="configmaps")
    server.faults.fail(503, resource="configmaps", nth=2)

    assert [caller.call("GET", MAPS).code for _ in range(3)] == [500, 503, 200]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"nth": 0}, "counted from 1"),
        ({"skip": -1}, "0 or more"),
        ({"skip": 1, "nth": 2}, "give one of them"),
    ],
    ids=["zeroth", "negative", "both"],
)
def test_a_count_that_could_never_hit_is_refused(server: Server, where: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        server.faults.fail(503, **where)


def test_views_have_no_filters_of_requests(server: Server) -> None:
    with pytest.raises(TypeError, match="there is no filter 'skip'"):
        server.faults.freeze(skip=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="there is no filter 'verb'"):
        server.faults.hold_events(verb="list")  # type: ignore[call-arg]


def test_a_test_waits_for_a_hit(server: Server, caller: Caller) -> None:
    fault = server.faults.fail(503, resource="configmaps", times=2)
    with pytest.raises(TimeoutError, match="hit no request within"):
        fault.block_until_hit(timeout=0.001)
    caller.call("GET", MAPS)
    fault.block_until_hit()
    assert fault.hits == 1


def test_faults_that_hit_nothing_are_known(server: Server, caller: Caller) -> None:
    hit = server.faults.fail(503, resource="configmaps")
    missed = server.faults.fail(503, resource="secrets")
    removed = server.faults.freeze(resource="pods")
    removed.remove()
    caller.call("GET", MAPS)

    assert hit.hits == 1
    assert server.faults.unhit() == [missed, removed]
    server.faults.clear()
    assert server.faults.unhit() == []


_NAMES = ("a", "b")
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write", "delete"]), st.sampled_from(_NAMES)),
        st.tuples(st.sampled_from(["freeze", "hold", "remove"]), st.sampled_from(["", *_NAMES])),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(steps=_STEPS, starts_with_state=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_watch_gets_every_event_once_and_in_order(
    server: Server, caller: Caller, steps: list[tuple[str, str]], *, starts_with_state: bool
) -> None:
    faults: list[Fault] = []
    for name in _NAMES:
        caller.call("DELETE", f"{MAPS}/{name}")
    server.block_until_idle()
    start = server.revision
    query = WATCH_LIST if starts_with_state else f"watch=1&resourceVersion={start}"
    with caller.watching(f"{MAPS}?{query}") as stream:
        for action, name in steps:
            match action:
                case "write":
                    if caller.call("POST", MAPS, config_map(name)).code != 201:
                        change(caller, name)
                case "delete":
                    caller.call("DELETE", f"{MAPS}/{name}")
                case "freeze":
                    faults.append(server.faults.freeze(resource="configmaps"))
                case "hold":
                    faults.append(server.faults.hold_events(name, resource="configmaps"))
                case _ if faults:
                    faults.pop(0).remove()
            server.block_until_idle()
        server.faults.clear()
        caller.call("POST", MAPS, config_map("end"))
        events: list[Any] = []
        while not events or events[-1]["object"]["metadata"].get("name") != "end":
            events.append(json.loads(stream.readline()))
    caller.call("DELETE", f"{MAPS}/end")

    sent = [int(event["object"]["metadata"]["resourceVersion"]) for event in events if event["type"] != "BOOKMARK"]
    assert sent == list(range(start + 1, start + 1 + len(sent)))
