"""AdmissionReviews: the responses of webhooks, and their patches, as pure decisions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.admission.webhooks.review import (
    DecodedReview,
    ReviewError,
    choose_version,
    decode_review,
    verify_response,
)
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.json_patch import (
    InapplicablePatchError,
    UndecodablePatchError,
    apply_admission_patch,
    apply_json_patch,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Plain = dict[str, Any]

IDENTITY = "admission.k8s.io/v1, Kind=AdmissionReview"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
POINTERS = st.sampled_from(
    ["", "/", "/a", "/b", "/a/b", "/list", "/list/0", "/list/-", "/list/9", "/list/-1", "x", "/a~1b"]
)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "foo"])},
        optional={"path": POINTERS | st.integers(), "from": POINTERS, "value": JSON},
    ),
    max_size=4,
)
DOCUMENTS = st.fixed_dictionaries({}, optional={"a": JSON, "b": JSON, "list": st.lists(JSON, max_size=3)})


def outcome(apply: Callable[[], object]) -> object:
    """Return the result of a patch, or the kind of its failure."""
    try:
        return apply()
    except (StatusFailure, InapplicablePatchError, UndecodablePatchError):
        return "failed"


def problem_of(act: Callable[[], object]) -> str | None:
    """Return the message of a failure; None without one."""
    try:
        act()
    except (ReviewError, StatusFailure, InapplicablePatchError) as error:
        return str(error)
    return None


@pytest.mark.slow
@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_a_review_or_an_error_with_a_message(body: bytes) -> None:
    assert problem_of(lambda: decode_review(body, "v1")) != ""


@given(st.dictionaries(st.sampled_from(["uid", "allowed", "status", "patch", "patchType", "warnings"]), JSON))
def test_a_response_has_fields_of_their_types(response: Plain) -> None:
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    try:
        found = decode_review(json.dumps(body).encode(), "v1").response
    except ReviewError:
        return
    assert found is not None
    assert isinstance(found.get("allowed", False), bool)
    assert all(isinstance(warning, str) for warning in found.get("warnings", []))
    assert isinstance(found.get("status") or {}, dict)


@pytest.mark.slow
@given(DOCUMENTS, OPERATIONS)
def test_a_webhook_patches_as_a_client_does(document: Plain, operations: list[Plain]) -> None:
    body = json.dumps(operations).encode()
    before = json.dumps(document)

    found = outcome(lambda: apply_admission_patch(document, body))

    assert json.dumps(document) == before, "the object itself is not changed"
    if not operations:
        assert found is None
    elif isinstance(found, dict):
        assert outcome(lambda: apply_json_patch(document, body, lenient=True)) == found
    else:
        assert outcome(lambda: apply_json_patch(document, body, lenient=True)) == "failed"


@pytest.mark.slow
@given(DOCUMENTS, OPERATIONS)
def test_a_patch_that_does_not_apply_says_why(document: Plain, operations: list[Plain]) -> None:
    assert problem_of(lambda: apply_admission_patch(document, json.dumps(operations).encode())) != ""


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [(["v1"], "v1"), (["v1beta1", "v1"], "v1beta1"), (["v2", "v1"], "v1"), (["v2"], ""), ([], "")],
    ids=str,
)
def test_the_first_known_version_is_sent(versions: list[str], chosen: str) -> None:
    assert choose_version(versions) == chosen


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (None, "webhook response was absent"),
        ({}, 'expected response.uid="u", got ""'),
        ({"uid": "u", "patch": "W10="}, "webhook returned response.patch but not response.patchType"),
        ({"uid": "u", "patchType": "JSONPatch"}, "webhook returned response.patchType but not response.patch"),
        ({"uid": "u", "patch": "W10=", "patchType": ""}, 'webhook returned invalid response.patchType of ""'),
    ],
    ids=["absent", "uid", "no-type", "no-patch", "empty-type"],
)
def test_a_mutating_response_is_checked(response: Plain | None, problem: str) -> None:
    with pytest.raises(ReviewError) as raised:
        verify_response(DecodedReview(IDENTITY, response), "v1", "u", is_mutating=True)
    assert str(raised.value) == problem


def test_an_older_response_is_not_that_strict() -> None:
    review = DecodedReview("/, Kind=", {"allowed": True, "patch": "W10="})

    found = verify_response(review, "v1beta1", "u", is_mutating=True)

    assert (found.is_allowed, found.patch, found.patch_type) == (True, b"[]", "JSONPatch")
