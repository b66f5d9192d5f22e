"""Copies into a container."""

from __future__ import annotations

import os
import posixpath
import stat
from contextlib import aclosing
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from masthead._client.cp import commands
from masthead._client.cp.pack import Archive, file_chunks, pad_chunks
from masthead._client.cp.paths import base_name, check_remote, remote_place
from masthead._client.cp.progress import CopyCounter, Reporter
from masthead._client.cp.threads import in_thread
from masthead._client.cp.transfer import batches, send
from masthead._client.remotecommand.stdin import input_chunks
from masthead.errors import CopyError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from masthead._client.cp.commands import ProbedTarget
    from masthead._client.cp.container import Container
    from masthead._client.cp.paths import RemotePlace
    from masthead._client.cp.progress import ProgressCallback
    from masthead._client.remotecommand.stdin import InputSource

__all__ = ["upload", "write"]


async def upload(
    container: Container,
    source: str,
    target: str,
    *,
    preserve: bool,
    skip_special: bool,
    progress: ProgressCallback | None,
) -> None:
    """Copy a local file or directory into a container; see `CopyVerbs.copy_to`.

    Raises:
        CopyError: If it cannot be read, or not be written there.
        StatusError: If the server refuses.
        TransportError: If the connection fails or is lost.
    """
    check_remote(target)
    reporter = Reporter(progress)
    path = await in_thread(Path(source).resolve, strict=True)  # what it leads to, if it is a link
    name = base_name(source, split=os.path.split)
    # One command answers all questions: each exec costs several round trips.
    probed = await container.probe(target, name)
    _check_target(target, probed)
    place = remote_place(target, name, is_directory=probed.is_directory)
    _check_place(place.path, probed, source, is_directory=await in_thread(path.is_dir))
    if probed.has_tar:
        archive = Archive(path, place.name, skip_special=skip_special)
        await _upload_archive(container, archive, place, reporter, preserve=preserve)
    else:
        await _upload_file(container, path, place, reporter)


def _check_target(target: str, probed: ProbedTarget) -> None:
    """Check that a target is where a copy can go.

    Raises:
        CopyError: If it is not.
    """
    is_meant_as_directory = not base_name(target) or target.endswith("/")
    if not probed.is_directory and (is_meant_as_directory or not probed.has_parent):
        missing = target if is_meant_as_directory else posixpath.dirname(target)
        raise CopyError(
            f"{missing} is not a directory in the container; create it first, with exec and mkdir -p",
            path=target,
        )


def _check_place(path: str, probed: ProbedTarget, source: str, *, is_directory: bool) -> None:
    """Check that a directory does not replace anything else, nor is replaced: some tars would do so.

    Raises:
        CopyError: If it would be.
    """
    if is_directory and probed.refuses_directories:
        raise CopyError(
            f"{path} is a file or a link in the container, and {source} is a directory; remove it there, or "
            "name another target",
            path=path,
        )
    if not is_directory and probed.refuses_files:
        raise CopyError(
            f"{path} is a directory in the container, and {source} is none; remove it there, or name another target",
            path=path,
        )


async def _upload_archive(
    container: Container, archive: Archive, place: RemotePlace, reporter: Reporter, *, preserve: bool
) -> None:
    """Copy a file or directory by tar."""
    # Counted first for the progress, and for servers on which stdin has no end.
    sizes = await in_thread(archive.size)
    counter = CopyCounter(bytes_total=sizes.content)
    chunks = archive.chunks(counter)
    size = None if container.can_close else sizes.archive
    ended = await send(
        container,
        commands.unpack(place.directory, preserve=preserve, size=size),
        batches(chunks if size is None else pad_chunks(chunks, size)),
        counter,
        reporter,
    )
    ended.check(place.path)


async def _upload_file(container: Container, path: Path, place: RemotePlace, reporter: Reporter) -> None:
    """Copy a file without tar."""
    found = await in_thread(path.stat)
    if not stat.S_ISREG(found.st_mode):
        raise CopyError(
            f"{place.path}: the image has no tar, without which only files can be copied; add tar to it, or "
            "copy file by file",
            path=place.path,
        )
    size = found.st_size
    counter = CopyCounter(place.name, bytes_total=size)
    command = commands.write(place.path, size=None if container.can_close else size)
    ended = await send(container, command, batches(file_chunks(path, size, counter)), counter, reporter)
    ended.check(place.path)


async def write(container: Container, target: str, data: InputSource, *, progress: ProgressCallback | None) -> None:
    """Write a file in a container; see `CopyVerbs.write_file`.

    Raises:
        CopyError: If it cannot be written there.
        ArgumentError: If the data are not bytes.
        StatusError: If the server refuses.
        TransportError: If the connection fails or is lost.
        Exception: Whatever reading the data raises.
    """
    check_remote(target)
    probed = await container.probe(target)
    if probed.is_directory:
        raise CopyError(f"{target} is a directory in the container; name a file", path=target)
    _check_target(target, probed)
    size = await in_thread(_size, data)
    if size is None and not container.can_close:
        raise CopyError(
            f"{target}: the server speaks v4.channel.k8s.io, in which stdin has no end, so that the size of "
            "the data has "
            "to be known; give bytes or a file that can seek, or use an API server of Kubernetes 1.30 or newer",
            path=target,
        )
    counter = CopyCounter(target, bytes_total=size)
    command = commands.write(target, size=None if container.can_close else size)
    ended = await send(container, command, _count_chunks(data, counter), counter, Reporter(progress))
    ended.check(target)


async def _count_chunks(data: InputSource, counter: CopyCounter) -> AsyncGenerator[bytes]:
    async with aclosing(input_chunks(data)) as chunks:
        async for chunk in chunks:
            counter.bytes_done += len(chunk)
            yield chunk
    counter.files_done += 1


def _size(data: InputSource) -> int | None:
    """How many bytes there are to come; None if that is not known."""
    if isinstance(data, str):
        return len(data.encode())
    if isinstance(data, bytes | bytearray | memoryview):
        return len(data)
    if not hasattr(data, "seek"):
        return None
    file = cast("IO[bytes]", data)
    # Pipes and sockets have a seek method, too.
    if not file.seekable():
        return None
    now = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(now)
    return end - now
