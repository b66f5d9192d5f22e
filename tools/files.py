"""Write generated files, and remove those of an earlier run."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from masthead._codegen import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["changes", "write"]


def changes(files: Mapping[PurePosixPath, str], root: Path, folders: Iterable[str]) -> list[PurePosixPath]:
    """The files that differ from those on disk, and those of an earlier run that should go.

    Args:
        files: Their text, by their paths below `root`.
        root: The folder that they go into.
        folders: The folders below `root` whose generated files are all among `files`.
    """
    differing = [path for path, text in files.items() if _text_at(root / path) != text]
    return sorted([*differing, *_leftovers(files, root, folders)])


def write(files: Mapping[PurePosixPath, str], root: Path, folders: Iterable[str]) -> None:
    """Bring the files on disk up to date."""
    for path in list(_leftovers(files, root, folders)):
        (root / path).unlink()
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="\n")


def _leftovers(files: Mapping[PurePosixPath, str], root: Path, folders: Iterable[str]) -> Iterator[PurePosixPath]:
    for folder in folders:
        for found in (root / folder).rglob("*.py"):
            path = PurePosixPath(found.relative_to(root).as_posix())
            if path not in files and render.is_generated(_text_at(found)):
                yield path


def _text_at(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
