"""The line discipline of a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from masthead_server.kubelet.shell.terminal import LineDiscipline


def test_keys_become_lines_and_are_echoed() -> None:
    terminal = LineDiscipline()

    assert terminal.feed(b"ab") == b"ab"
    assert terminal.lines == []
    assert terminal.feed(b"c\rd\n") == b"c\r\nd\r\n"
    assert terminal.lines == [b"abc\n", b"d\n"]


def test_erase_removes_whole_characters_and_nothing_from_an_empty_line() -> None:
    terminal = LineDiscipline()

    assert terminal.feed("é\x7f\x7fx\x15\r".encode()) == "é\b \bx\b \b\r\n".encode()
    assert terminal.lines == [b"\n"]


def test_control_keys_interrupt_and_end() -> None:
    terminal = LineDiscipline()

    assert terminal.feed(b"junk\x03") == b"junk^C\r\n"
    assert terminal.is_interrupted
    assert terminal.feed(b"part\x04\x04") == b"part"
    assert terminal.lines == [b"part", b""]
    assert not terminal.is_interrupted


def test_arrow_keys_are_ignored_and_lines_are_bounded() -> None:
    terminal = LineDiscipline()

    assert terminal.feed(b"\x1b[A\x1b[3~ok") == b"ok"
    assert terminal.feed(b"x" * 5000)[-1:] == b"\a"
    terminal.feed(b"\r")
    assert len(terminal.lines[0]) == 4096


@given(st.binary(max_size=60), st.integers(1, 7))
def test_how_keys_are_split_does_not_matter(keys: bytes, step: int) -> None:
    whole, pieces = LineDiscipline(), LineDiscipline()

    expected = whole.feed(keys)
    lines: list[bytes] = []
    echo = b""
    for start in range(0, len(keys), step):
        echo += pieces.feed(keys[start : start + step])
        # Ctrl-C drops what was typed ahead, and not read yet.
        lines = [*([] if pieces.is_interrupted else lines), *pieces.lines]

    assert echo == expected
    assert lines == whole.lines
