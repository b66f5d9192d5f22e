from __future__ import annotations

import pytest
from tests.unit.spdy.recorded import FRAMES

from masthead._spdy.errors import SpdyError
from masthead._spdy.events import (
    GoneAway,
    PingAcknowledged,
    StreamData,
    StreamEnded,
    StreamOpened,
    StreamReplied,
    StreamReset,
)
from masthead._spdy.frames import MAX_DATA_LENGTH, FrameType, ResetStatus, encode_control, encode_data_head
from masthead._spdy.session import SpdyLimits, SpdySession
from masthead.errors import ClosedError


def pair(limits: SpdyLimits | None = None) -> tuple[SpdySession, SpdySession]:
    return SpdySession(is_client=True), SpdySession(is_client=False, limits=limits)


def test_a_stream_is_opened_answered_used_and_ended_by_both_sides() -> None:
    client, server = pair()
    stream = client.open_stream({"streamType": "data", "port": "8080"})
    assert server.receive(client.data_to_send()) == [StreamOpened(1, {"streamtype": "data", "port": "8080"})]
    server.reply(stream)
    server.send_data(stream, b"hi")
    assert client.receive(server.data_to_send()) == [StreamReplied(1, {}), StreamData(1, memoryview(b"hi"))]
    client.send_data(stream, b"bye", fin=True)
    assert server.receive(client.data_to_send()) == [StreamData(1, memoryview(b"bye")), StreamEnded(1)]
    assert (client.is_writable(stream), server.is_writable(stream)) == (False, True)
    server.send_data(stream, b"", fin=True)
    assert client.receive(server.data_to_send()) == [StreamEnded(1)]
    assert not client.open_streams
    assert not server.open_streams


def test_a_session_of_spdystream_is_understood() -> None:
    server = SpdySession(is_client=False)
    assert server.receive(b"".join(FRAMES)) == [
        StreamOpened(1, {"streamtype": "error"}),
        StreamOpened(3, {"port": "8080"}),
        StreamOpened(5, {"requestid": "7"}),
        StreamEnded(5),
        StreamEnded(1),
        StreamData(3, memoryview(b"hello")),
        StreamEnded(3),
        PingAcknowledged(2),
        StreamReset(3, 5),
        GoneAway(3, 0),
    ]


def test_streams_of_the_two_sides_have_odd_and_even_numbers() -> None:
    client, server = pair()
    assert [client.open_stream({}), client.open_stream({})] == [1, 3]
    assert [server.open_stream({}), server.open_stream({})] == [2, 4]


def test_a_ping_of_the_peer_is_answered_and_an_answer_is_reported() -> None:
    client, server = pair()
    assert client.ping() == 1
    assert server.receive(client.data_to_send()) == []
    assert client.receive(server.data_to_send()) == [PingAcknowledged(1)]
    assert client.data_to_send() == b""
    assert client.ping() == 3


def test_a_reset_ends_a_stream_and_is_sent_once() -> None:
    client, server = pair()
    stream = client.open_stream({})
    server.receive(client.data_to_send())
    server.reset(stream, ResetStatus.INTERNAL_ERROR)
    server.reset(stream)
    assert client.receive(server.data_to_send()) == [StreamReset(1, ResetStatus.INTERNAL_ERROR)]
    with pytest.raises(ClosedError, match="stream 1 is closed"):
        client.send_data(stream, b"x")
    with pytest.raises(ClosedError, match="stream 1 is closed"):
        server.reply(stream)


def test_nothing_is_sent_after_the_end_of_a_stream() -> None:
    client, _ = pair()
    stream = client.open_stream({}, fin=True)
    with pytest.raises(ClosedError, match="stream 1 is closed"):
        client.send_data(stream, b"x")


def test_data_of_a_stream_that_is_gone_is_dropped() -> None:
    client, server = pair(SpdyLimits(max_streams=0))
    stream = client.open_stream({})
    server.receive(client.data_to_send())
    assert server.receive(encode_data_head(stream, 1) + b"x") == []
    client.reset(stream)
    assert client.receive(encode_data_head(stream, 1) + b"x" + encode_data_head(stream, 0, fin=True)) == []


