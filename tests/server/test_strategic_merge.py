"""Strategic merge patches over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.calls import Caller, CallResponse

Plain = dict[str, Any]
STRATEGIC = "application/strategic-merge-patch+json"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEPLOYMENT: Plain = {
    "metadata": {"name": "web", "labels": {"app": "web"}, "finalizers": ["example.com/a"]},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]},
        },
    },
}


@pytest.fixture
def deployment(caller: Caller) -> None:
    assert caller.call("POST", DEPLOYMENTS, DEPLOYMENT).code == 201


def patch(caller: Caller, body: Any, path: str = f"{DEPLOYMENTS}/web") -> CallResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return caller.call("PATCH", path, data, content_type=STRATEGIC)


@pytest.mark.usefixtures("deployment")
def test_containers_are_merged_by_name_and_defaulted(caller: Caller) -> None:
    body = {"spec": {"template": {"spec": {"containers": [{"name": "b", "tty": True}, {"name": "c", "image": "k"}]}}}}

    containers = patch(caller, body).json["spec"]["template"]["spec"]["containers"]

    assert [(container["name"], container["image"]) for container in containers] == [
        ("a", "i"),
        ("b", "j"),
        ("c", "k"),
    ]
    assert containers[1]["tty"]
    assert containers[2]["imagePullPolicy"] == "Always"


@pytest.mark.usefixtures("deployment")
def test_the_kind_of_an_object_stays_whatever_a_patch_says(caller: Caller) -> None:
    response = patch(caller, {"kind": "Pod", "apiVersion": None, "spec": {"replicas": 2}})

    assert (response.code, response.json["kind"], response.json["spec"]["replicas"]) == (200, "Deployment", 2)


@pytest.mark.usefixtures("deployment")
def test_a_dry_run_stores_nothing(caller: Caller) -> None:
    response = patch(caller, {"spec": {"replicas": 5}}, f"{DEPLOYMENTS}/web?dryRun=All")

    assert response.json["spec"]["replicas"] == 5
    assert caller.call("GET", f"{DEPLOYMENTS}/web").json["spec"]["replicas"] == 1


@pytest.mark.usefixtures("deployment")
def test_the_last_finalizer_of_a_deleted_object_is_removed(caller: Caller) -> None:
    caller.call("DELETE", f"{DEPLOYMENTS}/web?propagationPolicy=Background")

    removed = patch(caller, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}})

    assert removed.code == 200
    assert caller.call("GET", f"{DEPLOYMENTS}/web").code == 404


@pytest.mark.usefixtures("deployment")
def test_the_scale_and_the_status_are_patched(caller: Caller) -> None:
    assert patch(caller, {"spec": {"replicas": 3}}, f"{DEPLOYMENTS}/web/scale").json["spec"] == {"replicas": 3}

    for kind in ("a", "b", "a"):
        body = {"status": {"conditions": [{"type": kind, "status": "True"}]}, "spec": {"replicas": 9}}
        patched = patch(caller, body, f"{DEPLOYMENTS}/web/status").json

    assert [each["type"] for each in patched["status"]["conditions"]] == ["b", "a"]
    assert patched["spec"]["replicas"] == 3


@pytest.mark.usefixtures("deployment")
def test_unknown_fields_are_warned_of(caller: Caller) -> None:
    response = patch(caller, {"spec": {"zoo": 1}})

    assert (response.code, response.headers["warning"]) == (200, '299 - "unknown field \\"spec.zoo\\""')


@pytest.mark.usefixtures("deployment")
def test_a_strict_client_learns_of_unknown_fields_in_the_order_of_their_names(caller: Caller) -> None:
    body = b'{"spec":{"zoo":1,"bar":2,"replicas":1,"replicas":2}}'
    response = patch(caller, body, f"{DEPLOYMENTS}/web?fieldValidation=Strict")

    found = 'duplicate field "spec.replicas", unknown field "spec.bar", unknown field "spec.zoo"'
    shown = "map[spec:map[bar:2 replicas:2 zoo:1]]"
    message = f' "" is invalid: patch: Invalid value: "{shown}": strict decoding error: {found}'
    assert response.failure == (422, "Invalid", message)


@pytest.mark.usefixtures("deployment")
@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"[]", 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"{", 400, "unexpected end of JSON input"),
        ({"spec": "x"}, 422, "cannot restore struct from: string"),
        ({"spec": {"replicas": "x"}}, 422, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, 422, "cannot convert float64 to int32"),
        ({"metadata": {"labels": {"a": 1}}}, 422, "cannot convert int64 to string"),
        ({"metadata": {"labels": ["a"]}}, 422, "cannot restore map from slice"),
        ({"metadata": {"finalizers": {}}}, 422, "cannot restore slice from map"),
        ({"metadata": None}, 400, "the name of the object (web based on URL) was undeterminable"),
        ({"spec": {"$patch": "x"}}, 500, "unknown patch type: x in map: map[$patch:x]"),
        ({"$retainKeys": 1}, 400, "invalid patch format of retainKeys"),
    ],
)
def test_a_patch_that_does_not_apply_is_refused(caller: Caller, body: Any, code: int, message: str) -> None:
    response = patch(caller, body)

    assert response.failure[0] == code
    assert message in response.failure[2]


@pytest.mark.usefixtures("deployment")
def test_integers_wrap_around_and_whole_floats_are_integers(caller: Caller) -> None:
    assert patch(caller, {"spec": {"replicas": 2**32 + 7}}).json["spec"]["replicas"] == 7
    assert patch(caller, b'{"spec":{"replicas":3.0}}').json["spec"]["replicas"] == 3


def test_a_missing_object_is_not_found(caller: Caller) -> None:
    assert patch(caller, {}).failure[:2] == (404, "NotFound")
