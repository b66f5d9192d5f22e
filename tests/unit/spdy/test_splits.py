"""Whatever the network does to the bytes, a session sees the same, and nothing but `SpdyError` comes of bad ones."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.spdy.recorded import FRAMES

from masthead._spdy.errors import SpdyError
from masthead._spdy.events import SpdyEvent, StreamData, StreamOpened
from masthead._spdy.session import SpdyLimits, SpdySession

if TYPE_CHECKING:
    from collections.abc import Sequence

names = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=10)
headers = st.dictionaries(names, st.text(max_size=20), max_size=4)
messages = st.lists(
    st.tuples(headers, st.lists(st.binary(max_size=50), max_size=3), st.booleans()), min_size=1, max_size=4
)


def chunks(wire: bytes, cuts: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(wire) + 1) for cut in cuts), len(wire)]
    return [wire[start:end] for start, end in itertools.pairwise(edges)]


def joined(events: Sequence[SpdyEvent]) -> list[object]:
    """The events, with neighbouring pieces of one stream put together."""
    result: list[object] = []
    for event in events:
        if not isinstance(event, StreamData):
            result.append(event)
        elif result and isinstance(result[-1], list) and result[-1][0] == event.stream_id:
            result[-1][1] += bytes(event.data)
        else:
            result.append([event.stream_id, bytes(event.data)])
    return result


def session_of(sent: list[tuple[dict[str, str], list[bytes], bool]]) -> bytes:
    client = SpdySession(is_client=True)
    for given_headers, data, fin in sent:
        stream = client.open_stream(given_headers)
        for each in data:
            client.send_data(stream, each)
        if fin:
            client.send_data(stream, b"", fin=True)
        client.ping()
    client.go_away()
    return client.data_to_send()


def outcome(wires: Sequence[bytes]) -> tuple[list[object], bytes, str]:
    server = SpdySession(is_client=False, limits=SpdyLimits(max_control_bytes=512, max_header_bytes=2048))
    events: list[SpdyEvent] = []
    problem = ""
    for wire in wires:
        try:
            events += server.receive(wire)
        except SpdyError as error:
            problem = str(error)
            break
    return joined(events), server.data_to_send(), problem


@given(messages, st.lists(st.integers(0, 2000), max_size=30))
def test_any_split_gives_the_same_events(sent: list[tuple[dict[str, str], list[bytes], bool]], cuts: list[int]) -> None:
    wire = session_of(sent)
    assert outcome(chunks(wire, cuts)) == outcome([wire])


@given(messages)
def test_what_is_sent_is_received(sent: list[tuple[dict[str, str], list[bytes], bool]]) -> None:
    server = SpdySession(is_client=False)
    events = server.receive(session_of(sent))
    assert [event.headers for event in events if isinstance(event, StreamOpened)] == [each[0] for each in sent]
    for stream_id, (_, data, _) in zip(itertools.count(1, 2), sent, strict=False):
        received = [
            bytes(event.data) for event in events if isinstance(event, StreamData) and event.stream_id == stream_id
        ]
        assert b"".join(received) == b"".join(data)


@given(st.lists(st.sampled_from(FRAMES) | st.binary(max_size=40), max_size=8), st.data())
def test_bad_bytes_raise_spdy_errors_only(pieces: list[bytes], data: st.DataObject) -> None:
    wire = bytearray(b"".join(pieces))
    for _ in range(data.draw(st.integers(0, 5))):
        if wire:
            wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    cuts = data.draw(st.lists(st.integers(0, len(wire)), max_size=10))
    _, output, problem = outcome(chunks(bytes(wire), cuts))
    assert len(output) <= len(wire)
    assert problem == outcome([bytes(wire)])[2]