@pytest.mark.parametrize("stream_id", [1, 2, 0x47455420])
def test_data_of_a_stream_that_was_never_opened_is_an_error(stream_id: int) -> None:
    for session in pair():
        with pytest.raises(SpdyError, match=f"stream {stream_id}, which was never opened"):
            session.receive(encode_data_head(stream_id, 2**20) + b"x")


def test_a_stream_that_comes_after_going_away_is_dropped_with_its_data() -> None:
    client, server = pair()
    stream = client.open_stream({})
    client.send_data(stream, b"late")
    server.go_away()
    assert server.receive(client.data_to_send()) == []


def test_data_after_the_end_is_dropped() -> None:
    client, _ = pair()
    stream = client.open_stream({})
    events = client.receive(encode_data_head(stream, 0, fin=True) + encode_data_head(stream, 1) + b"x")
    assert events == [StreamEnded(stream)]


def test_streams_beyond_the_limit_are_refused_and_the_session_goes_on() -> None:
    client, server = pair(SpdyLimits(max_streams=1))
    first, second = client.open_stream({}), client.open_stream({})
    assert server.receive(client.data_to_send()) == [StreamOpened(first, {})]
    assert client.receive(server.data_to_send()) == [StreamReset(second, ResetStatus.REFUSED_STREAM)]
    server.reset(first)
    third = client.open_stream({})
    assert server.receive(client.data_to_send()) == [StreamOpened(third, {})]


@pytest.mark.parametrize("stream_id", [2, 1])
def test_a_stream_number_of_the_other_side_or_an_old_one_is_reset(stream_id: int) -> None:
    server = SpdySession(is_client=False)
    other = SpdySession(is_client=True)
    other.open_stream({})
    server.receive(other.data_to_send())
    other._next_stream = stream_id
    other.open_stream({})
    assert server.receive(other.data_to_send()) == []
    assert other.receive(server.data_to_send()) == [StreamReset(stream_id, ResetStatus.PROTOCOL_ERROR)]


def test_no_stream_is_opened_or_accepted_after_going_away() -> None:
    client, server = pair()
    late = client.open_stream({})
    server.go_away()
    server.go_away()
    assert server.receive(client.data_to_send()) == []
    assert client.receive(server.data_to_send()) == [GoneAway(0, 0)]
    assert client.has_gone_away
    with pytest.raises(ClosedError, match="accepts no more streams"):
        client.open_stream({})
    assert late in client.open_streams


def test_data_longer_than_a_frame_is_sent_in_several() -> None:
    client, server = pair()
    stream = client.open_stream({})
    server.receive(client.data_to_send())
    client.send_data(stream, bytes(MAX_DATA_LENGTH + 1), fin=True)
    events = server.receive(client.data_to_send())
    assert [len(event.data) for event in events if isinstance(event, StreamData)] == [MAX_DATA_LENGTH, 1]
    assert events[-1] == StreamEnded(stream)


def test_a_session_that_has_failed_stays_failed() -> None:
    client, _ = pair()
    broken = encode_control(FrameType.PING, b"")
    for wire in (broken, FRAMES[7]):
        with pytest.raises(SpdyError, match="PING"):
            client.receive(wire)


def test_a_second_reply_means_nothing() -> None:
    client, server = pair()
    stream = client.open_stream({})
    server.receive(client.data_to_send())
    server.reply(stream, {"a": "1"})
    server.reply(stream, {"a": "2"})
    assert client.receive(server.data_to_send()) == [StreamReplied(stream, {"a": "1"})]


def test_ping_numbers_begin_again_after_the_last() -> None:
    client, server = pair()
    client._next_ping = 0x7FFF_FFFF
    server._next_ping = 0x7FFF_FFFE
    assert [client.ping(), client.ping()] == [0x7FFF_FFFF, 1]
    assert [server.ping(), server.ping()] == [0x7FFF_FFFE, 2]
