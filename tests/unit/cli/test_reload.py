"""Which files are watched, and what counts as a change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from masthead._cli.reload import changed_files, scan

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def names(folder: Path) -> set[str]:
    return {os.path.relpath(path, folder) for path in scan([folder])}


def test_python_files_are_watched_and_others_are_not(tmp_path: Path) -> None:
    for name in ("app.py", "pkg/__init__.py", "pkg/deep/er.py", "README.md", "pkg/data.json"):
        write(tmp_path / name)
    assert names(tmp_path) == {"app.py", "pkg/__init__.py", "pkg/deep/er.py"}


def test_environments_caches_and_hidden_folders_are_skipped(tmp_path: Path) -> None:
    write(tmp_path / "app.py")
    for name in (
        ".git/hook.py",
        ".venv/lib/x.py",
        "node_modules/x.py",
        "__pycache__/x.py",
        "env/lib/site.py",
    ):
        write(tmp_path / name)
    write(tmp_path / "env" / "pyvenv.cfg")
    assert names(tmp_path) == {"app.py"}


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "app.py")
    (tmp_path / "around").symlink_to(tmp_path, target_is_directory=True)
    assert names(tmp_path) == {"app.py"}


def test_a_folder_that_is_missing_has_no_files(tmp_path: Path) -> None:
    assert scan([tmp_path / "missing"]) == {}


def test_files_that_are_added_changed_or_removed_count(tmp_path: Path) -> None:
    same, changed, removed = (write(tmp_path / f"{name}.py") for name in ("same", "changed", "removed"))
    before = scan([tmp_path])
    assert changed_files(before, scan([tmp_path])) == []
    write(changed, "x = 1")
    removed.unlink()
    added = write(tmp_path / "added.py")
    assert changed_files(before, scan([tmp_path])) == sorted(map(str, (added, changed, removed)))
    assert str(same) in before


def test_a_file_that_keeps_its_size_is_noticed_by_its_time(tmp_path: Path) -> None:
    file = write(tmp_path / "app.py", "x = 1")
    before = scan([tmp_path])
    stat = file.stat()
    write(file, "x = 2")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000))
    assert changed_files(before, scan([tmp_path])) == [str(file)]
