"""Warnings of the server."""

from __future__ import annotations

import logging

import pytest
from tests.unit.rest.scripted import JSON, FakeResponse, client, get, watch

from masthead._rest.settings import RestSettings
from masthead._sansio.warnings import ServerWarning
from masthead.errors import ForbiddenError
from masthead.testing.virtual_time import in_virtual_time


def warning(status: int = 200, *texts: str) -> FakeResponse:
    heads = [("Warning", f'299 - "{text}"') for text in texts]
    return FakeResponse(status, b"{}", [("Content-Type", JSON), *heads])


@in_virtual_time
async def test_the_callback_gets_every_warning_of_responses_errors_and_streams() -> None:
    received: list[str] = []
    settings = RestSettings(on_warning=lambda each: received.append(each.text))
    rest, _ = client(warning(200, "a", "b"), warning(403, "c"), warning(200, "a"), settings=settings)
    await rest.call(get())
    with pytest.raises(ForbiddenError):
        await rest.call(get())
    async with await rest.open(watch()) as stream:
        assert stream.warnings == (ServerWarning("a"),)
    assert received == ["a", "b", "c", "a"]


@in_virtual_time
async def test_a_failing_callback_is_logged_and_the_call_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(warning: ServerWarning) -> None:
        raise RuntimeError(warning.text)

    rest, network = client(warning(200, "a", "b"), settings=RestSettings(on_warning=fail))
    assert (await rest.call(get())).status == 200
    assert caplog.messages == ["on_warning failed; the call goes on"] * 2
    assert not network.leaks


@in_virtual_time
async def test_without_a_hook_each_text_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    rest, _ = client(warning(200, "a"), warning(200, "b", "a"))
    await rest.call(get())
    await rest.call(get())
    assert caplog.record_tuples == [
        ("masthead.rest", logging.WARNING, "the API server warns: get pods ns/web: a"),
        ("masthead.rest", logging.WARNING, "the API server warns: get pods ns/web: b"),
    ]


@in_virtual_time
async def test_the_number_of_remembered_warnings_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"pod-{i}" for i in range(1001)]
    responses = [warning(200, *texts[start : start + 100]) for start in range(0, 1001, 100)]
    rest, _ = client(*responses, warning(200, "pod-0"))
    for _ in range(len(responses) + 1):
        await rest.call(get())
    assert len(caplog.messages) == 1002


@in_virtual_time
async def test_an_invalid_warning_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    rest, _ = client(FakeResponse(headers=[("Content-Type", JSON), ("Warning", "199"), ("Warning", '"')]))
    assert (await rest.call(get())).warnings == ()
    assert not caplog.messages
