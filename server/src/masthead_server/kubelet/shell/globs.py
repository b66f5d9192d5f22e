"""Globs: words with ``*``, ``?`` or ``[…]`` stand for the paths that match them."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.filesystem import Directory
from masthead_server.kubelet.shell.patterns import matches_pattern

if TYPE_CHECKING:
    from masthead_server.kubelet.filesystem import Node
    from masthead_server.kubelet.shell.state import ShellState

__all__ = ["find_paths", "is_glob"]

_MAX_NAMES: Final = 10_000
"""Names that a glob is compared with, which holds the event loop."""
_SIGN: Final = re.compile(r"[*?]|\[[^\]]+\]")
_QUOTED: Final = re.compile(r"\[([*?\[])\]")
_SLASHES: Final = re.compile(r"(/+)")


def is_glob(pattern: str) -> bool:
    """Tell whether a pattern has signs that are not quoted."""
    return bool(_SIGN.search(_QUOTED.sub("", pattern)))


def find_paths(pattern: str, state: ShellState) -> list[str]:
    """Return the paths that match a pattern, sorted; empty if there are none.

    Raises:
        OSError: If the pattern is too long, or there are too many names to compare.
    """
    search, paths = _Search(state), [""]
    # Names and the slashes behind them, in turns.
    for part in _SLASHES.split(pattern):
        if part.startswith("/"):
            paths = [path + part for path in paths if not path or search.is_directory(path)]
        elif part:
            paths = [found for path in paths for found in search.enter(path, part)]
    return sorted(paths)


class _Search:
    """Finds names in directories, a limited number.

    Args:
        state: The state of the shell.
    """

    def __init__(self, state: ShellState) -> None:
        self._state = state
        self._left = _MAX_NAMES

    def is_directory(self, path: str) -> bool:
        """Tell whether a path is a directory."""
        return isinstance(self._find(path), Directory)

    def enter(self, folder: str, name: str) -> list[str]:
        """Return the paths in a folder whose names match.

        Raises:
            OSError: If there are too many names to compare.
        """
        if not is_glob(name):
            path = folder + _QUOTED.sub(r"\1", name)
            return [path] if self._find(path) is not None else []
        found = self._find(folder or ".")
        names = list(found.entries) if isinstance(found, Directory) else []
        self._left -= len(names)
        if self._left < 0:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        # Hidden files must be asked for.
        return [
            folder + entry
            for entry in names
            if entry.startswith(".") <= name.startswith(".") and matches_pattern(entry, name)
        ]

    def _find(self, path: str) -> Node | None:
        try:
            return self._state.files.get(self._state.path(path))
        except OSError:
            return None
