"""Frames of WebSockets: every message arrives whole, however it is cut, and a broken protocol ends the connection."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.web.masked_frames import mask_frame

from masthead_server.web.frames import FrameParser, Message, Opcode, encode_close, encode_frame

LIMIT = 100_000
SIZES = st.sampled_from([0, 1, 2, 124, 125, 126, 127, 300, 65535, 65536])
PAYLOADS = SIZES.map(lambda size: bytes(index % 251 for index in range(size)))
CUTS = st.lists(st.integers(0, 200_000), max_size=6)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def parse(data: bytes, cuts: list[int] | None = None) -> tuple[list[Message], int]:
    """Return the messages, and the close code of an error; 0 without one."""
    parser = FrameParser(LIMIT)
    messages = [message for piece in split(data, cuts or []) for message in parser.feed(piece)]
    while parser.has_more:
        messages += parser.feed(b"")
    return messages, parser.error.code if parser.error is not None else 0


@given(st.lists(st.tuples(st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.PING]), PAYLOADS), max_size=4), CUTS)
def test_messages_arrive_whole_however_they_are_cut(sent: list[tuple[Opcode, bytes]], cuts: list[int]) -> None:
    sent = [(opcode, payload[:125] if opcode is Opcode.PING else payload) for opcode, payload in sent]
    data = b"".join(mask_frame(opcode, payload) for opcode, payload in sent)
    assert parse(data, cuts) == ([Message(opcode, payload) for opcode, payload in sent], 0)


@given(st.lists(PAYLOADS, min_size=1, max_size=4), CUTS)
def test_fragments_are_joined_and_control_frames_may_come_between(payloads: list[bytes], cuts: list[int]) -> None:
    data, whole = b"", b"".join(payloads)
    for index, payload in enumerate(payloads):
        opcode = Opcode.CONTINUATION if index else Opcode.BINARY
        data += mask_frame(opcode, payload, is_final=index == len(payloads) - 1) + mask_frame(Opcode.PING, b"p")
    messages, code = parse(data, cuts)
    if len(whole) > LIMIT:
        assert code == 1009
        return
    assert [message.data for message in messages if message.opcode is Opcode.BINARY] == [whole]
    assert sum(message.opcode is Opcode.PING for message in messages) == len(payloads)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (mask_frame(2, b"a" * 125, form=2), 1002),
        (mask_frame(2, b"a" * 125, form=8), 1002),
        (mask_frame(2, b"a" * 126, form=8), 1002),
        (mask_frame(2, b"a" * 65535, form=8), 1002),
        (mask_frame(2, b"", form=2), 1002),
        (encode_frame(2, b"unmasked"), 1002),
        (encode_frame(9, b""), 1002),
        (mask_frame(2, b"a", reserved=1), 1002),
        (mask_frame(2, b"a", reserved=2), 1002),
        (mask_frame(2, b"a", reserved=4), 1002),
        (mask_frame(3, b"a"), 1002),
        (mask_frame(7, b"a"), 1002),
        (mask_frame(0xB, b"a"), 1002),
        (mask_frame(0xF, b"a"), 1002),
        (mask_frame(0, b"a"), 1002),
        (mask_frame(2, b"a", is_final=False) + mask_frame(2, b"b"), 1002),
        (mask_frame(9, b"a", is_final=False), 1002),
        (mask_frame(9, b"a" * 126), 1002),
        (mask_frame(8, b"\x03"), 1002),
        (mask_frame(8, (999).to_bytes(2)), 1002),
        (mask_frame(8, (1005).to_bytes(2)), 1002),
        (mask_frame(8, (1006).to_bytes(2)), 1002),
        (mask_frame(8, (5000).to_bytes(2)), 1002),
        (mask_frame(8, (1000).to_bytes(2) + b"\xff"), 1007),
        (mask_frame(2, bytes(LIMIT + 1)), 1009),
        (b"\x82\xff" + (2**63 + 5).to_bytes(8) + b"mask", 1009),
        (mask_frame(2, bytes(LIMIT), is_final=False) + mask_frame(0, b"a"), 1009),
    ],
    ids=lambda value: value[:3].hex() if isinstance(value, bytes) else None,
)
@pytest.mark.parametrize("size", [1, 5, 10**6], ids="pieces-of-{}".format)
def test_a_client_that_breaks_the_protocol_is_told_why(frame: bytes, code: int, size: int) -> None:
    before = mask_frame(1, b"before")
    data = before + frame
    messages, found = parse(data, list(range(0, len(data), size))[:2000])
    assert found == code
    # What came before counts.
    assert messages[0] == Message(Opcode.TEXT, b"before")
    assert len(messages) == 1


def test_a_frame_that_is_too_large_is_refused_by_its_head() -> None:
    parser = FrameParser(10)
    assert parser.feed(b"\x82\xff" + (2**40).to_bytes(8) + b"mask") == []
    assert parser.error is not None


def test_a_message_of_endless_empty_frames_is_refused() -> None:
    data = mask_frame(2, b"", is_final=False) + mask_frame(0, b"", is_final=False) * 200_000
    assert parse(data) == ([], 1009)


def test_nothing_is_parsed_behind_an_error() -> None:
    parser = FrameParser(LIMIT)
    parser.feed(b"\xff\xff")
    assert parser.feed(mask_frame(2, b"a") * 3) == []


@given(st.binary(max_size=300), CUTS)
def test_no_bytes_make_the_parser_fail_in_another_way(data: bytes, cuts: list[int]) -> None:
    messages, code = parse(data, cuts)
    assert all(len(message.data) <= len(data) for message in messages)
    assert code in {0, 1002, 1007, 1009}


def test_a_long_reason_is_cut_between_characters() -> None:
    frame = encode_close(1002, "é" * 100)
    assert len(frame) <= 2 + 125
    assert frame[4:].decode() == "é" * 61


@pytest.mark.parametrize(("size", "head"), [(125, 2), (126, 4), (65535, 4), (65536, 10)])
def test_lengths_that_are_sent_have_their_shortest_form(size: int, head: int) -> None:
    assert len(encode_frame(2, bytes(size))) == head + size


def test_a_flood_of_frames_is_parsed_in_steps() -> None:
    parser = FrameParser(1000)
    pongs = b"\x8a\x80\0\0\0\0" * 2_500
    counts = [len(parser.feed(pongs))]
    while parser.has_more:
        counts.append(len(parser.feed(b"")))
    assert (sum(counts), max(counts), parser.error) == (2_500, 1_000, None)
