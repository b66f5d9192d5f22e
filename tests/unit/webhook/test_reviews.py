"""AdmissionReview and ConversionReview on the wire."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from masthead._schema.errors import forbidden, invalid, not_supported, required
from masthead._webhook.conversion_reviews import decode_conversion, encode_conversion
from masthead._webhook.denials import DeniedError, denial_status, invalid_status
from masthead._webhook.reviews import ReviewError, decode_review, encode_response, typed_request
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ArgumentError
from masthead.meta import GroupVersionKind

REQUEST: dict[str, Any] = {
    "uid": "705ab4f5",
    "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
    "resource": {"group": "", "version": "v1", "resource": "configmaps"},
    "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
    "name": "a",
    "namespace": "shop",
    "operation": "UPDATE",
    "userInfo": {"username": "ann", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["x"]}},
    "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "new"}},
    "oldObject": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "old"}},
    "dryRun": True,
    "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"},
}


def review(version: str = "v1", **changes: Any) -> bytes:
    request = {**REQUEST, **changes}
    return json.dumps(
        {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": request}
    ).encode()


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_response_repeats_version_and_uid(version: str) -> None:
    answer = json.loads(encode_response(decode_review(review(version))))
    assert answer["apiVersion"] == f"admission.k8s.io/{version}"
    assert answer["response"] == {"uid": "705ab4f5", "allowed": True}


def test_requests_have_typed_objects_and_the_user() -> None:
    request = typed_request(decode_review(review()), ConfigMap)
    assert request.object is not None
    assert request.old is not None
    assert (request.old.data, request.object.data) == ({"k": "old"}, {"k": "new"})
    assert request.dry_run
    assert request.user.username == "ann"
    assert request.user.extra == {"scopes": ("x",)}
    assert request.subject is request.object


def test_a_deletion_is_about_the_old_object() -> None:
    request = typed_request(decode_review(review(operation="DELETE", object=None)), ConfigMap)
    assert request.object is None
    assert request.subject is request.old


def test_patches_are_encoded_in_base64() -> None:
    patch = [{"op": "remove", "path": "/data"}]
    answer = json.loads(encode_response(decode_review(review()), patch=patch))
    assert answer["response"]["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(answer["response"]["patch"])) == patch


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2","request":{"uid":"a","operation":"CREATE"}}',
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
        b'{"kind":"Pod","apiVersion":"v1"}',
        review(operation="GUESS"),
        review(uid=""),
        review(uid=7),
        b"\xff\xfe",
        b'{"request":' + b"[" * 100_000,
    ],
    ids=["empty", "cut", "list", "null", "version", "no request", "pod", "operation", "no uid", "uid", "bytes", "deep"],
)
def test_other_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(ReviewError):
        decode_review(body)


@pytest.mark.parametrize("obj", [{"kind": "Pod", "apiVersion": "v1"}, [], "text", {"metadata": 3}])
def test_objects_of_another_kind_are_refused(obj: Any) -> None:
    with pytest.raises(ReviewError):
        typed_request(decode_review(review(object=obj)), ConfigMap)


def test_field_errors_are_causes_of_an_invalid_status() -> None:
    errors = (
        invalid("spec.replicas", 7, "must be even"),
        required("spec.image"),
        not_supported("spec.tier", "gold", ["bronze", "silver"]),
    )
    status = invalid_status(GroupVersionKind("example.com", "v1", "Website"), "a", errors)
    assert status["code"] == 422
    assert status["message"] == (
        'Website.example.com "a" is invalid: [spec.replicas: Invalid value: 7: must be even, '
        'spec.image: Required value, spec.tier: Unsupported value: "gold": supported values: "bronze", "silver"]'
    )
    details: Any = status["details"]
    assert details["causes"][0] == {
        "reason": "FieldValueInvalid",
        "message": "Invalid value: 7: must be even",
        "field": "spec.replicas",
    }


def test_many_field_errors_are_summarized() -> None:
    errors = tuple(forbidden(f"spec.a[{index}]", "no") for index in range(1_000))
    status: Any = invalid_status(GroupVersionKind("", "v1", "Pod"), "a", errors)
    assert len(status["details"]["causes"]) == 100
    assert status["message"].endswith("and 900 more]")


def test_denials_have_a_code_and_a_reason() -> None:
    assert denial_status(DeniedError("closed on Sundays", code=409)) == {
        "status": "Failure",
        "message": "closed on Sundays",
        "reason": "Conflict",
        "code": 409,
    }


def test_values_of_field_errors_may_be_typed() -> None:
    errors = (invalid("spec", ConfigMap.new("a"), "no"), invalid("spec.a", object, "no"))
    status = invalid_status(GroupVersionKind("", "v1", "Pod"), "a", errors)
    assert '"metadata":{"name":"a"}' in str(status["message"])


def test_conversion_reviews_name_the_version_and_the_objects() -> None:
    request = {"uid": "1", "desiredAPIVersion": "example.com/v1", "objects": [{"kind": "Website"}]}
    body = json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
    assert decode_conversion(body.encode()) == ("1", "example.com/v1", [{"kind": "Website"}])
    answer = json.loads(encode_conversion("1", [{"kind": "Website"}]))
    assert answer["response"] == {
        "uid": "1",
        "convertedObjects": [{"kind": "Website"}],
        "result": {"status": "Success"},
    }
    failed = json.loads(encode_conversion("1", None, "no"))
    assert failed["response"] == {"uid": "1", "result": {"status": "Failure", "message": "no"}}


@pytest.mark.parametrize(
    "body", [b"{", b"{}", b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1"}']
)
def test_other_conversion_reviews_are_refused(body: bytes) -> None:
    with pytest.raises(ReviewError):
        decode_conversion(body)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (400, "BadRequest"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (409, "Conflict"),
        (422, "Invalid"),
        (429, "TooManyRequests"),
        (418, ""),
    ],
)
def test_the_reason_of_a_denial_is_that_of_its_code(code: int, reason: str) -> None:
    assert denial_status(DeniedError("no", code=code))["reason"] == reason
    assert denial_status(DeniedError("no", code=code, reason="Own"))["reason"] == "Own"


def test_a_denial_has_the_code_of_an_error() -> None:
    with pytest.raises(ArgumentError, match="from 400 to 599, not 200"):
        DeniedError("no", code=200)
