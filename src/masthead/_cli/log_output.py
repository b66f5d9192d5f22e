"""Lines of logs as they are printed: prefixes, times, and a colour for each pod. Pure."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._cli.terminal import keep_colors, style

if TYPE_CHECKING:
    from masthead._client.log_line import LogLine

__all__ = ["LogFormat"]

_COLORS: Final = ("cyan", "green", "yellow", "magenta", "blue")


@dataclass(frozen=True, slots=True)
class LogFormat:
    """How lines are printed.

    Attributes:
        prefix: With pod and container.
        namespaces: With the namespace of the pod, too.
        timestamps: With the time at which they were written.
        color: With a colour for each pod.
        is_terminal: For a terminal, to which colours of a log are passed on, but nothing else that would control it.
    """

    prefix: bool = True
    namespaces: bool = False
    timestamps: bool = False
    color: bool = False
    is_terminal: bool = False

    def format(self, line: LogLine) -> str:
        """Return a line with its newline."""
        time = f"{line.time} " if self.timestamps and line.time else ""
        # Windows ends lines with a carriage return, too.
        text = keep_colors(line.text.rstrip("\r"), color=self.color) if self.is_terminal else line.text
        if not self.prefix:
            return f"{time}{text}\n"
        pod = f"{line.namespace}/{line.pod}" if self.namespaces else line.pod
        # A pod has the same colour whenever it is looked at.
        color = _COLORS[zlib.crc32(line.pod.encode()) % len(_COLORS)] if self.color else ""
        return f"{style(f'[{pod}/{line.container}]', color)} {time}{text}\n"
