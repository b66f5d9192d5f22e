"""`ContainerLog`: prints to the log of a container, on behalf of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._module import set_module
from masthead_server.kubelet.records import STDERR, STDOUT
from masthead_server.kubelet.stdio import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ContainerLog"]


@set_module("masthead.server")
class ContainerLog:
    """The log of a container, to write to: `Kubelet.log`.

    Lines get the time of the server's clock, and reach clients that follow the log or are attached. A log is
    bounded: the oldest lines are dropped. Once the container has ended, nothing is written. All methods are
        thread-safe.
    """

    def __init__(self, append: Callable[[bytes, str], None]) -> None:
        self._append = append

    def write(self, data: str | bytes, *, stderr: bool = False) -> None:
        """Write text as UTF-8, or bytes; a line ends with a newline.

        Args:
            data: What the container prints.
            stderr: Whether it prints that on stderr.
        """
        self._append(as_bytes(data), STDERR if stderr else STDOUT)

    def print(self, *values: object, sep: str = " ", end: str = "\n", stderr: bool = False) -> None:
        """Write values as the built-in ``print`` does.

        Args:
            values: What to print.
            sep: What goes between them.
            end: What goes behind them.
            stderr: Whether the container prints that on stderr.
        """
        self.write(sep.join(map(str, values)) + end, stderr=stderr)
