"""Measuring: every measurement in a fresh process, cases in turn, and the minimum of several rounds.

Fresh, so that none warms the caches or bloats the heap of another. In turn, so that a machine that slows down for
a while slows all cases down, and ratios stay true. CPU time, not the clock on the wall; and the minimum, because
whatever disturbs a measurement can only add to it.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

ROOT: Final = Path(__file__).parents[1]
"""The root of the repository."""

Figures: TypeAlias = "dict[str, float | None]"
"""What one run measured; None is what this platform cannot tell."""


@dataclasses.dataclass(frozen=True)
class Lab:
    """An interpreter to start afresh, and a folder for the files that it reads.

    Attributes:
        folder: The folder, which is removed in the end.
    """

    folder: Path

    def run(self, *arguments: str | Path) -> dict[str, Any]:
        """Start Python and return the JSON that it prints last."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self._environment(),
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf-8",
        )
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return printed

    @contextlib.contextmanager
    def running(self, *arguments: str | Path) -> Generator[subprocess.Popen[str]]:
        """Run Python until the end of the block; it can be read what it prints."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        with process:
            try:
                yield process
            finally:
                process.terminate()

    def _environment(self) -> dict[str, str]:
        """Byte code is cached, as it is for an installed package; the first run fills the cache."""
        changed = {**os.environ, "PYTHONPYCACHEPREFIX": str(self.folder / "pycache")}
        changed.pop("PYTHONDONTWRITEBYTECODE", None)
        return changed


@contextlib.contextmanager
def lab() -> Generator[Lab]:
    """Make a lab, and clean up after it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Lab(Path(folder))


def best_of(repeat: int, cases: Mapping[str, Callable[[], Figures]]) -> dict[str, Figures]:
    """Run all cases in turn, `repeat` times over; return the minimum of each figure."""
    best: dict[str, Figures] = {name: {} for name in cases}
    for measured in in_turn(repeat, cases):
        for name, figures in measured.items():
            best[name] = {key: _least(value, best[name].get(key)) for key, value in figures.items()}
    return best


def in_turn(repeat: int, cases: Mapping[str, Callable[[], Figures]]) -> list[dict[str, Figures]]:
    """Run all cases in turn, `repeat` times over; return what each round measured."""
    return [{name: run() for name, run in cases.items()} for _ in range(repeat)]


def _least(value: float | None, best: float | None) -> float | None:
    return value if best is None or value is None else min(value, best)


def resident_bytes(process: int) -> int | None:
    """The memory that a process has now, as the system counts it; None where that is not told."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except FileNotFoundError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def parser(description: str | None, *, repeat: int) -> argparse.ArgumentParser:
    """The command line that all benchmarks have."""
    made = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    made.add_argument("--repeat", type=positive, default=repeat, help="rounds (default: %(default)s)")
    return made


def positive(text: str) -> int:
    """Read a number of at least one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
