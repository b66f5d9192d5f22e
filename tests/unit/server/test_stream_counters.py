"""Where in the bytes of a stream a fault is due."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from masthead_server.stream_counters import BodyCounter, ChunkCounter, MessageCounter, StreamHead
from masthead_server.web.frames import encode_frame

if TYPE_CHECKING:
    from masthead_server.stream_counters import StreamCounter

PIECES = st.lists(st.binary(min_size=1, max_size=300), max_size=6)
CUTS = st.lists(st.integers(0, 2000), max_size=8)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    """The same bytes in several pieces."""
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def position(counter: StreamCounter, pieces: list[bytes]) -> int | None:
    """Where in all pieces together the fault is due."""
    passed = 0
    for piece in pieces:
        due = counter.find(piece)
        if due is not None:
            return passed + due
        passed += len(piece)
    return None


@given(PIECES, CUTS, st.integers(0, 2000))
def test_a_body_is_cut_at_its_byte(bodies: list[bytes], cuts: list[int], after: int) -> None:
    data = b"".join(bodies)
    found = position(BodyCounter(after), split(data, cuts) or [b""])
    assert found == (after if after <= len(data) else None)


@given(PIECES, CUTS, st.integers(0, 2000))
def test_the_framing_of_chunks_is_not_counted(bodies: list[bytes], cuts: list[int], after: int) -> None:
    data = b"".join(b"%x\r\n%s\r\n" % (len(body), body) for body in bodies) + b"0\r\n\r\n"
    found = position(ChunkCounter(after), split(data, cuts))
    whole = b"".join(bodies)
    if after > len(whole):
        assert found is None
        return
    assert found is not None
    assert unchunked(data[:found]) == whole[:after]


def unchunked(data: bytes) -> bytes:
    """The bytes in the chunks of a body that may be cut off."""
    found = b""
    while b"\r\n" in data:
        size, _, rest = data.partition(b"\r\n")
        found += rest[: int(size, 16)]
        data = rest[int(size, 16) + 2 :]
    return found


@given(PIECES, CUTS, st.integers(0, 2000))
def test_a_message_is_never_torn_apart(payloads: list[bytes], cuts: list[int], after: int) -> None:
    frames = [encode_frame(2, payload) for payload in payloads]
    data = b"".join(frames)
    found = position(MessageCounter(after), split(data, cuts) or [b""])
    edges = [sum(map(len, frames[:count])) for count in range(len(frames) + 1)]
    assert found == next((edge for edge in edges if edge >= after), None)


def test_long_messages_are_whole_too() -> None:
    frames = [encode_frame(2, bytes(size)) for size in (125, 126, 65535, 65536, 70000)]
    sizes = [len(frame) for frame in frames]
    for count in range(1, len(frames)):
        assert position(MessageCounter(sum(sizes[:count]) - 1), [b"".join(frames)]) == sum(sizes[:count])


@given(CUTS, st.binary(max_size=20))
def test_the_head_of_a_response_is_no_part_of_its_stream(cuts: list[int], body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"
    found = StreamHead()
    taken = sum(found.take(piece) for piece in split(head + body, cuts))
    assert taken == len(head)
    assert found.is_complete
    assert found.is_chunked
    assert not found.is_websocket
