"""Reading responses, whether of an API server or of anything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.rest.scripted import JSON, FakeResponse, client, create, get, html, status, watch

from masthead._rest.response import Response, failure, is_json
from masthead._sansio.warnings import ServerWarning
from masthead.api.core.v1 import Pod
from masthead.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    DecodeError,
    ForbiddenError,
    NotFoundError,
    ProtocolError,
    StatusError,
)
from masthead.testing.virtual_time import in_virtual_time

TEXT = [("Content-Type", "text/plain")]
SUCCESS = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}'


@in_virtual_time
async def test_a_response_has_its_body_and_headers() -> None:
    heads = [("content-type", JSON), ("etag", '"7"'), ("warning", '299 - "old"')]
    rest, network = client(FakeResponse(201, b'{"a":[1]}', heads))
    response = await rest.call(create())
    assert (response.status, response.content_type, response.etag) == (201, JSON, '"7"')
    assert response.warnings == (ServerWarning("old"),)
    assert response.text == '{"a":[1]}'
    assert response.json() == {"a": [1]}
    assert not network.leaks


async def test_a_response_can_be_decoded_into_a_type() -> None:
    pod = Response(200, b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}}').into(Pod)
    assert pod.metadata.name == "web"


async def test_the_repr_of_a_response_hides_its_body() -> None:
    assert "hush" not in repr(Response(200, b'{"token":"hush"}', JSON))


@in_virtual_time
async def test_a_truncated_document_is_an_error_that_names_the_call() -> None:
    rest, _ = client(FakeResponse(body=b'{"token":"hush'), FakeResponse(body=b'{"token":"\xff"}'))
    for _ in range(2):
        response = await rest.call(get())
        with pytest.raises(DecodeError, match="the response to get pods ns/web is not JSON") as caught:
            response.json()
        assert "hush" not in str(caught.value)


@in_virtual_time
async def test_an_empty_response_is_an_error() -> None:
    rest, _ = client(FakeResponse(body=b""), FakeResponse(204, b" \n"))
    for code in (200, 204):
        with pytest.raises(ProtocolError, match=rf"get pods ns/web: the response is empty \(HTTP {code}\)"):
            await rest.call(get())


@in_virtual_time
async def test_a_login_page_is_rejected() -> None:
    rest, network = client(html(200), html(200))
    for pending in (rest.call(get()), rest.open(watch())):
        with pytest.raises(ProtocolError, match="an HTML page") as caught:
            await pending
        assert "login page in front of the API server" in str(caught.value)
        assert "secret" not in str(caught.value)
    assert not network.leaks


@in_virtual_time
async def test_an_object_in_another_format_is_refused_without_being_repeated() -> None:
    rest, _ = client(FakeResponse(body=b"token: hush", headers=[("Content-Type", "application/yaml")]))
    with pytest.raises(ProtocolError, match="the response is application/yaml instead of JSON") as caught:
        await rest.call(get())
    assert "hush" not in str(caught.value)


@in_virtual_time
async def test_json_without_a_content_type_is_accepted_and_other_bodies_are_not() -> None:
    rest, _ = client(FakeResponse(body=b" {}", headers=[]), FakeResponse(body=b"ok", headers=[]))
    assert (await rest.call(get())).json() == {}
    with pytest.raises(ProtocolError, match="of no content type"):
        await rest.call(get())


@in_virtual_time
async def test_text_can_be_requested() -> None:
    rest, network = client(FakeResponse(body=b"ok", headers=TEXT), FakeResponse(body=b"", headers=TEXT))
    assert (await rest.get("/healthz", accept="text/plain")).text == "ok"
    assert (await rest.get("/healthz", accept="*/*")).text == ""
    assert network.sent("accept") == ["*/*"]


@in_virtual_time
async def test_a_failure_that_calls_itself_a_success_is_a_failure() -> None:
    rest, _ = client(FakeResponse(200, status(403, "Forbidden", "you may not")))
    with pytest.raises(ForbiddenError, match="get pods ns/web: you may not"):
        await rest.call(get())


@pytest.mark.parametrize("code", [200, 201, 202])
@in_virtual_time
async def test_a_status_of_success_is_a_response(code: int) -> None:
    rest, _ = client(FakeResponse(code, SUCCESS))
    response = await rest.call(get())
    assert (response.status, response.body) == (code, SUCCESS)


def test_a_status_of_success_does_not_excuse_an_error_code() -> None:
    error = failure(get(), 400, JSON, SUCCESS)
    assert isinstance(error, BadRequestError)
    assert error.code == 400


@in_virtual_time
async def test_an_object_that_mentions_failure_is_not_a_status() -> None:
    rest, _ = client(FakeResponse(body=b'{"kind":"Job","status":"Failure"}'), FakeResponse(body=b'"Failure"'))
    assert (await rest.call(get())).status == 200
    assert (await rest.call(get())).json() == "Failure"


@in_virtual_time
async def test_not_modified_is_a_response_only_with_if_none_match() -> None:
    rest, network = client(FakeResponse(304, b"", [("ETag", '"7"')]), FakeResponse(304, b"", []))
    response = await rest.get("/openapi/v3", headers={"If-None-Match": '"7"'})
    assert (response.status, response.body, response.etag) == (304, b"", '"7"')
    with pytest.raises(StatusError) as caught:
        await rest.get("/openapi/v3")
    assert caught.value.code == 304
    assert not network.leaks


@in_virtual_time
async def test_a_head_has_no_body() -> None:
    rest, _ = client(FakeResponse(body=b""))
    assert (await rest.request("head", "/version")).status == 200


# Refusals


@in_virtual_time
async def test_a_status_becomes_the_error_for_its_reason() -> None:
    rest, network = client(FakeResponse(404, status(404, "NotFound", 'pods "web" not found')))
    with pytest.raises(NotFoundError) as caught:
        await rest.call(get())
    error = caught.value
    assert (error.verb, error.resource, error.namespace, error.name) == ("get", "pods", "ns", "web")
    assert (error.code, error.reason, error.message) == (404, "NotFound", 'pods "web" not found')
    assert not network.leaks


def test_a_status_without_a_code_has_that_of_http() -> None:
    error = failure(get(), 409, JSON, b'{"kind":"Status","status":"Failure","message":"m"}')
    assert isinstance(error, ConflictError)
    assert (error.code, error.message) == (409, "m")


def test_a_status_without_a_result_is_a_failure_by_its_http_code() -> None:
    assert failure(get(), 404, JSON, b'{"kind":"Status","message":"gone"}').message == "gone"


def test_already_exists_is_distinguished_from_a_conflict_by_the_verb() -> None:
    assert isinstance(failure(create(), 409, "text/plain", b"no"), AlreadyExistsError)
    assert isinstance(failure(get(), 409, "text/plain", b"no"), ConflictError)


@pytest.mark.parametrize("body", [b'{"error":"nope"}', b'{"kind":"Status","code":"many"}', b"{half"])
def test_json_other_than_a_status_is_quoted_in_the_message(body: bytes) -> None:
    error = failure(get(), 404, JSON, body)
    assert isinstance(error, NotFoundError)
    assert error.message == body.decode()


def test_a_status_is_found_whatever_its_content_type() -> None:
    assert failure(get(), 404, "text/plain", status(404, "NotFound", "m")).message == "m"


def test_text_is_quoted_on_one_line_and_truncated() -> None:
    error = failure(get(), 400, "text/plain", b"one\r\n\x1b[31mtwo  three" + b"x" * 999)
    assert error.message.startswith("one two threexxx")
    assert error.message.endswith("... (1012 characters)")


def test_an_error_response_without_a_body_is_reported_as_empty() -> None:
    assert str(failure(get(), 418, "", b"")) == "get pods ns/web: the response is empty (418 Unknown)."


def test_an_html_page_is_named_by_its_title() -> None:
    page = html(502)
    assert isinstance(page.body, bytes)
    message = failure(get(), 502, "text/html", page.body).message
    assert message.startswith('the response is an HTML page titled "Sign in". Is a proxy')
    assert failure(get(), 502, "", b"<!doctype html>").message.startswith("the response is an HTML page. Is")


def test_a_redirect_names_its_target_without_secrets() -> None:
    message = failure(get(), 302, "", b"", "https://me:pw@sso.example:8443/login?token=hush#x").message
    assert "a redirect to https://sso.example/login; redirects are not followed" in message
    assert failure(get(), 302, "", b"", "http://[broken").message.startswith("the response is a redirect; redirects")


@in_virtual_time
async def test_an_endless_error_body_is_not_read_to_its_end() -> None:
    endless = FakeResponse(403, [b"x" * 2**18] * 100, TEXT)
    rest, network = client(endless)
    with pytest.raises(ForbiddenError):
        await rest.call(get())
    assert endless.given == 4
    assert endless.is_closed
    assert not network.leaks


@in_virtual_time
async def test_a_truncated_error_response_is_raised_by_its_status_code() -> None:
    rest, network = client(FakeResponse(403, b'{"kind":"Sta', broken=ProtocolError("cut short")))
    with pytest.raises(ForbiddenError):
        await rest.call(get())
    assert len(network.requests) == 1
    assert not network.leaks


@given(st.integers(300, 599), st.sampled_from(["", JSON, "text/html", "text/plain", "x/y;"]), st.binary())
def test_every_error_response_is_a_status_error(code: int, kind: str, body: bytes) -> None:
    error = failure(get(), code, kind, body, "//x")
    assert error.code == code
    assert str(error).startswith("get pods ns/web: ")


_plain = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.lists(each), max_leaves=4)
_fields = st.sampled_from(["status", "code", "reason", "message", "details", "metadata", "x"])


@given(st.dictionaries(_fields, _plain))
def test_every_status_document_is_a_status_error(fields: dict[str, object]) -> None:
    body = json.dumps({"kind": "Status", **fields}).encode()
    assert isinstance(failure(get(), 404, JSON, body), StatusError)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", True),
        ("application/merge-patch+json", True),
        ("text/json-ish", False),
        ("application/yaml", False),
        ("", False),
    ],
)
def test_json_is_recognized_by_its_content_type(content_type: str, expected: bool) -> None:
    assert is_json(content_type) is expected
