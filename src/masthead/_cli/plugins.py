"""Plugins of kubectl: programs on the path whose names begin with ``kubectl-``."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["FoundPlugin", "Plugin", "find_plugin", "list_plugins", "run_plugin"]

_PREFIX: Final = "kubectl-"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin for some arguments.

    Attributes:
        path: The program.
        arguments: Its arguments: those behind its name.
    """

    path: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundPlugin:
    """A file that looks like a plugin.

    Attributes:
        path: The file.
        is_executable: Whether it can be run.
        shadowed_by: The file of the same name that is found first; None without one.
    """

    path: Path
    is_executable: bool
    shadowed_by: Path | None

    @property
    def command(self) -> str:
        """The first word that calls it."""
        return self.path.name.removeprefix(_PREFIX).partition("-")[0]


def find_plugin(arguments: Sequence[str]) -> Plugin | None:
    """Find the program with the longest name: for ``foo bar``, ``kubectl-foo-bar`` comes before ``kubectl-foo``.

    Args:
        arguments: The arguments of the command line.
    """
    words: list[str] = []
    for argument in arguments:
        if argument.startswith("-"):
            break
        # Dashes separate the words of names, so that those within a word are written as underscores.
        words.append(argument.replace("-", "_"))
    # The longest name is the most special one.
    for count in range(len(words), 0, -1):
        path = _which(_PREFIX + "-".join(words[:count]))
        if path is not None:
            return Plugin(path, tuple(arguments[count:]))
    return None


def _which(name: str) -> str | None:
    # A name with a slash would be a path; relative folders of PATH may hold anybody's programs.
    if os.sep in name or "/" in name:
        return None
    folders = [folder for folder in _folders() if Path(folder).is_absolute()]
    return shutil.which(name, path=os.pathsep.join(folders)) if folders else None


def _folders() -> list[str]:
    """The folders of PATH, each of them once."""
    return [folder for folder in dict.fromkeys(os.environ.get("PATH", "").split(os.pathsep)) if folder.strip()]


def run_plugin(plugin: Plugin) -> NoReturn:
    """Replace this process by a plugin: its standard streams, signals and exit code are the plugin's.

    Raises:
        OSError: If it cannot be run.
    """
    # Buffers of this process would be lost.
    sys.stdout.flush()
    sys.stderr.flush()
    # Windows has no exec: its parent would not wait for the program.
    if os.name == "nt":
        import subprocess

        sys.exit(subprocess.run([plugin.path, *plugin.arguments], check=False).returncode)
    os.execv(plugin.path, [plugin.path, *plugin.arguments])


def list_plugins() -> Iterator[FoundPlugin | OSError]:
    """Yield the files on the path that look like plugins, and the error of each folder that cannot be read."""
    seen: dict[str, Path] = {}
    for folder in _folders():
        try:
            files = sorted(path for path in Path(folder).iterdir() if path.name.startswith(_PREFIX))
        except OSError as error:
            yield error
            continue
        for path in files:
            if path.is_dir():
                continue
            yield FoundPlugin(path, os.access(path, os.X_OK), seen.get(path.name))
            seen.setdefault(path.name, path)
