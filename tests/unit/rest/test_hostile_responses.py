"""Responses of a hostile server, meant to exhaust the client, break it, or forge its messages."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.unit.rest.scripted import JSON, FakeResponse, client, get, status

from masthead._client.watch_event import read_events
from masthead._errors.base import printable
from masthead._meta.unstructured import Unstructured, UnstructuredList
from masthead._meta.v1 import Status
from masthead._rest.response import Response, failure
from masthead._schema.field_sets import FieldSet
from masthead.api.core.v1 import Pod, PodList
from masthead.errors import DecodeError, MastheadError, ProtocolError, ResponseTooLargeError, StatusError
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

TRICKS = "\x1b[2J\x1b[31mred\x1b[0m\x1b]0;title\x07 \x9b1m\x08\u202e\nERROR forged line\r\x00end"
UNFIT = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.mark.parametrize("page", [b"<title" * 11_000, b"<title>" * 9_000, b"<title " * 5_000 + b">" * 30_000])
def test_a_page_full_of_titles_is_scanned_in_linear_time(page: bytes) -> None:
    began = time.process_time()
    error = failure(get(), 502, "text/html", page)
    assert time.process_time() - began < 1  # it was four seconds for 64 KiB
    assert "an HTML page" in str(error)


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (b"<html><TITLE lang='en'>Sign\n in</TITLE></html>", 'titled "Sign in"'),
        (b"<title>Gr\xc3\xbc\xc3\x9fe</title>", 'titled "Grüße"'),
        (b"<title>never ends", "an HTML page."),
        (b"<title", "an HTML page."),
        (b"<p></title><title>x</title>", 'titled "x"'),
    ],
)
def test_the_title_of_a_page_is_found(page: bytes, title: str) -> None:
    assert title in str(failure(get(), 502, "text/html", page))


@pytest.mark.parametrize(
    "seconds", ["9" * 400, "9" * 5000, "-1", "inf", "nan", "1e999", "Fri, 31 Dec 9999 23:59:59 GMT"]
)
@in_virtual_time
async def test_any_retry_after_can_be_read(seconds: str) -> None:
    heads = [("Retry-After", seconds), ("Date", "Thu, 01 Jan 0001 00:00:00 GMT")]
    rest, _ = client(FakeResponse(429, b"", heads))
    with pytest.raises(StatusError) as caught:
        await rest.call(get(attempts=1))
    assert caught.value.retry_after is None or 0 < caught.value.retry_after <= 1e9
    assert str(caught.value)


@pytest.mark.parametrize("number", ["9" * 400, "9" * 4300, "9" * 5000, "-1", "1e400", "0.5", "-" + "9" * 400])
@in_virtual_time
async def test_any_number_in_a_status_is_accepted(number: str) -> None:
    body = (
        f'{{"kind":"Status","status":"Failure","message":"m","reason":"TooManyRequests","code":{number},'
        f'"details":{{"retryAfterSeconds":{number}}}}}'
    )
    rest, _ = client(FakeResponse(429, body.encode(), [("Content-Type", JSON)]))
    with pytest.raises(StatusError) as caught:
        await rest.call(get(attempts=1))
    assert caught.value.code == 429
    assert caught.value.retry_after is None or 0 < caught.value.retry_after < 2**31
    assert len(str(caught.value)) < 1000


def test_terminal_escapes_in_a_status_are_neutralized() -> None:
    body = msgspec.json.encode(
        {
            "kind": "Status",
            "status": "Failure",
            "message": TRICKS,
            "reason": TRICKS,
            "code": 403,
            "details": {"name": TRICKS, "kind": TRICKS, "group": TRICKS},
        }
    )
    error = failure(get(), 403, JSON, body)
    assert error.message == TRICKS  # as it came, for callers that want it
    assert not UNFIT.search(str(error))
    assert "\nERROR" not in str(error)
    assert "red" in str(error)


@pytest.mark.parametrize("body", [TRICKS.encode(), b"<title>" + TRICKS.encode() + b"</title>"])
def test_terminal_escapes_in_any_error_response_are_neutralized(body: bytes) -> None:
    assert not UNFIT.search(str(failure(get(), 502, "text/plain", body)))
    assert not UNFIT.search(str(failure(get(), 302, "", b"", f"https://x/{TRICKS}")))


@in_virtual_time
async def test_terminal_escapes_in_a_content_type_or_a_warning_are_neutralized(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heads = [("Content-Type", f"text/{TRICKS}"), ("Warning", f'299 - "{TRICKS}"')]
    rest, _ = client(FakeResponse(200, b"x", heads))
    with pytest.raises(ProtocolError) as caught:
        await rest.call(get(attempts=1))
    assert not UNFIT.search(str(caught.value))
    assert caplog.messages
    assert not any(UNFIT.search(message) or "\n" in message for message in caplog.messages)


def test_terminal_escapes_in_an_undecodable_object_are_neutralized() -> None:
    data = msgspec.json.encode({"metadata": {"name": TRICKS, "namespace": TRICKS, "labels": {TRICKS: 5}}})
    with pytest.raises(DecodeError) as caught:
        Pod.from_json(data)
    assert not UNFIT.search(str(caught.value))


def test_printable_text_is_unchanged() -> None:
    assert printable("Grüße, 世界 👋") == "Grüße, 世界 👋"
    assert printable("one\ntwo") == "one\n  two"


def test_escapes_are_found_in_linear_time() -> None:
    began = time.process_time()
    printable("\x1b[" * 300_000 + "\x1b]" * 300_000 + "\x1b[0;" * 100_000)
    assert time.process_time() - began < 10


@in_virtual_time
async def test_at_most_a_hundred_warnings_are_read(caplog: pytest.LogCaptureFixture) -> None:
    rest, _ = client(FakeResponse(headers=[("Warning", ", ".join(f'299 - "{n}"' for n in range(5000)))]))
    await rest.call(get())
    assert len(caplog.messages) == 100


def _documents() -> list[bytes]:
    deep = [b"[" * depth + b"]" * depth for depth in (300, 480, 900, 970, 990, 1100, 100_000)]
    deep += [b'{"f:a":' * depth + b"{}" + b"}" * depth for depth in (300, 480, 900, 970, 990, 1100, 100_000)]
    numbers = [
        b"9" * 4300,
        b"9" * 4301,
        b"9" * 100_000,
        b"-" + b"9" * 5000,
        b"1e" + b"9" * 5000,
        b"1." + b"9" * 9000,
    ]
    places = [
        b'{"metadata":{"name":"a"},"spec":{"priority":%b}}',
        b'{"metadata":{"name":"a"},"spec":{"zzz":%b}}',
        b'{"metadata":{"name":"a","generation":%b}}',
        b'{"metadata":{"name":"a","zzz":%b}}',
        b'{"metadata":{"name":"a"}, "zzz":%b}',
        b'{"metadata":{"name":"a","managedFields":[{"fieldsV1":%b}]}}',
        b'{"kind":"Status","status":"Failure","details":%b}',
        b'{"kind":"Status","status":"Failure","code":%b}',
    ]
    return [place % value for place in places for value in (*deep, *numbers)]


def _read_all(*objects: Pod | Unstructured) -> None:
    for obj in objects:
        obj.to_json()
        obj.to_dict()
        obj.to_yaml()
        repr(obj.copy())
        for entry in obj.metadata.managed_fields:
            if entry.fields_v1:
                FieldSet.from_fields_v1(entry.fields_v1)


def _read_events(data: bytes) -> None:
    for kind in (b"ADDED", b"ERROR"):
        for event in read_events(Pod, [b'{"type":"%b","object":%b}' % (kind, data)]):
            str(event)
            if not isinstance(event, StatusError):
                _read_all(event.object)


def _in_list(data: bytes) -> bytes:
    return b'{"metadata":{"resourceVersion":"1"},"items":[%b]}' % data


READERS: dict[str, Callable[[bytes], object]] = {
    "from_wire": lambda data: _read_all(Pod.from_wire(data)),
    "from_json": lambda data: _read_all(Pod.from_json(data)),
    "untyped": lambda data: _read_all(Unstructured.from_wire(data)),
    "untyped, from people": lambda data: _read_all(Unstructured.from_json(data)),
    "list": lambda data: _read_all(*PodList.from_wire(_in_list(data)).items),
    "untyped list": lambda data: _read_all(*UnstructuredList.from_wire(_in_list(data)).items),
    "watch": _read_events,
    "status": lambda data: str(Status.from_json(data)),
    "response": lambda data: Response(200, data, JSON).json(),
    "response as a type": lambda data: _read_all(Response(200, data, JSON).into(Pod)),
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", list(READERS))
def test_extreme_nesting_and_numbers_decode_or_raise_a_masthead_error(reader: str) -> None:
    messages: list[str] = []
    for data in _documents():
        try:
            READERS[reader](data)
        except MastheadError as error:
            messages.append(f"{error} {error!r}")
    assert all(messages)


def test_any_error_response_with_such_a_body_is_a_status_error() -> None:
    for data in _documents():
        assert len(str(failure(get(), 503, JSON, data))) < 20_000


def test_a_long_message_is_truncated_in_text_and_kept_whole() -> None:
    error = failure(get(), 500, JSON, status(500, "InternalError", "x" * 100_000))
    assert len(error.message) == 100_000
    assert len(str(error)) < 11_000


@in_virtual_time
async def test_a_response_that_does_not_fit_into_memory_is_an_error_with_advice() -> None:
    reply = FakeResponse(broken=MemoryError())
    rest, transport = client(reply)
    with pytest.raises(ResponseTooLargeError, match="does not fit into the memory of this process; read it in pages"):
        await rest.call(get())
    assert len(transport.requests) == 1
    assert reply.is_closed
