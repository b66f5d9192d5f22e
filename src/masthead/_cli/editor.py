"""The user's editor: what it is, and a file in it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from types import FrameType

__all__ = ["editor_command", "open_in_editor", "write_temporary"]

_VARIABLES: Final = ("KUBE_EDITOR", "EDITOR")
_FALLBACK: Final = "notepad" if sys.platform == "win32" else "vi"
_SHELL: Final = "/bin/sh"


def editor_command(path: Path, environ: Mapping[str, str] | None = None) -> list[str]:
    """The command that opens a file.

    Args:
        path: The file.
        environ: The environment; that of the process by default.
    """
    environ = os.environ if environ is None else environ
    editor = next((environ[name] for name in _VARIABLES if environ.get(name)), _FALLBACK)
    # As kubectl: quotes are for a shell, and everything else is divided at blanks.
    if any(character in editor for character in "\"'\\") and " " in editor and sys.platform != "win32":
        return [environ.get("SHELL") or _SHELL, "-c", f"{editor} {shlex.quote(str(path))}"]
    return [*editor.split(" "), str(path)]


def write_temporary(text: str, suffix: str) -> Path:
    """Write a text to a new file, private to the user, since it may be a Secret."""
    # The suffix tells the editor which colours to use.
    descriptor, name = tempfile.mkstemp(prefix="masthead-edit-", suffix=suffix)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    return Path(name)


def open_in_editor(path: Path) -> None:
    """Open a file in the user's editor, and wait until it ends.

    Raises:
        CommandError: If it cannot be started, or fails.
    """
    command = editor_command(path)
    shown = " ".join(command[:-1])
    try:
        with _without_interrupts():
            code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise CommandError(
            f"the editor {shown!r} cannot be started: {error.strerror}", hint="name one with KUBE_EDITOR or EDITOR"
        ) from None
    # Such as :cq in vi, by which users give up.
    if code:
        raise CommandError(f"the editor {shown!r} has failed with exit code {code}")


def _ignore(_: int, __: FrameType | None) -> None:
    pass


@contextmanager
def _without_interrupts() -> Generator[None]:
    """Leave Ctrl-C to the editor, which shares the terminal."""
    # Python sets handlers in its main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Not SIG_IGN, which the editor would inherit.
    before = signal.signal(signal.SIGINT, _ignore)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
