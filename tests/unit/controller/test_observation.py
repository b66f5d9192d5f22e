"""What a controller learns about its own writes from the responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from masthead._controller.observation import own_write_of
from masthead._rest.call import Call, Subject
from masthead._rest.response import Response
from masthead._sansio.own_writes import OwnWrite

PATH = "/api/v1/namespaces/default/services/web"
METADATA = {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7"}
DELETING = "2026-01-01T00:00:00Z"


def own_write(method: str, answer: dict[str, Any], status: int = 200, body: Any = None) -> OwnWrite | None:
    sent = None if body is None else json.dumps(body).encode()
    call = Call(method, PATH, Subject("delete", "services", "default", "web"), body=sent)
    return own_write_of(call, Response(status, json.dumps(answer).encode()))


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
def test_a_delete_removes_an_object_whatever_the_server_answers(answer: dict[str, Any]) -> None:
    assert own_write("DELETE", answer) == REMOVAL


@pytest.mark.parametrize("left", [{"finalizers": ["a/b"]}, {"deletionGracePeriodSeconds": 30}])
def test_a_delete_that_has_to_wait_only_changes_the_object(left: dict[str, Any]) -> None:
    answer = {"kind": "Service", "metadata": {**METADATA, "deletionTimestamp": DELETING, **left}}

    assert own_write("DELETE", answer) == OwnWrite("services", "default/web", "u", None, "7")
