"""``masthead run --reload``: a parent process that starts the program again when its source files change."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._controller.signals import stop_on_signals
from masthead._errors.base import counted

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["changed_files", "reload_forever", "scan"]

_POLL: Final = 0.25
"""Seconds between two scans of the files."""
_GRACE: Final = 30.0
"""Seconds that the program has to stop."""
_MAX_FILES: Final = 20_000
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages"})

FileStates: TypeAlias = "dict[str, tuple[int, int]]"
"""Modification time and size of each file."""


def scan(folders: Iterable[Path]) -> FileStates:
    """Note the state of all Python files below some folders; hidden folders and virtual environments are skipped."""
    found: FileStates = {}
    for folder in folders:
        for entry in _python_files(folder):
            try:
                state = entry.stat()
            except OSError:
                continue  # removed since the scan
            found[entry.path] = state.st_mtime_ns, state.st_size
            # A bound, in case the project folder is a home directory.
            if len(found) >= _MAX_FILES:
                return found
    return found


def _python_files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    pending = [str(folder)]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue  # removed since the scan, or not readable
        # A virtual environment: its packages do not change while one develops.
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            # Links are not followed: they may lead in circles, or out of the project.
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.name.endswith(".py"):
                yield entry


def changed_files(before: FileStates, after: FileStates) -> list[str]:
    """The files that were added, changed or removed."""
    # Added and removed files count as well as modified ones.
    return sorted({path for path, _ in before.items() ^ after.items()})


def reload_forever(arguments: Sequence[str], folders: Sequence[Path]) -> int:
    """Run ``masthead run`` with these arguments, again whenever a file changes; return the exit code.

    A program that fails, as with a syntax error, is started again when a file changes. SIGINT and SIGTERM stop it, and
    then this process.

    Args:
        arguments: The arguments, without ``--reload``.
        folders: The folders to watch.
    """
    return asyncio.run(_Reloader(arguments, folders).run())


class _Reloader:
    """Starts the program, and scans the files."""

    def __init__(self, arguments: Sequence[str], folders: Sequence[Path]) -> None:
        # -P: the current folder must not hide modules of the standard library, as an operator.py would.
        self._command = [sys.executable, "-P", "-m", "masthead", "run", *arguments]
        self._folders = folders
        self._child: asyncio.subprocess.Process | None = None
        self._stop = asyncio.Event()

    async def run(self) -> int:
        # Noted before the start: a file that changes while it is imported counts.
        files = scan(self._folders)
        with stop_on_signals(lambda _: self._stop.set(), kill=self._kill):
            _say(f"watching {counted(len(files), 'file')} in {', '.join(map(str, self._folders))}")
            while True:
                self._child = await self._start()
                try:
                    code, files = await self._until_changed(self._child, files)
                finally:
                    await self._stop_child(self._child)
                if code is not None:
                    return code

    async def _start(self) -> asyncio.subprocess.Process:
        # Python recognises a changed file by its size and the second of its time; without compiled files, by its
        # content.
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return await asyncio.create_subprocess_exec(*self._command, env=environment)

    async def _until_changed(
        self, child: asyncio.subprocess.Process, files: FileStates
    ) -> tuple[int | None, FileStates]:
        """Wait for a change; the exit code is None if the program is to be started again."""
        loop = asyncio.get_running_loop()
        ended = loop.create_task(child.wait())
        stopped = loop.create_task(self._stop.wait())
        watching = loop.create_task(self._wait_for_change(files))
        tasks: set[asyncio.Task[object]] = {ended, stopped, watching}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            # A program that ends while it is being stopped has not failed.
            if ended.done() and not stopped.done():
                code = ended.result()
                # A program may end on its own with success, and need not be started again then.
                if code == 0:
                    return 0, files
                _say(f"the program has ended with code {code}; waiting for a change")
                await asyncio.wait({stopped, watching}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                await self._stop_child(child)
                return max(0, child.returncode or 0), files
            return None, watching.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait_for_change(self, before: FileStates) -> FileStates:
        while True:
            await asyncio.sleep(_POLL)
            after = scan(self._folders)
            if after == before:
                continue
            # An editor or a checkout writes several files: wait until it has finished.
            while True:
                await asyncio.sleep(_POLL)
                latest = scan(self._folders)
                if latest == after:
                    break
                after = latest
            changed = changed_files(before, after)
            if changed:
                more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
                _say(f"{_format_path(changed[0])}{more} changed: restarting")
                return after
            before = after

    async def _stop_child(self, child: asyncio.subprocess.Process) -> None:
        """Stop the program gracefully; it counts SIGTERM and the SIGINT of a terminal as one request."""
        if child.returncode is not None:
            return
        try:
            child.terminate()
            async with asyncio.timeout(_GRACE):
                await child.wait()
        # The program has ended between the check and the signal.
        except ProcessLookupError:
            await child.wait()
        except TimeoutError:
            _say(f"the program has not stopped after {_GRACE:g} s, and is killed")
            child.kill()
            await child.wait()

    def _kill(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.returncode is None:
            self._child.kill()
        # Not sys.exit: a second signal means that cleaning up takes too long.
        os._exit(128 + number)


def _format_path(path: str) -> str:
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _say(text: str) -> None:
    sys.stderr.write(f"masthead run: {text}\n")
    sys.stderr.flush()
