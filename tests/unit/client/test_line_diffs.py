"""Unified diffs: they lead from one text to the other, and do not take long."""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.line_diffs import unified_diff

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("old", "new")
LINES = st.lists(st.sampled_from([f"{each}\n" for each in "abcdefgh"]), max_size=40)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def applied(old: list[str], diff: list[str]) -> list[str]:
    """What the hunks make of the old lines."""
    made: list[str] = []
    at = 0
    for line in diff[2:]:
        if found := HUNK.match(line):
            start = int(found[1]) - (found[2] != "0")
            made += old[at:start]
            at = start
            assert len(made) == int(found[3]) - (found[4] != "0")
            continue
        assert line[0] == "+" or old[at] == line[1:]
        at += line[0] != "+"
        made += [line[1:]] if line[0] != "-" else []
    return made + old[at:]


def numbered(count: int, *, other: int = 1) -> list[str]:
    """Lines of which every so many are others."""
    return [f"{'new' if at % other else 'line'} {at}\n" for at in range(count)]


@given(LINES, LINES, st.integers(0, 4))
def test_a_diff_leads_from_one_text_to_the_other(old: list[str], new: list[str], context: int) -> None:
    diff = unified_diff(old, new, NAMES, context)

    assert applied(old, diff) == new
    assert bool(diff) == (old != new)


@given(st.integers(0, 1000), st.integers(1, 4), st.data())
def test_a_diff_of_long_texts_leads_from_one_to_the_other(seed: int, other: int, data: st.DataObject) -> None:
    old, new = numbered(300), numbered(300, other=other)
    moved = data.draw(st.permutations(range(5)))
    pieces = [new[at * 60 : (at + 1) * 60] for at in moved]
    shuffled = [line for piece in pieces for line in piece] + [f"tail {seed}\n"]

    assert applied(old, unified_diff(old, shuffled, NAMES, 3)) == shuffled


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (numbered(50), numbered(50, other=7)),
        (numbered(3), []),
        ([], numbered(3)),
        (numbered(20), numbered(19)),
    ],
)
def test_short_texts_are_compared_as_by_difflib(old: list[str], new: list[str]) -> None:
    assert unified_diff(old, new, NAMES, 3) == list(difflib.unified_diff(old, new, *NAMES))


def test_lines_that_repeat_are_replaced_as_a_whole_where_nothing_is_unique() -> None:
    old, new = ["a\n", "b\n"] * 200, ["b\n", "c\n"] * 200

    diff = unified_diff(old, new, NAMES, 0)

    assert applied(old, diff) == new


def test_every_second_of_many_lines_differs() -> None:
    """`difflib` alone takes minutes for it."""
    old, new = numbered(20_000), numbered(20_000, other=2)

    diff = unified_diff(old, new, NAMES, 3)

    assert sum(line.startswith("-line") for line in diff) == 10_000


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch")
def test_patch_applies_the_diff(tmp_path: Path) -> None:
    old, new = numbered(400), ["first\n", *numbered(380, other=3), *numbered(9)]
    (tmp_path / "old").write_text("".join(old), "utf-8")
    diff = "".join(unified_diff(old, new, NAMES, 3))

    subprocess.run(["patch", "-s", "old"], input=diff, text=True, cwd=tmp_path, check=True)

    assert (tmp_path / "old").read_text("utf-8") == "".join(new)
