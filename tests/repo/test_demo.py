"""``make demo`` shows what it promises, and would say so if it did not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from demo.verdict import differences

from masthead.api.core.v1 import Pod

ROOT = Path(__file__).parents[2]


def pods(**versions: str) -> dict[str, Pod]:
    return {
        name: Pod.from_dict({"metadata": {"name": name, "resourceVersion": version}})
        for name, version in versions.items()
    }


def test_a_short_demo_ends_in_sync_after_some_faults() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "demo", "--seconds", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    found = re.fullmatch(r"in sync: (\d+) objects, (\d+) events, (\d+) faults survived", last)
    assert found, last
    objects, events, faults = map(int, found.groups())
    assert objects > 0
    assert events >= objects
    assert faults >= 2


def test_equal_copies_do_not_differ() -> None:
    assert not list(differences("the copy", pods(a="1"), pods(a="1")))


def test_whatever_differs_is_named() -> None:
    copy, server = pods(a="1", b="2", c="3"), pods(b="4", c="3", d="5")

    assert list(differences("the copy", copy, server)) == [
        "the copy still has a",
        "the copy has another b: of version 2, and the server's is of 4",
        "the copy lacks d",
    ]
