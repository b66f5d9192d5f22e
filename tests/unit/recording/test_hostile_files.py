"""Damaged and hostile files: their readable part is read, or they are refused."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masthead._recording.entries import Change, KindLine, Listed
from masthead._recording.frames import encode_frame
from masthead._recording.writer import RecordingWriter
from masthead._recording.zstd import load_codec
from masthead.errors import RecordingError
from masthead.recording import Recording

CHANGES = 30


def whole_file() -> bytes:
    """A recording with a frame for every third change."""
    with tempfile.TemporaryDirectory() as folder:
        writer = RecordingWriter(Path(folder, "whole"), now=lambda: 1)
        writer.write(KindLine(time=1, number=0, version="v1", kind="Pod", plural="pods"))
        writer.write(Listed(time=1, kind=0, version="1"))
        for number in range(CHANGES):
            text = msgspec.Raw(b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}')
            writer.write(Change(time=number, kind=0, op="MODIFIED", name="a", version=str(number), object=text))
            if number % 3 == 2:
                writer.flush()
        writer.close()
        return Path(folder, "whole").read_bytes()


WHOLE = whole_file()


def read(content: bytes) -> tuple[list[str], str]:
    """The versions of a file, and why its end is missing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.mhr")
        path.write_bytes(content)
        with Recording(path) as recording:
            # Everything that the index promises can be read.
            return [each.version for each in recording.changes() if str(each.object.gvk)], recording.cut_off


@given(st.integers(0, len(WHOLE) - 1))
def test_file_that_was_cut_off_is_read_up_to_its_last_whole_frame(size: int) -> None:
    try:
        versions, cut_off = read(WHOLE[:size])
    except RecordingError:
        # Not even its first frame is there.
        assert size < len(WHOLE) // 4
        return
    assert versions == [str(number) for number in range(len(versions))]
    assert len(versions) % 3 == 0
    assert cut_off or len(versions) < CHANGES


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=5))
def test_changed_bytes_cost_at_most_the_frames_behind_them(damage: list[tuple[int, int]]) -> None:
    content = bytearray(WHOLE)
    for position, value in damage:
        content[position] = value
    try:
        versions, cut_off = read(bytes(content))
    except RecordingError:
        return
    assert versions == [str(number) for number in range(len(versions))]
    assert cut_off or len(versions) == CHANGES


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(RecordingError):
        read(content)


LINES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ENTRIES = st.fixed_dictionaries(
    {"entry": st.sampled_from(["head", "kind", "listed", "change", "reconcile", "mark"]), "time": st.integers()},
    optional={
        "version": st.integers(-1, 2) | st.text(max_size=3),
        "kind": st.integers(-1, 2) | st.text(max_size=3),
        "number": st.integers(-1, 2),
        "plural": st.text(max_size=3),
        "op": st.sampled_from(["STATE", "ADDED", "MODIFIED", "DELETED", "OTHER"]),
        "name": st.text(max_size=3),
        "object": LINES,
        "scope": st.text(max_size=3),
        "dropped": st.integers(),
        "text": st.text(max_size=3),
    },
)


@settings(max_examples=200)
@given(st.lists(ENTRIES, max_size=8))
def test_frames_with_any_lines_are_read_or_refused(entries: list[dict[str, object]]) -> None:
    head: dict[str, object] = {"entry": "head", "time": 1, "version": 1}
    content = b"".join(msgspec.json.encode(entry) + b"\n" for entry in [head, *entries])
    frame = encode_frame(load_codec().compress(content), len(content), entries=1, first=0, last=0)
    with suppress(RecordingError):
        read(frame)


def test_frame_that_holds_more_than_it_says_is_refused() -> None:
    bomb = load_codec().compress(bytes(50 << 20))
    with pytest.raises(RecordingError, match="not the 100 bytes"):
        read(encode_frame(bomb, 100, entries=1, first=0, last=0))
