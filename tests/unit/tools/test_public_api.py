"""The public API as text."""

# ruff: noqa: ARG001, ARG002, ARG003, RUF100 - what the examples take is only looked at

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pytest
from tools import public_api

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _Hidden:
    """A base that is not exported."""

    def inherited(self, /, key: str) -> int:
        """Take it from the base."""
        return len(key)


class Thing(_Hidden):
    """A thing."""

    size: int = 3
    _secret: str = ""

    def __init__(self, name: str, *, count: int = 1) -> None:
        """Make it."""

    async def get(self, *names: str, **options: object) -> bytes:
        """Get it."""
        return b""

    @property
    def first(self) -> str:
        """The first."""
        return ""

    @cached_property
    def kept(self) -> str:
        """Kept."""
        return ""

    @classmethod
    def made(cls, made_by: object = len) -> Thing:
        """Make one."""
        return cls("")

    def _private(self) -> None: ...


class Internal:
    """Not made by users."""

    def __init__(self, portal: object) -> None: ...


@dataclass(frozen=True)
class Value:
    """A value."""

    name: str
    size: int = 0


def function(one: str, /, two: int = 2, *, three: str | None = None) -> None:
    """Do it."""


@pytest.fixture
def module() -> Iterator[str]:
    made = types.ModuleType("masthead_example")
    for each in (Thing, Value, Internal, function):
        setattr(made, each.__name__, each)
    made.LIMIT = 3  # type: ignore[attr-defined]
    _Hidden.__module__ = "masthead._hidden"
    sys.modules[made.__name__] = made
    yield made.__name__
    del sys.modules[made.__name__]


def test_every_public_name_has_a_line_with_its_signature(module: str) -> None:
    assert [*public_api.describe([module])] == [
        "",
        "masthead_example",
        "    class Internal",
        "    LIMIT: int = 3",
        "    class Thing",
        "        def __init__(name: str, *, count: int = 1) -> None",
        "        property first -> str",
        "        async def get(*names: str, **options: object) -> bytes",
        "        def inherited(key: str) -> int",
        "        property kept -> str",
        "        classmethod def made(made_by: object = len) -> Thing",
        "        size: int",
        "    class Value",
        "        def __init__(name: str, size: int = 0) -> None",
        "        name: str",
        "        size: int",
        "    def function(one: str, /, two: int = 2, *, three: str | None = None) -> None",
    ]


def test_a_name_exported_twice_is_described_once(module: str) -> None:
    sys.modules["masthead_second"] = second = types.ModuleType("masthead_second")
    second.Thing = Thing  # type: ignore[attr-defined]
    try:
        assert [*public_api.describe([module, "masthead_second"])][-1] == "    Thing = masthead_example.Thing"
    finally:
        del sys.modules["masthead_second"]


def test_a_difference_is_shown_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "api.txt"
    monkeypatch.setattr(public_api, "FILE", file)
    monkeypatch.setattr(public_api, "current", lambda: "masthead\n    def new() -> None\n")
    file.write_text("masthead\n    def old() -> None\n")

    assert public_api.main([]) == 1
    shown = capsys.readouterr().err
    assert "-    def old() -> None" in shown
    assert "+    def new() -> None" in shown
    assert "make api" in shown

    assert public_api.main(["--write"]) == 0
    assert public_api.main([]) == 0
