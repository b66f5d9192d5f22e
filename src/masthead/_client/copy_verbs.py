"""The verbs that copy files to and from containers. What copies is imported by those who do."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Generic, TypeVar

from masthead._client.stream_verbs import MAX_OUTPUT, ExecVerbs
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import CopyError, DeadlineError, ExecTimeoutError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from masthead._client.cp.container import Container
    from masthead._client.cp.progress import ProgressCallback
    from masthead._client.remotecommand.process import RemoteProcess
    from masthead._client.remotecommand.stdin import InputSource

__all__ = ["CopyVerbs"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class CopyVerbs(ExecVerbs[T], Generic[T]):
    """For resources with an exec subresource, by which files are copied: pods."""

    async def copy_to(
        self,
        name: str,
        source: str | os.PathLike[str] | IO[bytes],
        target: str,
        *,
        container: str | None = None,
        preserve: bool = True,
        skip_special: bool = False,
        progress: ProgressCallback | None = None,
        timeout: float | None = None,
    ) -> None:
        """Copy a local file or directory into a container, as ``cp -r`` does.

        ::

            await pods.copy_to("web", "site", "/usr/share/nginx/html")  # makes /usr/share/nginx/html/site
            await pods.copy_to("web", "site/.", "/usr/share/nginx/html")  # the content of site

        If the target is a directory, the copy goes into it, by the name of the source. Otherwise the copy gets the
        target's name, in a directory that exists. Files are replaced, directories merged; a directory replaces neither
        a file nor a link, and a file no directory. Links in a directory are copied as links; a source that is a link is
        followed.

        It needs ``sh`` and ``tar`` in the container. Without ``tar``, a file is written by ``cat``, with the
        permissions that new files get there.

        Args:
            name: The pod's name.
            source: The path of a file or directory; or a file that is open for reading bytes, whose content is copied
                without permissions.
            target: The path in the container, relative to its working directory.
            container: The container; by default as for `exec`.
            preserve: Whether to preserve permissions and modification times. The owner is the user of the container.
            skip_special: Whether devices, FIFOs and sockets are left out; otherwise they are an error.
            progress: Is called with the progress, ten times a second at most, on the event loop: it must not block.
            timeout: Timeout of the whole, in seconds; None for no limit.

        Raises:
            CopyError: If the source cannot be read, or the target not be written. A part may have been copied.
            ExecTimeoutError: If it is not done in time.
            NotFoundError: If there is no such pod.
            BadRequestError: If the container is not one of the pod's, or the pod does not run.
            TransportError: If the connection fails or is lost. A part may have been copied.
            ArgumentError: If the target is not a path.
            Exception: Whatever `progress`, or reading an open file, raises, which ends the copy.
        """
        from masthead._client.cp import upload

        inside = self._container(name, container)
        async with self._copying("copy_to", name, timeout):
            if not isinstance(source, str | os.PathLike):
                await upload.write(inside, target, source, progress=progress)
                return
            await upload.upload(
                inside,
                os.fspath(source),
                target,
                preserve=preserve,
                skip_special=skip_special,
                progress=progress,
            )

    async def copy_from(
        self,
        name: str,
        source: str,
        target: str | os.PathLike[str] | IO[bytes],
        *,
        container: str | None = None,
        preserve: bool = True,
        skip_special: bool = False,
        max_bytes: int | None = None,
        progress: ProgressCallback | None = None,
        timeout: float | None = None,
    ) -> None:
        """Copy a file or directory of a container to a local one, as ``cp -r`` does.

        ::

            await pods.copy_from("web", "/var/log/nginx", ".")  # makes ./nginx

        If the target is a directory, the copy goes into it, by the name of the source. Otherwise the copy gets the
        target's name, in a directory that exists. Files are replaced when they are complete, directories merged. A
        source that is a link is followed.

        The container is not trusted: whatever it sends, nothing is written outside of the copy, nor through a link in
        it. A member of its archive that would be ends the copy. Links that lead out of the copy, devices, FIFOs and
        hard links to such are left out, and named by an error at the end.

        It needs ``tar`` in the container. Without it, a file is read by ``cat``, and gets the permissions of a new one.

        Args:
            name: The pod's name.
            source: The path in the container, relative to its working directory; ``/data/.`` for all that is in
                ``/data``.
            target: A path, or a file that is open for writing bytes, which gets the content of one file.
            container: The container; by default as for `exec`.
            preserve: Whether to preserve permissions and modification times; never owners, nor setuid bits.
            skip_special: Whether to leave out special files instead of raising an error.
            max_bytes: How many bytes may come, archive headers included; None for any number.
            progress: Is called with the progress, ten times a second at most, on the event loop: it must not block.
            timeout: Timeout of the whole, in seconds; None for no limit.

        Raises:
            CopyError: If the source cannot be read, the target not be written, or what comes is refused. Of a
                directory, the files that were complete are there.
            ExecTimeoutError: If it is not done in time.
            NotFoundError: If there is no such pod.
            BadRequestError: If the container is not one of the pod's, or the pod does not run.
            TransportError: If the connection fails or is lost.
            ArgumentError: If the source is not a path.
            Exception: Whatever `progress` raises, which ends the copy.
        """
        from masthead._client.cp import download

        inside = self._container(name, container)
        async with self._copying("copy_from", name, timeout):
            if not isinstance(target, str | os.PathLike):
                await download.read_into(inside, source, target, max_bytes=max_bytes, progress=progress)
                return
            copy = download.Download(
                inside,
                source,
                preserve=preserve,
                skip_special=skip_special,
                max_bytes=max_bytes,
                progress=progress,
            )
            await copy.run(os.fspath(target))

    async def read_file(
        self,
        name: str,
        path: str,
        *,
        container: str | None = None,
        max_bytes: int | None = MAX_OUTPUT,
        timeout: float | None = None,
    ) -> bytes:
        """Read a file in a container; all that it needs there is ``cat``.

        Args:
            name: The pod's name.
            path: The path in the container, relative to its working directory.
            container: The container; by default as for `exec`.
            max_bytes: How many bytes it may have; None for any number.
            timeout: Timeout of the whole, in seconds; None for no limit.

        Raises:
            CopyError: If it cannot be read, or has more than `max_bytes`.
            ExecTimeoutError: If it is not done in time.
            NotFoundError: If there is no such pod.
            BadRequestError: If the container is not one of the pod's, or the pod does not run.
            TransportError: If the connection fails or is lost.
            ArgumentError: If it is not a path.
        """
        from masthead._client.cp import download

        async with self._copying("read_file", name, timeout):
            return await download.read(self._container(name, container), path, max_bytes=max_bytes)

    async def write_file(
        self,
        name: str,
        path: str,
        data: InputSource,
        *,
        container: str | None = None,
        progress: ProgressCallback | None = None,
        timeout: float | None = None,
    ) -> None:
        """Write a file in a container; all that it needs there are ``sh`` and ``cat``.

        An existing file keeps its permissions. After an error, the file may hold a part of the data.

        Args:
            name: The pod's name.
            path: The path in the container, relative to its working directory.
            data: Bytes, text, a file that is open for reading bytes, or an iterable of bytes.
            container: The container; by default as for `exec`.
            progress: As for `copy_to`.
            timeout: Timeout of the whole, in seconds; None for no limit.

        Raises:
            CopyError: If it cannot be written.
            ExecTimeoutError: If it is not done in time.
            NotFoundError: If there is no such pod.
            BadRequestError: If the container is not one of the pod's, or the pod does not run.
            TransportError: If the connection fails or is lost.
            ArgumentError: If it is not a path, or the data are not bytes.
            Exception: Whatever reading the data, or `progress`, raises.
        """
        from masthead._client.cp import upload

        async with self._copying("write_file", name, timeout):
            await upload.write(self._container(name, container), path, data, progress=progress)

    def _container(self, name: str, container: str | None) -> Container:
        from masthead._client.cp.container import Container

        def start(command: Sequence[str], stdin: bool) -> RemoteProcess:
            return self.open_exec(name, command, container=container, stdin=stdin)

        return Container(start)

    @asynccontextmanager
    async def _copying(self, verb: str, name: str, timeout: float | None) -> AsyncGenerator[None]:
        """Limit a copy in time, and have its errors name it."""
        about = f"{verb} pods {self._namespace}/{name}" if self._namespace else f"{verb} pods {name}"
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                yield
        except CopyError as error:
            error.args = (f"{about}: {error}",)
            raise
        except DeadlineError:
            raise
        except TimeoutError:
            if not limit.expired():  # what the source or the callback of the caller has raised
                raise
            raise ExecTimeoutError(
                f"{about}: not done within {timeout or 0:g} s; a part may have been copied; raise the timeout"
            ) from None
