"""The ``masthead`` command as a process: at a terminal of its own, or at pipes."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

COMMAND = [sys.executable, "-m", "masthead"]
PATIENCE = 60.0
INTERRUPT = "\x03"
PRESS_AGAIN_AFTER = 5.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain(text: str) -> str:
    """Text without control sequences."""
    return _ESCAPES.sub("", text)


class Terminal:
    """A command at a pseudo-terminal; to be used in ``with``."""

    def __init__(
        self,
        arguments: list[str],
        environ: Mapping[str, str],
        *,
        rows: int = 24,
        columns: int = 100,
        program: list[str] = COMMAND,
    ) -> None:
        self._arguments = [*program, *arguments]
        self._environ = {**environ, "TERM": environ.get("TERM", "xterm-256color")}
        self._size = struct.pack("HHHH", rows, columns, 0, 0)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.output = ""

    def __enter__(self) -> Self:
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, self._size)
        self._before = termios.tcgetattr(self._slave)
        self._last_keys = ""
        self._process = subprocess.Popen(
            # A session of its own, whose terminal this is: then Ctrl-C is a key, and not a call of kill().
            [sys.executable, "-c", _AT_TERMINAL, *self._arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env=self._environ,
            start_new_session=True,
        )
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)
        os.close(self._slave)

    def expect(self, wanted: str) -> str:
        """Read until a text is shown; returns all that was shown so far, without control sequences."""
        deadline = time.monotonic() + PATIENCE
        while wanted not in plain(self.output):
            assert time.monotonic() < deadline, f"{wanted!r} is not in {plain(self.output)!r}"
            assert self._read(0.2) or self._process.poll() is None, plain(self.output)
        return plain(self.output)

    def forget(self) -> None:
        """Expect only what is shown from now on."""
        self.output = ""

    def press(self, keys: str) -> None:
        """Type something."""
        self._last_keys = keys
        os.write(self._master, keys.encode())

    def finish(self) -> int:
        """Read until the command has ended; returns its exit code."""
        deadline = time.monotonic() + PATIENCE
        pressed = time.monotonic()
        while self._process.poll() is None:
            assert time.monotonic() < deadline, plain(self.output)
            self._read(0.1)
            # Python drops an interrupt that arrives in a destructor or a callback of the garbage collector.
            if self._last_keys == INTERRUPT and time.monotonic() - pressed > PRESS_AGAIN_AFTER:
                self.press(INTERRUPT)
                pressed = time.monotonic()
        while self._read(0.0):
            pass
        return self._process.returncode

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal's settings are what they were, and the cursor can be seen."""
        shown, hidden = self.output.rfind("\x1b[?25h"), self.output.rfind("\x1b[?25l")
        return termios.tcgetattr(self._slave) == self._before and shown >= hidden

    def _read(self, timeout: float) -> bool:
        if not select.select([self._master], [], [], timeout)[0]:
            return False
        # A read may end in the middle of a character, or of a line's end.
        text = self._decoder.decode(os.read(self._master, 65536))
        self.output = f"{self.output}{text}".replace("\r\n", "\n")
        return True


_AT_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def run(arguments: list[str], environ: Mapping[str, str], *, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command at pipes, to its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
