"""Followed logs: whatever happens to the connections, each line is delivered once, and in order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.log_lines import LogLineDecoder
from masthead._sansio.log_resume import LogResume

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = 1_700_000_000 * 10**9
SECOND = 10**9
TEXTS = st.sampled_from(["tick", "tock", "", " ", "2023-01-01T00:00:00Z quoted", "größe", "x" * 70])


def stamped(when: int, text: str) -> bytes:
    second = (EPOCH + timedelta(seconds=when // SECOND)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{second}.{when % SECOND:09}Z {text}".encode()


@dataclass
class Node:
    """A node's log file, read as a kubelet reads it.

    Attributes:
        lines: The time in nanoseconds and the text of each line.
        first: How many lines ``tailLines`` leaves out.
    """

    lines: list[tuple[int, str]]
    first: int = 0

    def read(self, since: str | None) -> bytes:
        """All that one connection sends."""
        if since is None:
            chosen = self.lines[self.first :]
        else:
            start = int(datetime.fromisoformat(since).timestamp()) * SECOND
            chosen = [line for line in self.lines if line[0] >= start]
        return b"".join(stamped(*line) + b"\n" for line in chosen)

    @property
    def expected(self) -> list[bytes]:
        return [stamped(*line) for line in self.lines[self.first :]]


def followed(node: Node, losses: list[int], chunks: list[int], resume: LogResume) -> list[bytes]:
    """Follow a log: each connection is lost after so many bytes, the last one is not."""
    found: list[bytes] = []
    for loss in losses:
        for chunk in split(node.read(resume.since)[:loss], chunks):
            found += resume.feed(chunk)
        resume.lost()
    for chunk in split(node.read(resume.since), chunks):
        found += resume.feed(chunk)
    return found + resume.end()


def split(data: bytes, lengths: list[int]) -> list[bytes]:
    parts: list[bytes] = []
    while data:
        length = lengths[len(parts) % len(lengths)]
        parts.append(data[:length])
        data = data[length:]
    return parts


def in_order(steps: list[tuple[int, str]]) -> list[tuple[int, str]]:
    when, lines = START, []
    for step, text in steps:
        when += step
        lines.append((when, text))
    return lines


STEPS = st.sampled_from([0, 0, 1, SECOND // 3, SECOND, 5 * SECOND])
ORDERED = st.lists(st.tuples(STEPS, TEXTS), max_size=30).map(in_order)
LOSSES = st.lists(st.integers(0, 1500), max_size=6)
CHUNKS = st.lists(st.integers(1, 200), min_size=1, max_size=5)


@given(ORDERED, LOSSES, CHUNKS, st.sampled_from([0, 100, 64 * 1024]))
def test_each_line_is_delivered_once_and_in_order(
    lines: list[tuple[int, str]], losses: list[int], chunks: list[int], window: int
) -> None:
    node = Node(lines)

    assert followed(node, losses, chunks, LogResume(window=window)) == node.expected


@given(ORDERED, st.lists(st.integers(0, SECOND)), LOSSES, CHUNKS)
def test_timestamps_may_be_out_of_order_by_a_second(
    lines: list[tuple[int, str]], early: list[int], losses: list[int], chunks: list[int]
) -> None:
    shifted = [(when - by, text) for (when, text), by in zip(lines, early, strict=False)]
    node = Node(shifted + lines[len(shifted) :])

    assert followed(node, losses, chunks, LogResume()) == node.expected


@given(ORDERED, LOSSES, CHUNKS, st.integers(0, 30))
def test_lines_before_the_requested_tail_stay_out(
    lines: list[tuple[int, str]], losses: list[int], chunks: list[int], first: int
) -> None:
    # Lines with equal time and text cannot be distinguished.
    numbered = [(when, f"{number} {text}") for number, (when, text) in enumerate(lines)]
    node = Node(numbered, min(first, max(0, len(lines) - 1)))

    assert followed(node, losses, chunks, LogResume()) == node.expected


@given(LOSSES, CHUNKS, st.sampled_from([0, 150, 64 * 1024]))
def test_pieces_of_a_long_line_are_delivered_once(losses: list[int], chunks: list[int], window: int) -> None:
    node = Node([(START, "before"), (START, "".join(map(str, range(200)))), (START + 1, "after")])
    lines = LogLineDecoder(100, has_stamps=True)

    found = followed(node, losses, chunks, LogResume(limit=100, window=window))

    assert found == lines.feed(node.read(None))
    assert len(found) > 3


def test_a_line_that_is_cut_in_the_middle_is_delivered_whole() -> None:
    node = Node([(START, "one"), (START + 1, "two")])
    resume = LogResume()

    assert resume.feed(node.read(None)[:-3]) == [stamped(START, "one")]
    resume.lost()
    assert resume.feed(node.read(resume.since)) == [stamped(START + 1, "two")]


def test_a_rotation_during_a_lost_connection_loses_no_other_line() -> None:
    lines = [(START + number, f"line {number}") for number in range(100)]
    resume = LogResume()
    resume.feed(Node(lines[:50]).read(None))
    resume.lost()

    rotated = Node(lines[40:])  # some of the seen lines were rotated away
    assert resume.feed(rotated.read(resume.since)) == [stamped(*line) for line in lines[50:]]
    resume.lost()
    rotated = Node([(START + 5 * SECOND, "after")])  # all of them are
    assert resume.feed(rotated.read(resume.since)) == [stamped(START + 5 * SECOND, "after")]


def test_the_next_instance_of_a_container_may_write_in_the_same_instant() -> None:
    resume = LogResume()
    resume.feed(Node([(START, "one")]).read(None))
    resume.lost(is_ended=True)

    assert resume.feed(Node([(START, "started again")]).read(resume.since)) == [stamped(START, "started again")]


def test_messages_of_the_node_itself_are_delivered() -> None:
    node = Node([(START, "one")])
    resume = LogResume()

    assert resume.feed(node.read(None) + b"failed to watch file\n")[1:] == [b"failed to watch file"]
    resume.lost()
    assert resume.feed(node.read(resume.since) + b"again\n") == [b"again"]


def test_the_end_of_a_split_line_is_not_repeated() -> None:
    # The node joins what the container runtime has split, and leaves out the parts before sinceTime.
    half = "".join(map(str, range(2000)))
    resume = LogResume()
    late = START + SECOND - 1
    resume.feed(stamped(late, half + half) + b"\n" + stamped(late + 2 * SECOND - 1, "last") + b"\n")
    resume.lost()

    assert resume.since == "2023-11-14T22:13:21Z"
    again = [
        stamped(late + 2, half),
        stamped(late + 2 * SECOND - 1, "last"),
        stamped(late + 2 * SECOND, "new"),
    ]
    assert resume.feed(b"\n".join(again) + b"\n") == again[-1:]


def test_local_time_that_is_set_back_costs_no_line() -> None:
    resume = LogResume()
    resume.feed(b"2023-10-29T02:59:59.9+02:00 summer\n")
    resume.lost()

    assert resume.since == "2023-10-29T00:59:58Z"
    again = b"2023-10-29T02:59:59.9+02:00 summer\n2023-10-29T02:00:00.1+01:00 winter\n"
    assert resume.feed(again) == [b"2023-10-29T02:00:00.1+01:00 winter"]


def test_before_the_first_line_the_first_request_is_repeated() -> None:
    resume = LogResume()
    resume.feed(b"2023-10-29T02:5")
    resume.lost()

    assert resume.since is None
    assert resume.last is None
    assert resume.end() == []


@pytest.mark.parametrize("step", [0, 1000])
def test_memory_is_constant(step: int) -> None:
    resume = LogResume()
    for number in range(2000):
        resume.feed(b"".join(stamped(START + (number * 50 + i) * step, "x" * 70) + b"\n" for i in range(50)))

    kept = sum(len(line) for lines, _ in resume._recent for line in lines)
    assert kept < 80_000
