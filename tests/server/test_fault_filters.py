"""Which requests a fault hits, how often, and faults that are rejected because they can never match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MAPS, Caller, config_map

if TYPE_CHECKING:
    from masthead.server import Server


@pytest.mark.parametrize(
    "where",
    [
        {"verb": "list"},
        {"verb": ("create", "list")},
        {"verb": "read"},
        {"group": ""},
        {"resource": "configmaps"},
        {"namespace": "default"},
        {"name": ""},
        {"subresource": ""},
        {"verb": "list", "resource": "configmaps", "namespace": "default"},
    ],
)
def test_a_fault_hits_requests_that_match_its_filters(server: Server, caller: Caller, where: dict[str, Any]) -> None:
    server.faults.fail(503, **where)

    assert caller.call("GET", MAPS).code == 503


@pytest.mark.parametrize(
    "where",
    [
        {"verb": "watch"},
        {"verb": "write"},
        {"group": "apps"},
        {"resource": "secrets"},
        {"namespace": "kube-system"},
        {"name": "a"},
        {"subresource": "status"},
        {"verb": "list", "resource": "configmaps", "namespace": "other"},
    ],
)
def test_a_request_must_match_every_filter(server: Server, caller: Caller, where: dict[str, Any]) -> None:
    fault = server.faults.fail(503, **where)

    assert caller.call("GET", MAPS).code == 200
    assert fault.hits == 0


def test_a_fault_hits_as_many_requests_as_times_says(server: Server, caller: Caller) -> None:
    fault = server.faults.fail(503, times=2)

    assert [caller.call("GET", MAPS).code for _ in range(3)] == [503, 503, 200]
    assert fault.hits == 2
    assert list(server.faults) == []


def test_a_fault_without_times_hits_until_it_is_removed(server: Server, caller: Caller) -> None:
    fault = server.faults.fail(503, times=None)

    assert {caller.call("GET", MAPS).code for _ in range(5)} == {503}
    fault.remove()
    assert caller.call("GET", MAPS).code == 200
    assert fault.hits == 5


def test_the_oldest_of_several_faults_hits_first(server: Server, caller: Caller) -> None:
    server.faults.fail(500)
    server.faults.fail(503)

    assert [caller.call("GET", MAPS).code for _ in range(3)] == [500, 503, 200]


def test_all_faults_can_be_removed_at_once(server: Server, caller: Caller) -> None:
    server.faults.fail(500, times=None)
    server.faults.drop_watch()

    server.faults.clear()

    assert caller.call("GET", MAPS).code == 200


@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        ({"verbs": "list"}, TypeError, "there is no filter 'verbs'"),
        ({"verb": "fetch"}, ValueError, "no verb 'fetch'"),
        ({"times": 0}, ValueError, "at least one request"),
        ({"resource": "pod"}, ValueError, "no resource 'pod'; the nearest is 'pods'"),
        ({"resource": "Deployment"}, ValueError, "no resource 'Deployment'; the nearest is 'deployments'"),
        ({"resource": "pods/status"}, ValueError, "use resource='pods', subresource='status'"),
        ({"resource": "zzz"}, ValueError, "no resource 'zzz'$"),
        ({"group": "app"}, ValueError, "no group 'app'; the nearest is 'apps'"),
        ({"group": "apps", "resource": "pods"}, ValueError, "no resource 'pods' in the group 'apps'"),
        ({"verb": ("list", "deletecollection"), "name": "a"}, ValueError, "names no object"),
    ],
)
def test_a_fault_that_can_never_match_is_rejected(
    server: Server, where: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        server.faults.fail(503, **where)


@pytest.mark.parametrize("code", [200, 399, 600])
def test_a_code_that_is_no_failure_is_rejected(server: Server, code: int) -> None:
    with pytest.raises(ValueError, match=f"between 400 and 599, not {code}"):
        server.faults.fail(code)


def test_invalid_numbers_are_rejected(server: Server) -> None:
    with pytest.raises(ValueError, match="not after -1"):
        server.faults.drop_watch(after=-1)
    with pytest.raises(ValueError, match=r"hold_bookmarks\(\)"):
        server.faults.repeat_bookmarks(0)
    with pytest.raises(ValueError, match="at least one revision behind"):
        server.faults.stale_lists(by=0)
    assert list(server.faults) == []


def test_faults_for_one_verb_accept_no_other(server: Server) -> None:
    faults = server.faults
    for add in (
        faults.expire_watch,
        faults.drop_watch,
        faults.cut_watch,
        faults.silence_watch,
        faults.hold_bookmarks,
        faults.repeat_bookmarks,
    ):
        with pytest.raises(ValueError, match="for the verb watch alone"):
            add(verb="list")
    with pytest.raises(ValueError, match="for lists and watches alone"):
        faults.stale_lists(verb="watch")


@pytest.mark.parametrize(
    ("group", "resource"), [("", "events"), ("events.k8s.io", "events"), ("apps", "deployments"), ("", "")]
)
def test_every_endpoint_can_be_made_to_fail(server: Server, group: str, resource: str) -> None:
    server.faults.fail(503, group=group, resource=resource)
    server.faults.fail(503, resource=resource)


def test_the_name_of_an_object_to_be_created_is_in_its_body(server: Server, caller: Caller) -> None:
    fault = server.faults.fail(503, resource="configmaps", name="b", times=None)

    assert [caller.call("POST", MAPS, config_map(name)).code for name in "ab"] == [201, 503]
    assert caller.call("POST", MAPS, {"metadata": {"generateName": "b"}}).code == 201
    assert caller.call("POST", MAPS, b"no json").code == 400
    assert caller.call("GET", MAPS).code == 200
    assert caller.call("GET", f"{MAPS}/b").code == 503
    assert fault.hits == 2


def test_the_name_of_an_object_in_protobuf_counts_too(server: Server, caller: Caller) -> None:
    def part(number: int, held: bytes) -> bytes:
        return bytes([number << 3 | 2, len(held)]) + held

    envelope = part(1, part(1, b"v1") + part(2, b"ConfigMap")) + part(2, part(1, part(1, b"b")))
    protobuf = "application/vnd.kubernetes.protobuf"
    server.faults.fail(503, verb="create", name="b")

    responses = [caller.call("POST", MAPS, b"k8s\0" + envelope, content_type=protobuf) for _ in range(2)]
    assert [response.code for response in responses] == [503, 201]


def test_a_create_matches_a_fault_for_collection_paths(server: Server, caller: Caller) -> None:
    server.faults.fail(503, verb="create", name="")

    assert caller.call("POST", MAPS, config_map("a")).code == 503
