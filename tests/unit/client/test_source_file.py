"""Files as sources of stdin: what they have is read when it is there, and nothing is lost, whatever sort of file it
is."""

from __future__ import annotations

import gzip
import io
import os
import socket
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any, cast

import pytest

from masthead._client.remotecommand.source_file import file_pieces
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def pipe() -> Iterator[tuple[io.BufferedReader, IO[bytes]]]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as target:
        yield source, target


def test_what_is_in_a_pipe_does_not_wait_for_more(pipe: tuple[io.BufferedReader, IO[bytes]]) -> None:
    source, target = pipe
    pieces = file_pieces(source)
    for sent in (b"first", b"second"):
        target.write(sent)
        assert next(pieces) == sent
    target.close()
    assert list(pieces) == []


def test_what_is_in_a_socket_does_not_wait_for_more() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rb") as source:
        pieces = file_pieces(source)
        theirs.sendall(b"first\nsecond")
        assert source.readline() == b"first\n"
        assert next(pieces) == b"second"
        theirs.sendall(b"third")
        assert next(pieces) == b"third"
        theirs.close()
        assert list(pieces) == []


def test_what_the_program_has_read_ahead_comes_first(pipe: tuple[io.BufferedReader, IO[bytes]]) -> None:
    source, target = pipe
    target.write(b"head\nbody")
    assert source.readline() == b"head\n"
    pieces = file_pieces(source)
    assert next(pieces) == b"body"
    target.write(b"more")
    assert next(pieces) == b"more"


def test_a_file_is_read_from_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"head\n" + b"x" * 1_000_000)
    for mode, buffering in (("rb", -1), ("rb", 0), ("r+b", -1)):
        with cast("IO[bytes]", path.open(mode, buffering=buffering)) as source:
            source.readline()
            assert b"".join(file_pieces(source)) == b"x" * 1_000_000
            assert (source.tell(), source.read()) == (1_000_005, b"")


def test_a_program_may_end_while_its_stdin_is_waited_for() -> None:
    program = """
import sys, threading
from masthead._client.remotecommand.source_file import file_pieces
waits = threading.Event()
def read():
    waits.set()
    next(file_pieces(sys.stdin.buffer))
threading.Thread(target=read, daemon=True).start()
waits.wait()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        assert ran.stderr is not None
        assert (ran.stderr.read(), ran.wait()) == (b"", 0)


class NotYet(io.RawIOBase):
    """Has nothing to read at first, and an end."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor
        self._pieces = [None, b"one", None, None, b"two", b""]

    def read(self, size: int = -1, /) -> bytes | None:
        del size
        return self._pieces.pop(0)

    def fileno(self) -> int:
        return super().fileno() if self._descriptor is None else self._descriptor


def test_a_descriptor_that_does_not_block_is_waited_for(pipe: tuple[io.BufferedReader, IO[bytes]]) -> None:
    source, target = pipe
    target.write(b"so that it is readable")
    assert list(file_pieces(cast("IO[bytes]", NotYet(source.fileno())))) == [b"one", b"two"]


def test_a_pipe_that_does_not_block_is_read_to_its_end(pipe: tuple[io.BufferedReader, IO[bytes]]) -> None:
    source, target = pipe
    os.set_blocking(source.fileno(), False)
    target.write(b"all of it")
    target.close()
    assert list(file_pieces(source)) == [b"all of it"]


def test_what_cannot_be_waited_for_is_refused() -> None:
    with pytest.raises(ArgumentError, match="NotYet that returns None"):
        list(file_pieces(cast("IO[bytes]", NotYet())))


class OnlyRead(io.BufferedIOBase):
    """A file that inherits a `read1` which is not supported."""

    def __init__(self) -> None:
        self._remaining = io.BytesIO(b"content")

    def read(self, size: int | None = -1, /) -> bytes:
        return self._remaining.read(size)


class Plain:
    """Not a file of Python's, but it can be read."""

    def __init__(self) -> None:
        self._remaining = io.BytesIO(b"content")

    def read(self, size: int) -> bytes:
        return self._remaining.read(size)


def compressed() -> gzip.GzipFile:
    packed = io.BytesIO(gzip.compress(b"content"))
    return gzip.GzipFile(fileobj=packed)


@pytest.mark.parametrize("make", [OnlyRead, Plain, compressed, lambda: io.BytesIO(b"content")])
def test_files_without_a_descriptor_are_read(make: Any) -> None:
    assert b"".join(file_pieces(make())) == b"content"


def test_what_a_file_makes_of_its_descriptor_is_sent_not_what_is_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"content"))
    with gzip.open(path) as source:
        assert b"".join(file_pieces(cast("IO[bytes]", source))) == b"content"


def test_text_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    with path.open() as source:
        with pytest.raises(ArgumentError, match=r"TextIOWrapper, which has text; .*sys\.stdin\.buffer"):
            next(file_pieces(cast("IO[bytes]", source)))
        assert source.read() == "text"
