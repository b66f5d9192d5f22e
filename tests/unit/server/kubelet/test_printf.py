"""The escapes and directives of ``printf`` and ``echo -e``. The expected bytes are those of bash 5.2."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.kubelet.shell.printf import PrintfError, format_pieces, unescape


def printf(form: str, *values: str) -> bytes:
    return "".join(format_pieces(form, values)).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("form", "values", "printed"),
    [
        (r"\033[1m\101", (), b"\x1b[1mA"),
        (r"\0", (), b"\0"),
        (r"\0101", (), b"\x081"),  # three digits at most
        (r"\1\12\123\1234", (), b"\x01\nSS4"),
        (r"\8\9\q\c", (), rb"\8\9\q\c"),
        (r"\303\251", (), b"\xc3\xa9"),  # the bytes of a character
        (r"\777\400", (), b"\xff\0"),
        (r"\x4a1\x4g", (), b"J1\x04g"),
        (r"\a\b\e\E\f\n\r\t\v\\", (), b"\a\b\x1b\x1b\f\n\r\t\v\\"),
        (r"\"\'\?", (), b"\"'?"),
        ("a\\", (), b"a\\"),
        (r"\045s", ("a",), b"%s"),  # no directive
        (r"\\101", (), rb"\101"),
        (r"%s", (r"\101\0101\n",), rb"\101\0101\n"),
        (r"%b", (r"\0101\101\x41\n",), b"AAA\n"),
        (r"%b", (r"\01234\1234",), b"S4S4"),
        (r"%b", (r"\"\?\\c",), rb"\"\?\c"),
        (r"[%b]", (r"a\cb", "c"), b"[a"),  # and nothing more
        (r"%-3b|%5b|", (r"\0101", r"\t"), b"A  |    \t|"),
        (r"%s-%d\n", ("a", "1", "b", "2"), b"a-1\nb-2\n"),
        (r"%s %d|", ("a",), b"a 0|"),
        (r"%s\n", (), b"\n"),
        ("no directive ", ("a", "b"), b"no directive "),
        (r"%%|%5s|%.s|%5.1s|", ("x", "abc", "abc"), b"%|    x||    a|"),
        (r"%05d|%+d|%.3d|%-4d|", ("42", "7", "5", "3"), b"00042|+7|005|3   |"),
        (
            r"%x %X %o %u %i",
            ("-1", "255", "8", "-2", "-2"),
            b"ffffffffffffffff FF 10 18446744073709551614 -2",
        ),
    ],
)
def test_printf(form: str, values: tuple[str, ...], printed: bytes) -> None:
    assert printf(form, *values) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (r"\0101\101\x41\e[0m\\", b"A\\101A\x1b[0m\\"),
        (r"\01234\0", b"S4\0"),
        (r"\0303\0251\0400", b"\xc3\xa9\0"),
        (r"\x4g\x", b"\x04g\\x"),
        (r"\f\v\a\b\q\"\?", b'\f\v\a\b\\q\\"\\?'),
        (r"a\\cb", rb"a\cb"),
        ("a\\", b"a\\"),
    ],
)
def test_escapes_of_echo(text: str, printed: bytes) -> None:
    unescaped, ends_output = unescape(text)

    assert unescaped.encode("utf-8", "surrogateescape") == printed
    assert not ends_output


def test_an_escape_ends_the_output_of_echo() -> None:
    assert unescape(r"a\tb\cd\n") == ("a\tb", True)


@pytest.mark.parametrize("form", ["%999999999999d", "%.999999999999d", "%00000000099999999s", "%" + "9" * 5000 + "x"])
def test_no_width_uses_much_memory(form: str) -> None:
    assert len(printf(form, "1")) <= 65_536


@given(
    st.text(r"%\-+ 0123456789.bsdiouxXcnxae"),
    st.lists(st.text(r"\0123456789-xcé" + "\udcff"), max_size=5),
)
def test_any_format_can_be_printed(form: str, values: list[str]) -> None:
    with suppress(PrintfError):
        printf(form, *values)
    unescape(form)
