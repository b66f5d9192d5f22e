from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.portforward.stream_pair import (
    Finished,
    Received,
    RemoteEof,
    StreamPair,
    StreamPairEvent,
)
from masthead._spdy.errors import SpdyError
from masthead._spdy.events import StreamData, StreamEnded, StreamOpened
from masthead._spdy.frames import ResetStatus
from masthead._spdy.session import SpdySession

ERROR, DATA = 1, 3


def opened() -> tuple[StreamPair, SpdySession]:
    """A connection, and the server at its other end, which has accepted it."""
    pair, server = StreamPair(), SpdySession(is_client=False)
    pair.open(8080)
    server.receive(pair.data_to_send(2**20))
    server.reply(ERROR)
    server.reply(DATA)
    return pair, server


def test_a_connection_asks_for_two_streams_with_the_names_of_the_api() -> None:
    pair, server = StreamPair(), SpdySession(is_client=False)
    pair.open(8080)
    pair.send(b"hello")
    pair.send_eof()
    pair.send_eof()
    events = server.receive(pair.data_to_send(2**20))
    assert events == [
        StreamOpened(ERROR, {"streamtype": "error", "port": "8080", "requestid": "0"}),
        StreamEnded(ERROR),
        StreamOpened(DATA, {"streamtype": "data", "port": "8080", "requestid": "0"}),
        StreamData(DATA, memoryview(b"hello")),
        StreamEnded(DATA),
    ]
    assert not pair.is_accepted
    server.reply(DATA)
    assert pair.receive(server.data_to_send()) == []
    assert pair.is_accepted


def test_a_connection_is_finished_when_both_streams_have_ended() -> None:
    for order in itertools.permutations((ERROR, DATA)):
        pair, server = opened()
        server.send_data(DATA, b"bye")
        for each in order:
            server.send_data(each, b"", fin=True)
        events = pair.receive(server.data_to_send())
        assert events == [Received(memoryview(b"bye")), RemoteEof(), Finished()]


def test_a_direction_ends_by_itself() -> None:
    pair, server = opened()
    server.send_data(DATA, b"", fin=True)
    assert pair.receive(server.data_to_send()) == [RemoteEof()]
    pair.send(b"still")
    assert server.receive(pair.data_to_send(100)) == [StreamData(DATA, memoryview(b"still"))]


def test_the_text_of_the_error_stream_is_the_failure() -> None:
    pair, server = opened()
    server.send_data(ERROR, b"connection ")
    server.send_data(ERROR, b"refused\n", fin=True)
    server.reset(DATA)
    assert pair.receive(server.data_to_send()) == [Finished("connection refused")]


def test_a_reset_without_text_is_a_failure() -> None:
    pair, server = opened()
    server.reset(DATA, ResetStatus.INTERNAL_ERROR)
    assert pair.receive(server.data_to_send()) == [Finished("the pod's node has reset the connection")]


def test_a_refused_stream_is_a_failure_too() -> None:
    pair, server = StreamPair(), SpdySession(is_client=False)
    pair.open(8080)
    server.receive(pair.data_to_send(2**20))
    server.reset(DATA, ResetStatus.REFUSED_STREAM)
    server.reset(ERROR, ResetStatus.REFUSED_STREAM)
    [event] = pair.receive(server.data_to_send())
    assert isinstance(event, Finished)
    assert event.error


def test_a_reset_of_the_error_stream_is_its_end() -> None:
    pair, server = opened()
    server.send_data(ERROR, b"no such pod")
    server.reset(ERROR)
    assert pair.receive(server.data_to_send()) == [Finished("no such pod")]


def test_a_lost_connection_is_a_failure_unless_all_bytes_have_arrived() -> None:
    pair, server = opened()
    assert pair.connection_ended() == Finished("the connection to the pod was lost")
    assert pair.connection_ended() is None
    pair, server = opened()
    server.send_data(DATA, b"", fin=True)
    pair.receive(server.data_to_send())
    assert pair.connection_ended() == Finished()


def test_an_error_that_arrived_before_the_connection_was_lost_is_the_failure() -> None:
    pair, server = opened()
    server.send_data(ERROR, b"timed out waiting for streams")
    assert pair.receive(server.data_to_send()) == []
    assert pair.connection_ended() == Finished("timed out waiting for streams")


def test_the_text_of_an_error_is_bounded() -> None:
    pair, server = opened()
    server.send_data(ERROR, b"x" * 100_000, fin=True)
    [event] = pair.receive(server.data_to_send())
    assert event == Finished("x" * 4096)


def test_pings_are_answered_also_by_an_idle_session() -> None:
    pair, server = StreamPair(), SpdySession(is_client=False)
    server.ping()
    assert pair.receive(server.data_to_send()) == []
    assert pair.unsent
    assert pair.data_to_send(100)
    assert not pair.unsent


def test_a_server_opens_no_streams() -> None:
    pair, server = opened()
    server.open_stream({"streamType": "data"})
    assert pair.receive(server.data_to_send()) == []
    assert pair.unsent


def test_what_cannot_be_sent_is_dropped() -> None:
    pair = StreamPair()
    pair.send(b"early")
    pair.open(1)
    pair.send_eof()
    pair.data_to_send(1000)
    pair.send(b"late")
    assert not pair.unsent


def joined(events: list[StreamPairEvent]) -> list[object]:
    result: list[object] = []
    for event in events:
        if not isinstance(event, Received):
            result.append(event)
        elif result and isinstance(result[-1], bytes):
            result[-1] += bytes(event.data)
        else:
            result.append(bytes(event.data))
    return result


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("data"), st.binary(max_size=30)),
            st.tuples(st.just("error"), st.binary(max_size=30)),
            st.tuples(
                st.sampled_from(["data-fin", "error-fin", "data-reset", "error-reset", "ping", "go-away"]),
                st.just(b""),
            ),
        ),
        max_size=12,
    ),
    st.lists(st.integers(0, 400), max_size=20),
)
def test_any_split_of_the_bytes_gives_the_same_connection(steps: list[tuple[str, bytes]], cuts: list[int]) -> None:
    wires: list[list[StreamPairEvent]] = []
    sent = _scripted(steps)
    for chunks in ([sent], _split(sent, cuts)):
        pair, _ = opened()
        events = [event for chunk in chunks for event in pair.receive(chunk)]
        assert not any(isinstance(each, Finished) for each in events[:-1])
        wires.append(events)
    assert joined(wires[0]) == joined(wires[1])


def _scripted(steps: list[tuple[str, bytes]]) -> bytes:
    _, server = opened()
    for action, data in steps:
        stream = ERROR if action.startswith("error") else DATA
        if action == "ping":
            server.ping()
        elif action == "go-away":
            server.go_away()
        elif action.endswith("reset"):
            server.reset(stream)
        elif server.is_writable(stream):
            server.send_data(stream, data, fin=action.endswith("fin"))
    return server.data_to_send()


def _split(wire: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(wire) + 1) for cut in cuts), len(wire)]
    return [wire[start:end] for start, end in itertools.pairwise(edges)]


@given(st.binary(max_size=200))
def test_a_server_that_does_not_speak_spdy_is_an_error_of_the_protocol_at_most(wire: bytes) -> None:
    pair, _ = opened()
    try:
        pair.receive(wire)
    except SpdyError:
        with pytest.raises(SpdyError, match="SPDY"):
            pair.receive(b"")
