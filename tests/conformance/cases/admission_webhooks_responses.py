"""Responses of admission webhooks: denials, rubbish and warnings, and what becomes of the request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map
from tests.conformance.webhooks import allow, deny, mutate, respond, scripted_webhook, validate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conformance.api import Api, Plain
    from tests.conformance.webhooks import Answer

case = area("Admission webhooks: responses")
REVIEW = '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"'


def in_turn(bodies: Iterable[str]) -> Answer:
    """Send one body after the other."""
    remaining = iter(bodies)
    return lambda _review: (200, next(remaining).encode())


def responses_in_turn(responses: Iterable[Plain]) -> Answer:
    """Send one response after the other."""
    remaining = iter(responses)
    return lambda review: respond(review, **next(remaining))


def try_bodies(api: Api, *bodies: str) -> None:
    """Have a validating webhook send each body to one create."""
    with scripted_webhook(api) as server:
        validate(api, server, in_turn(bodies))
        for _body in bodies:
            api.create("configmaps", config_map("a"))


def try_responses(api: Api, *responses: Plain, mutating: bool = False) -> None:
    """Have a webhook send each response to one dry-run create."""
    with scripted_webhook(api) as server:
        (mutate if mutating else validate)(api, server, responses_in_turn(responses))
        for _response in responses:
            api.create("configmaps", config_map("a"), dryRun="All")


@case("a denial without an explanation")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, deny())
        api.create("configmaps", config_map("a"))
        api.list("configmaps")


@case("a denial by a mutating webhook")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, deny(status={"message": "no", "code": 418, "reason": "Teapot"}), allow())
        api.create("configmaps", config_map("a"))
        server.show_calls(api)


@case("a denial of every kind of write")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow())
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = deny(status={"message": "no"})
        api.update("configmaps", "a", config_map("a", data={"k": "v"}))
        api.patch("configmaps", "a", {"data": {"k": "v"}})
        api.patch("configmaps", "a", [{"op": "add", "path": "/data", "value": {"k": "v"}}], by="json")
        api.apply("configmaps", "a", config_map("a", data={"k": "v"}))
        api.apply("configmaps", "b", config_map("b", data={"k": "v"}))
        api.delete("configmaps", "a")
        api.delete_all("configmaps")
        api.get("configmaps", "a")


@case("a denial comes before a conflict and after a validation error")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        made = api.create("configmaps", config_map("a"))
        api.patch("configmaps", "a", {"data": {"k": "v"}})
        validate(api, server, deny(status={"message": "no"}))
        api.update("configmaps", "a", config_map("a", version=made.version))
        api.create("configmaps", config_map("a"))
        api.create("configmaps", config_map("A B"))
        api.create("configmaps", config_map("b", data={"not a key": "v"}))
        api.update("configmaps", "a", config_map("a", data={"not a key": "v"}))
        server.show_calls(api)


@case("a mutating denial comes before a conflict and a validation error")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        made = api.create("configmaps", config_map("a"))
        api.patch("configmaps", "a", {"data": {"k": "v"}})
        mutate(api, server, deny(status={"message": "no"}))
        api.update("configmaps", "a", config_map("a", version=made.version))
        api.create("configmaps", config_map("a"))
        api.create("configmaps", config_map("b", data={"not a key": "v"}))
        api.update("configmaps", "missing", config_map("missing"))
        api.delete("configmaps", "missing")
        server.show_calls(api)


@case("messages and codes of a denial")
def _(api: Api) -> None:
    statuses: list[Plain] = [
        {"message": "because"},
        {"reason": "Because"},
        {"code": 200, "message": "fine"},
        {"code": 299},
        {"code": 422, "reason": "Invalid", "message": "bad", "status": "Failure"},
        {"code": 403, "reason": "Forbidden", "status": "Success"},
        {"code": 600, "message": "too much"},
        {"code": -1, "message": "too little"},
        {"status": "Unknown", "message": "m"},
        {},
        {"message": 'many\nlines\tand "quotes" and é'},
    ]
    try_responses(api, *({"allowed": False, "status": status} for status in statuses))


@case("details of a denial")
def _(api: Api) -> None:
    causes = [{"message": "z", "field": "data.k", "reason": "FieldValueInvalid"}]
    details: list[Plain] = [
        {"name": "x", "kind": "y", "group": "g", "uid": "u", "causes": causes},
        {"retryAfterSeconds": 7},
        {},
        {"foo": "bar"},
    ]
    try_responses(
        api,
        *({"allowed": False, "status": {"code": 409, "message": "m", "details": detail}} for detail in details),
        {"allowed": False, "status": {"code": 500, "message": "oops", "metadata": {"resourceVersion": "1"}}},
        {"allowed": False, "status": {"code": 429, "message": "later", "details": {"retryAfterSeconds": 7}}},
        {"allowed": False, "status": {"message": "m", "foo": "bar", "kind": "Pod", "apiVersion": "v7"}},
    )


@case("bodies that are no JSON")
def _(api: Api) -> None:
    try_bodies(api, "", " ", "rubbish", "{", "[", "{]", '{"a":}', "a: b: c", "<html>", "\x00")


@case("bodies that are no objects")
def _(api: Api) -> None:
    try_bodies(api, "[]", "null", "1", '"text"', "true", "{}", "[{}]")


@case("bodies of another kind")
def _(api: Api) -> None:
    try_bodies(
        api,
        '{"kind":"AdmissionReview"}',
        '{"apiVersion":"admission.k8s.io/v1"}',
        '{"apiVersion":"v1","kind":"Pod"}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"Status"}',
        '{"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview"}',
        '{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":true}}',
        '{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no review","code":400}',
        '{"apiVersion":1,"kind":"AdmissionReview"}',
        '{"apiVersion":"admission.k8s.io/v1","kind":{}}',
        '{"apiVersion":"a/b/c","kind":"AdmissionReview"}',
    )


@case("reviews without a response")
def _(api: Api) -> None:
    try_bodies(
        api,
        f"{REVIEW}}}",
        f'{REVIEW},"response":null}}',
        f'{REVIEW},"response":{{}}}}',
        f'{REVIEW},"response":{{"uid":"x","allowed":true}}}}',
        f'{REVIEW},"request":{{"uid":"x"}}}}',
    )


@case("fields of a response that are of another type")
def _(api: Api) -> None:
    fields = (
        '"uid":1',
        '"allowed":"yes"',
        '"allowed":1',
        '"status":"text"',
        '"status":{"code":"1"}',
        '"status":{"code":1.5}',
        '"status":{"details":{"causes":[{"message":1}]}}',
        '"patch":1',
        '"patch":"%%%"',
        '"patchType":1',
        '"auditAnnotations":[]',
        '"auditAnnotations":{"a":1}',
        '"warnings":"text"',
        '"warnings":[1]',
    )
    try_bodies(api, f'{REVIEW},"response":[]}}', *(f'{REVIEW},"response":{{{field}}}}}' for field in fields))


@case("a response may be YAML, and have unknown fields")
def _(api: Api) -> None:
    def answer(review: Plain) -> bytes:
        body = respond(review, allowed=True, foo="bar")
        lines = [f"apiVersion: {body['apiVersion']}", "kind: AdmissionReview", "response:"]
        return "\n".join(
            [*lines, *(f"  {key}: {json.dumps(value)}" for key, value in body["response"].items())]
        ).encode()

    with scripted_webhook(api) as server:
        validate(api, server, answer)
        api.create("configmaps", config_map("a"))


@case("a response without kind and apiVersion")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, lambda review: {"response": {"uid": review["request"]["uid"], "allowed": True}})
        api.create("configmaps", config_map("a"))


@case("a validating webhook may not return a patch")
def _(api: Api) -> None:
    try_responses(
        api,
        {"allowed": True, "patch": "W10="},
        {"allowed": True, "patchType": "JSONPatch"},
        {"allowed": True, "patch": "W10=", "patchType": "JSONPatch"},
        {"allowed": True, "patch": "", "patchType": ""},
        {"allowed": True, "patch": None, "patchType": None},
    )


@case("patch and patchType belong together")
def _(api: Api) -> None:
    try_responses(
        api,
        {"allowed": True, "patch": "W10="},
        {"allowed": True, "patchType": "JSONPatch"},
        {"allowed": True, "patch": "W10=", "patchType": ""},
        {"allowed": True, "patch": "W10=", "patchType": "MergePatch"},
        {
            "allowed": True,
            "patch": "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6e319XQ==",
            "patchType": "MergePatch",
        },
        {"allowed": True, "patch": "", "patchType": ""},
        {"allowed": True, "patch": "W1", "patchType": "JSONPatch"},
        {"allowed": False, "patch": "W10="},
        mutating=True,
    )


@case("warnings of a webhook")
def _(api: Api) -> None:
    try_responses(
        api,
        {"allowed": True, "warnings": ["one", "two"]},
        {"allowed": True, "warnings": ["twice", "twice"]},
        {"allowed": True, "warnings": ["", "after an empty one"]},
        {"allowed": True, "warnings": ['with "quotes" and \\', "é", "line\nbreak", "tab\t"]},
        {"allowed": True, "warnings": []},
        {"allowed": False, "warnings": ["of a denial"]},
    )


@case("warnings that are too long")
def _(api: Api) -> None:
    try_responses(
        api,
        {"allowed": True, "warnings": ["x" * 300]},
        {"allowed": True, "warnings": ["y" * 5000]},
        {"allowed": True, "warnings": [f"{number:04d}" + "z" * 300 for number in range(20)]},
        {"allowed": True, "warnings": [f"{number:04d}" for number in range(1200)]},
    )


@case("warnings of several webhooks and of the server")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow(warnings=["mutating a"]), allow(warnings=["mutating b", "both"]))
        validate(api, server, allow(warnings=["validating a", "both"]))
        api.create("configmaps", {**config_map("a"), "foo": "bar"}, fieldValidation="Warn")


@case("the first error of several webhooks")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow(), deny(status={"message": "only b"}), allow())
        api.create("configmaps", config_map("a"))
        server.show_calls(api)


@case("a review of v1beta1")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        versions = ["v1beta1", "v1"]
        responses: list[Plain] = [
            {"allowed": True},
            {"allowed": True, "uid": "another"},
            {"allowed": True, "patch": "W10=", "patchType": "JSONPatch"},
            {"allowed": False, "status": {"message": "no"}},
        ]
        remaining = iter(responses)
        validate(api, server, lambda review: respond(review, **next(remaining)), admissionReviewVersions=versions)
        for _response in responses:
            api.create("configmaps", config_map("a"), dryRun="All")
        server.show(api)


@case("a patch of v1beta1 needs no type")
def _(api: Api) -> None:
    patch = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6eyJrIjoidiJ9fV0="
    responses: list[Plain] = [
        {"allowed": True, "patch": patch},
        {"allowed": True, "patch": patch, "patchType": "Other"},
        {"allowed": True, "patchType": "JSONPatch"},
    ]
    with scripted_webhook(api) as server:
        mutate(api, server, responses_in_turn(responses), admissionReviewVersions=["v0", "v1beta1"])
        for _response in responses:
            api.create("configmaps", config_map("a"), dryRun="All")
        server.answers["/a"] = lambda _review: {"response": {"allowed": True, "patch": patch}}
        api.create("configmaps", config_map("a"), dryRun="All")
        server.answers["/a"] = lambda _review: {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        api.create("configmaps", config_map("a"), dryRun="All")
