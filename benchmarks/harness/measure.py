"""Measuring: every measurement in a fresh process, cases in turn, and the minimum of several rounds.

Fresh, so that none warms the caches or bloats the heap of another. In turn, so that a machine that slows down for
a while slows all cases down, and ratios stay true. CPU time, not the clock on the wall; and the minimum, because
disturbances can only add to a measurement.
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
    from collections.abc import Callable, Generator, Mapping, Sequence

ROOT: Final = Path(__file__).parents[2]
"""The root of the repository."""

Figures: TypeAlias = "dict[str, float | None]"
"""The figures of one run; None for what this platform does not report."""
MEGA: Final = 1e6
"""Bytes of a megabyte."""

_PYTHON_OF_PEERS: Final = "PEERS_PYTHON"


@dataclasses.dataclass(frozen=True)
class Lab:
    """An interpreter to start afresh, and a folder for the files that it reads.

    Attributes:
        folder: The folder, which is removed in the end.
    """

    folder: Path

    def run(self, *arguments: str | Path, python: str = sys.executable) -> dict[str, Any]:
        """Start Python, this one or another, and return the JSON that it prints last."""
        return printed(*self._command(python, arguments))

    @contextlib.contextmanager
    def running(self, *arguments: str | Path, python: str = sys.executable) -> Generator[subprocess.Popen[str]]:
        """Run Python, this one or another, until the end of the block; it can be read what it prints."""
        command, environment = self._command(python, arguments)
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        with process:
            try:
                yield process
            finally:
                process.terminate()

    @contextlib.contextmanager
    def serving(self, module: str, *options: str) -> Generator[Path]:
        """Run a server for the length of a block; gives the path of the kubeconfig that it writes.

        Raises:
            RuntimeError: if it does not start.
        """
        kubeconfig = self.folder / "kubeconfig"
        with self.running("-m", module, kubeconfig, *options) as process:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError("the server did not start; its output is above")
            yield kubeconfig

    def _command(self, python: str, arguments: Sequence[str | Path]) -> tuple[list[str | Path], dict[str, str]]:
        if python == sys.executable:
            return [python, *arguments], self.environment()
        # Nothing of another interpreter's may come into our tree.
        return [python, "-W", "ignore", *arguments], {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def environment(self) -> dict[str, str]:
        """The variables of our processes: byte code is cached, as it is for an installed package.

        The first run fills the cache. A cache named in the environment is used instead, by any number of labs.
        """
        changed = {"PYTHONPYCACHEPREFIX": str(self.folder / "pycache"), **os.environ}
        changed.pop("PYTHONDONTWRITEBYTECODE", None)
        return changed


@contextlib.contextmanager
def lab() -> Generator[Lab]:
    """Make a lab, and clean up after it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Lab(Path(folder))


def printed(command: Sequence[str | Path], environment: Mapping[str, str]) -> dict[str, Any]:
    """Run a program at the root of the repository, and return the JSON that it prints last."""
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


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


def scaled(value: float | None, factor: float) -> float | None:
    """A figure in another unit; None stays None."""
    return None if value is None else value * factor


def ratio(value: float | None, base: float | None) -> float | None:
    """How many times the base a figure is; None if one of them is not known."""
    return value / base if value is not None and base else None


def resident_bytes(process: int) -> int | None:
    """The memory that a process has now, as the system counts it; None where it is not reported."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except FileNotFoundError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(process: int) -> float | None:
    """The CPU time that a process has taken so far; None where it is not reported."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    user, system = stat.rpartition(")")[2].split()[11:13]  # behind the name, which may have blanks
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def parser(description: str | None, *, repeat: int, quick: bool = False) -> argparse.ArgumentParser:
    """The command line that all benchmarks have; some have quick runs, too."""
    made = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    made.add_argument("--repeat", type=positive, default=repeat, help="rounds (default: %(default)s)")
    if quick:
        made.add_argument("--quick", action="store_true", help="a smoke run, whose figures mean little")
    return made


def add_peers(parser: argparse.ArgumentParser) -> None:
    """Let the command line say which interpreter has the peers."""
    parser.add_argument(
        "--peers-python",
        default=peers_python(),
        help=f"an interpreter that has the peers (default: ${_PYTHON_OF_PEERS}, or this one)",
    )


def peers_python() -> str:
    """The interpreter that has the peers, unless the command line names another."""
    return os.environ.get(_PYTHON_OF_PEERS, sys.executable)


def positive(text: str) -> int:
    """Read a number of at least one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
