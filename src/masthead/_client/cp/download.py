"""Copies out of a container."""

from __future__ import annotations

import errno
import io
import os
import posixpath
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from masthead._client.cp import commands
from masthead._client.cp.paths import base_name, check_remote
from masthead._client.cp.progress import CopyCounter, Reporter
from masthead._client.cp.threads import in_thread
from masthead._client.cp.transfer import fetch
from masthead._client.cp.unpack import ContentWriter, FileUnpacker, StreamWriter, TreeUnpacker
from masthead.errors import CopyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._client.cp.container import Container, Ended
    from masthead._client.cp.progress import ProgressCallback
    from masthead._client.cp.unpack import CopySink

__all__ = ["Download", "read", "read_into"]


class Download:
    """A copy of something in a container; see `CopyVerbs.copy_from`.

    Args:
        container: Where it is.
        source: Its path there.
        preserve: Whether to preserve permissions and modification times.
        skip_special: Whether what cannot be copied is left out.
        max_bytes: How many bytes may come; None for any number.
        progress: Is called with the progress.

    Raises:
        ArgumentError: If the path is invalid.
    """

    def __init__(
        self,
        container: Container,
        source: str,
        *,
        preserve: bool,
        skip_special: bool,
        max_bytes: int | None,
        progress: ProgressCallback | None,
    ) -> None:
        check_remote(source)
        self._container = container
        self._source = source
        self._preserve = preserve
        self._skip_special = skip_special
        self._max_bytes = max_bytes
        self._reporter = Reporter(progress)

    async def run(self, target: str) -> None:
        """Copy it.

        Raises:
            CopyError: If it cannot be read there, not be written here, or is not what it should be.
            StatusError: If the server refuses.
            TransportError: If the connection fails or is lost.
        """
        path = await in_thread(_local_target, target, base_name(self._source))
        if await self._container.is_directory(self._source):
            await self._directory(path)
        else:
            await self._file(path)

    async def _directory(self, path: Path) -> None:
        # Without it, a link in the archive could lead writes out of the target.
        if os.open not in os.supports_dir_fd:
            raise CopyError(
                f"{self._source} is a directory, and this system has no safe way to write one that comes from "
                "elsewhere; copy file by file",
                path=self._source,
            )
        sink = partial(TreeUnpacker, path, preserve=self._preserve, skip_special=self._skip_special)
        ended = await self._fetch(commands.pack_directory(self._source), sink)
        if ended.is_missing:
            raise CopyError(
                f"{self._source} is a directory, and the image has no tar, without which only files can be "
                "copied; add tar to it, or copy file by file",
                path=self._source,
            )
        ended.check(self._source)

    async def _file(self, path: Path) -> None:
        directory, name = posixpath.split(self._source)
        ended = await self._fetch(
            commands.pack_file(directory or ".", name), partial(FileUnpacker, path, preserve=self._preserve)
        )
        if ended.is_missing:
            # cat is in more images than tar, but loses the mode and the time.
            ended = await self._fetch(commands.read(self._source), partial(ContentWriter, path))
        ended.check(self._source)

    async def _fetch(self, command: Sequence[str], open_sink: Callable[[CopyCounter], CopySink]) -> Ended:
        counter = CopyCounter(self._source)
        return await fetch(self._container, command, open_sink, counter, self._reporter, self._max_bytes)


async def read_into(
    container: Container,
    source: str,
    file: IO[bytes],
    *,
    max_bytes: int | None,
    progress: ProgressCallback | None = None,
) -> None:
    """Write what a file in a container holds to an open one.

    Raises:
        CopyError: If it cannot be read there, or has more than `max_bytes`.
        StatusError: If the server refuses.
        TransportError: If the connection fails or is lost.
    """
    counter, reporter = CopyCounter(source), Reporter(progress)
    sink = partial(StreamWriter, file)
    ended = await fetch(container, commands.read(source), sink, counter, reporter, max_bytes)
    ended.check(source)


async def read(container: Container, source: str, *, max_bytes: int | None) -> bytes:
    """What a file in a container holds; see `read_into`."""
    collected = io.BytesIO()
    await read_into(container, source, collected, max_bytes=max_bytes)
    return collected.getvalue()


def _local_target(target: str, name: str) -> Path:
    """The path to copy to. The target itself may be a link; below it, none is followed.

    Raises:
        OSError: If it should be a directory and is not.
    """
    path = Path(target)
    is_directory = path.is_dir()
    if target.endswith((os.sep, os.altsep or os.sep)) and not is_directory:
        # As cp does: a trailing slash demands an existing directory.
        code = errno.ENOTDIR if path.exists() else errno.ENOENT
        raise OSError(code, os.strerror(code), target)
    return path.resolve() / name if is_directory else path.resolve()
