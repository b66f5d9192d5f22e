"""Plugins: which program arguments mean, and the list of those on the path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from masthead._cli.plugins import FoundPlugin, find_plugin, list_plugins

if TYPE_CHECKING:
    from pathlib import Path


def program(folder: Path, name: str, *, mode: int = 0o755) -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n", "utf-8")
    (folder / name).chmod(mode)
    return str(folder / name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the path."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def test_the_longest_name_wins(folder: Path) -> None:
    short, long = program(folder, "kubectl-foo"), program(folder, "kubectl-foo-bar")

    found = [find_plugin(words.split()) for words in ("foo", "foo bar", "foo bar baz -x", "foo baz", "foo -x bar")]

    assert [(plugin.path, " ".join(plugin.arguments)) for plugin in found if plugin] == [
        (short, ""),
        (long, ""),
        (long, "baz -x"),
        (short, "baz"),
        (short, "-x bar"),
    ]


def test_dashes_within_a_word_are_underscores(folder: Path) -> None:
    path = program(folder, "kubectl-foo_bar")

    found = find_plugin(["foo-bar", "baz"])

    assert found is not None
    assert (found.path, found.arguments) == (path, ("baz",))
    assert find_plugin(["foo", "bar"]) is None


@pytest.mark.parametrize("words", ["nope", "", "-x foo", "../foo", "a/foo"])
def test_other_words_mean_no_plugin(words: str, folder: Path) -> None:
    program(folder, "kubectl-foo")
    program(folder.parent, "kubectl-foo")

    assert find_plugin(words.split()) is None


def test_what_is_not_executable_is_no_plugin(folder: Path) -> None:
    program(folder, "kubectl-foo", mode=0o644)

    assert find_plugin(["foo"]) is None


def test_relative_folders_are_not_searched(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folder, "kubectl-foo")
    monkeypatch.chdir(tmp_path)

    for path in ("bin", f"bin{os.pathsep}{os.pathsep}.", ""):
        monkeypatch.setenv("PATH", path)
        assert find_plugin(["foo"]) is None


def test_plugins_are_listed_with_what_is_wrong_with_them(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(folder, "kubectl-foo")
    program(tmp_path / "more", "kubectl-foo")
    program(tmp_path / "more", "kubectl-plain", mode=0o644)
    program(tmp_path / "more", "other")
    (tmp_path / "more" / "kubectl-folder").mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (folder, tmp_path / "more", tmp_path / "none", folder))))

    found = list(list_plugins())

    plugins = [plugin for plugin in found if isinstance(plugin, FoundPlugin)]
    assert [(plugin.path.name, plugin.is_executable, plugin.shadowed_by) for plugin in plugins] == [
        ("kubectl-foo", True, None),
        ("kubectl-foo", True, folder / "kubectl-foo"),
        ("kubectl-plain", False, None),
    ]
    assert [str(error.filename) for error in found if isinstance(error, OSError)] == [str(tmp_path / "none")]
