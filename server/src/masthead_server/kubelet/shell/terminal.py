"""A terminal for the built-in shell: echo, line editing, and the signals of Ctrl-C and Ctrl-D.

A client with a terminal sends every key press. A kernel's line discipline turns that into lines; this is what of
it an interactive shell needs.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LineDiscipline"]

_INTERRUPT: Final = 0x03
_END: Final = 0x04
_ERASE: Final = frozenset({0x08, 0x7F})
_KILL: Final = 0x15
_RETURN: Final = frozenset({0x0A, 0x0D})
_ESCAPE: Final = 0x1B
_MAX_LENGTH: Final = 4095
"""Bytes of a line, as in Linux."""


class LineDiscipline:
    """Turns keys into lines. Nothing here waits.

    Attributes:
        lines: What the last keys completed: lines, with their newlines, and empty ones for Ctrl-D at the start of a
            line.
        is_interrupted: Whether Ctrl-C was among the last keys.
    """

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.is_interrupted = False
        self._line = bytearray()
        self._escape = False

    def feed(self, keys: bytes) -> bytes:
        """Process keys; return their echo."""
        self.lines = []
        self.is_interrupted = False
        echo = bytearray()
        for key in keys:
            echo += self._press(key)
        return bytes(echo)

    def _press(self, key: int) -> bytes:
        if self._escape or key == _ESCAPE:
            # An escape sequence, such as that of an arrow key, ends with a letter or a tilde.
            self._escape = not (self._escape and (chr(key).isalpha() or key == ord("~")))
            return b""
        if key in _RETURN:
            self.lines.append(bytes(self._line) + b"\n")
            self._line.clear()
            return b"\r\n"
        if key == _INTERRUPT:
            self._line.clear()
            self.lines.clear()
            self.is_interrupted = True
            return b"^C\r\n"
        if key == _END:
            # In the middle of a line, it hands over what there is of it.
            self.lines.append(bytes(self._line))
            self._line.clear()
            return b""
        if key in _ERASE:
            return self._erase()
        if key == _KILL:
            shown = b"\b \b" * len(self._line)
            self._line.clear()
            return shown
        if len(self._line) >= _MAX_LENGTH:
            return b"\a"
        self._line.append(key)
        return bytes((key,))

    def _erase(self) -> bytes:
        if not self._line:
            return b""
        # A character of several bytes goes as a whole.
        while self._line and self._line[-1] & 0xC0 == 0x80:
            self._line.pop()
        if self._line:
            self._line.pop()
        return b"\b \b"
