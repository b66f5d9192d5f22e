"""Detection of own writes in requests and responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from masthead._controller.write_detection import own_writes_of
from masthead._rest.call import Call, Subject
from masthead._rest.response import Response
from masthead._sansio.own_writes import CachedVersion, ObjectChange, OwnWrite, is_echo, is_visible

PATH = "/api/v1/namespaces/default/services/web"
METADATA = {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7"}
DELETING = "2026-01-01T00:00:00Z"


def own_write(method: str, answer: dict[str, Any], status: int = 200, body: Any = None) -> OwnWrite | None:
    sent = None if body is None else json.dumps(body).encode()
    call = Call(method, PATH, Subject("delete", "services", "default", "web"), body=sent)
    found = own_writes_of(call, Response(status, json.dumps(answer).encode()))
    assert len(found) < 2
    return found[0] if found else None


REMOVAL = OwnWrite("services", "default/web", "u", None, "")


@pytest.mark.parametrize(
    "answer",
    [
        {"kind": "Status", "status": "Success", "details": {"uid": "u"}},
        {"kind": "Service", "metadata": METADATA},  # as it was
        {"kind": "Service", "metadata": {**METADATA, "deletionTimestamp": DELETING}},
    ],
    ids=["a status", "the object as it was", "the object with a deletion timestamp"],
)
def test_a_delete_is_detected_in_every_response(answer: dict[str, Any]) -> None:
    assert own_write("DELETE", answer) == REMOVAL


@pytest.mark.parametrize("left", [{"finalizers": ["a/b"]}, {"deletionGracePeriodSeconds": 30}])
def test_a_delete_that_has_to_wait_only_changes_the_object(left: dict[str, Any]) -> None:
    answer = {"kind": "Service", "metadata": {**METADATA, "deletionTimestamp": DELETING, **left}}

    assert own_write("DELETE", answer) == OwnWrite("services", "default/web", "u", None, "7", labels={})


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        ({"kind": "Service", "metadata": {**METADATA, "labels": {"app": "web"}}}, {"app": "web"}),
        ({"kind": "Service", "metadata": {**METADATA, "labels": None}}, {}),
        ({"kind": "Service", "metadata": METADATA}, {}),
        ({"kind": "Scale", "metadata": METADATA}, None),
    ],
    ids=["labels", "null", "no labels", "a scale, which has none of them"],
)
def test_a_write_has_the_labels_of_the_response(answer: dict[str, Any], labels: dict[str, str] | None) -> None:
    found = own_write("PUT", answer)

    assert found == OwnWrite("services", "default/web", "u", None, "7", labels=labels)


def test_a_delete_that_is_tried_only_removes_nothing() -> None:
    answer = {"kind": "Status", "status": "Success", "details": {"uid": "u"}}

    assert own_write("DELETE", answer, body={"kind": "DeleteOptions", "dryRun": ["All"]}) is None
    assert own_write("DELETE", answer, body={"kind": "DeleteOptions", "gracePeriodSeconds": 0}) == REMOVAL


def test_writes_of_a_deleted_collection_are_visible_as_deletions() -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    call = Call("DELETE", path, Subject("deletecollection", "deployments", "default", ""))
    items = [{"metadata": METADATA}, {"metadata": {**METADATA, "name": "api", "uid": "v"}}, {}]
    answer = {"kind": "DeploymentList", "metadata": {"resourceVersion": "9"}, "items": items}

    found = own_writes_of(call, Response(200, json.dumps(answer).encode()))

    web = OwnWrite("deployments.apps", "default/web", "u", None, "7", is_deletion=True)
    assert found == [web, web._replace(key="default/api", uid="v")]
    assert not is_visible(web, CachedVersion("u", "7", is_deleting=False), "8")
    assert is_visible(web, CachedVersion("u", "8", is_deleting=True), "8")
    assert is_visible(web, CachedVersion("another", "8", is_deleting=False), "8")
    assert is_visible(web, None, "8")
    assert not is_echo(ObjectChange("deployments.apps", "default/web", "u", "8", ""), found)


@pytest.mark.parametrize("answer", [{"kind": "Status", "status": "Success"}, {"items": None}])
def test_a_collection_deleted_without_a_list_is_not_detected(answer: dict[str, Any]) -> None:
    call = Call("DELETE", "/api/v1/pods", Subject("deletecollection", "pods", "", ""))

    assert own_writes_of(call, Response(200, json.dumps(answer).encode())) == []
