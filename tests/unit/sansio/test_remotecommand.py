"""The messages of exec and attach, and what a Status on the error channel means."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.remotecommand import (
    PROTOCOLS,
    Channel,
    ExitStatus,
    MalformedStatusError,
    StatusCollector,
    can_close,
    close_message,
    encode_message,
    exit_status,
    resize_message,
)


def failure(reason: str, message: str = "it failed", *causes: tuple[str, str]) -> bytes:
    details = {"causes": [{"reason": cause, "message": text} for cause, text in causes]}
    status = {"metadata": {}, "status": "Failure", "reason": reason, "message": message, "details": details}
    return json.dumps(status).encode()


def test_a_message_begins_with_its_channel() -> None:
    assert encode_message(Channel.STDIN, b"ls\n") == b"\x00ls\n"
    assert encode_message(Channel.STDIN, memoryview(b"")) == b"\x00"


def test_only_the_newest_protocol_can_close_a_channel() -> None:
    assert [can_close(protocol) for protocol in PROTOCOLS] == [True, False]
    assert close_message(Channel.STDIN) == b"\xff\x00"


def test_the_size_of_a_terminal_has_the_names_of_gos_fields() -> None:
    message = resize_message(120, 40)
    assert (message[0], json.loads(message[1:])) == (Channel.RESIZE, {"Width": 120, "Height": 40})


def test_success_is_exit_code_0() -> None:
    assert exit_status(b'{"metadata":{},"status":"Success"}') == ExitStatus(0)


@given(st.integers(1, 255) | st.just(-1) | st.just(2**32 - 1))
def test_an_exit_code_is_in_the_causes(code: int) -> None:
    found = exit_status(failure("NonZeroExitCode", "m", ("Other", "1"), ("ExitCode", str(code))))
    assert found == ExitStatus(code, message="m")


@pytest.mark.parametrize(
    "status",
    [
        failure("InternalError"),
        failure("NonZeroExitCode"),
        failure("NonZeroExitCode", "it failed", ("ExitCode", "three")),
        failure("NonZeroExitCode", "it failed", ("ExitCode", "0")),
        failure("NonZeroExitCode", "it failed", ("ExitCode", "-0")),
        failure("NonZeroExitCode", "it failed", ("ExitCode", " 3")),
        failure("NonZeroExitCode", "it failed", ("ExitCode", "9" * 5000)),
        failure("NonZeroExitCode", "it failed", ("ExitCode", "\N{ARABIC-INDIC DIGIT THREE}")),
    ],
)
def test_any_other_failure_has_no_exit_code(status: bytes) -> None:
    found = exit_status(status)
    assert (found.code, found.message) == (None, "it failed")
    assert found.reason


@given(
    st.binary(max_size=60).filter(lambda data: data[:1] != b"{")
    | st.integers(0, 70).map(lambda end: failure("InternalError")[:end])
)
def test_half_a_status_or_none_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedStatusError, match="is not a Status"):
        exit_status(data)


@given(st.lists(st.integers(0, 200), max_size=6))
def test_any_split_of_a_status_gives_the_same(cuts: list[int]) -> None:
    status = failure("NonZeroExitCode", "m" * 50, ("ExitCode", "7"))
    ends = sorted(min(cut, len(status)) for cut in cuts)
    collector = StatusCollector()
    assert collector.is_empty
    for start, end in zip([0, *ends], [*ends, len(status)], strict=True):
        collector.feed(status[start:end])
    assert collector.status().code == 7


def test_an_endless_status_is_not_collected_for_ever() -> None:
    collector = StatusCollector()
    for _ in range(1000):
        collector.feed(b"x" * 1024)
    with pytest.raises(MalformedStatusError) as caught:
        collector.status()
    assert len(str(caught.value)) < 1000
