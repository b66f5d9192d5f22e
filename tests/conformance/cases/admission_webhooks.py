"""Admission webhooks: what the server sends them, and what becomes of their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map
from tests.conformance.webhooks import (
    allow,
    deny,
    hang,
    mutate,
    patch,
    patch_text,
    respond,
    scripted_webhook,
    send,
    validate,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Admission webhooks")
LABEL: Plain = {"op": "add", "path": "/metadata/labels", "value": {"from": "webhook"}}


@case("a validating webhook sees every write")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow())
        api.create("configmaps", config_map("a", data={"k": "v"}))
        api.update("configmaps", "a", config_map("a", data={"k": "w"}))
        api.patch("configmaps", "a", {"data": {"k": "x"}})
        api.apply("configmaps", "a", config_map("a", data={"l": "y"}))
        api.apply("configmaps", "b", config_map("b", data={"l": "y"}))
        api.delete("configmaps", "a")
        server.show(api)


@case("a denial without an explanation")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, deny())
        api.create("configmaps", config_map("a"))
        api.list("configmaps")


@case("a denial by a mutating webhook")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, deny(status={"message": "no", "code": 418, "reason": "Teapot"}))
        api.create("configmaps", config_map("a"))


@case("a denial with a Status")
def _(api: Api) -> None:
    statuses: list[Plain] = [
        {"message": "because"},
        {"reason": "Because"},
        {"code": 200, "message": "fine"},
        {"code": 299},
        {"code": 422, "reason": "Invalid", "message": "bad", "status": "Failure"},
        {"code": 403, "reason": "Forbidden", "status": "Success"},
        {
            "code": 409,
            "message": "",
            "reason": "Conflict",
            "details": {"name": "x", "kind": "y", "causes": [{"message": "z"}]},
        },
        {"code": 429, "message": "later", "details": {"retryAfterSeconds": 7}},
        {"code": 500, "message": "oops", "metadata": {"resourceVersion": "1"}},
        {"status": "Unknown", "message": "m"},
        {},
    ]
    with scripted_webhook(api) as server:
        remaining = iter(statuses)
        validate(api, server, lambda review: respond(review, allowed=False, status=next(remaining)))
        for _status in statuses:
            api.create("configmaps", config_map("a"))


@case("a mutating webhook changes an object")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, patch(LABEL))
        api.create("configmaps", config_map("a", data={"k": "v"}))
        api.patch("configmaps", "a", {"metadata": {"labels": None}})
        api.update("configmaps", "a", config_map("a"))
        api.delete("configmaps", "a")
        server.show(api)


@case("a webhook that sends rubbish")
def _(api: Api) -> None:
    bodies = [
        "",
        "rubbish",
        "{",
        "[]",
        "null",
        "1",
        '"text"',
        "{}",
        '{"kind":"AdmissionReview"}',
        '{"apiVersion":"admission.k8s.io/v1"}',
        '{"apiVersion":"v1","kind":"Pod"}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"Status"}',
        '{"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview"}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":null}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{}}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"x","allowed":true}}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":1}}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":[]}',
        '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":"yes"}}',
        '{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":true}}',
        '{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no review","code":400}',
    ]
    with scripted_webhook(api) as server:
        remaining = iter(bodies)
        validate(api, server, lambda _review: (200, next(remaining).encode()))
        for _body in bodies:
            api.create("configmaps", config_map("a"))


@case("patches that are wrong")
def _(api: Api) -> None:
    texts = [
        "",
        "rubbish",
        "{}",
        "null",
        "[]",
        '[{"op":"add"}]',
        '[{"op":"foo","path":"/a"}]',
        '[{"op":"remove","path":"/data/k"}]',
        '[{"op":"replace","path":"/data","value":1}]',
        '[{"op":"replace","path":"/data","value":{"a":1}}]',
        '[{"op":"test","path":"/kind","value":"Pod"}]',
        '[{"op":"add","path":"/foo","value":1}]',
        '[{"op":"replace","path":"/kind","value":"Secret"}]',
        '[{"op":"replace","path":"/apiVersion","value":"v2"}]',
        '[{"op":"remove","path":"/kind"}]',
        '[{"op":"replace","path":"","value":[]}]',
        '[{"op":"replace","path":"","value":null}]',
        '[{"op":"replace","path":"","value":1}]',
        '[{"op":"replace","path":"/metadata/name","value":"b"}]',
        '[{"op":"replace","path":"/metadata/name","value":1}]',
        '[{"op":"replace","path":"/metadata/namespace","value":"other"}]',
        '[{"op":"remove","path":"/metadata"}]',
        '[{"op":"add","path":"/data","value":{"not a key":"v"}}]',
        '[{"op":"add","path":"/binaryData","value":{"k":"%"}}]',
        "[1]",
        '"x"',
    ]
    with scripted_webhook(api) as server:
        remaining = iter(texts)
        mutate(api, server, lambda review: patch_text(next(remaining))(review))
        for _text in texts:
            api.create("configmaps", config_map("a"), dryRun="All")


@case("a webhook that hangs")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, hang, timeoutSeconds=1)
        api.create("configmaps", config_map("a"))


@case("HTTP errors of a webhook")
def _(api: Api) -> None:
    codes = [
        201,
        204,
        206,
        300,
        400,
        401,
        403,
        404,
        405,
        406,
        409,
        410,
        413,
        415,
        418,
        422,
        429,
        500,
        501,
        502,
        503,
        504,
    ]
    with scripted_webhook(api) as server:
        remaining = iter(codes)
        validate(api, server, lambda _review: (next(remaining), b"sorry"))
        for _code in codes:
            api.create("configmaps", config_map("a"))
        server.answers["/a"] = send(
            '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","reason":"Forbidden","code":403}', 403
        )
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = send("x" * 5000, 500)
        api.create("configmaps", config_map("a"))
