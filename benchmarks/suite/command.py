"""``python -m benchmarks``: run all benchmarks, save what they measure, and draw it."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import functools
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import ROOT
from benchmarks.suite import versions
from benchmarks.suite.catalog import CATALOG
from benchmarks.suite.charts import to_svg
from benchmarks.suite.page import page
from benchmarks.suite.pictures import drawings
from benchmarks.suite.results import QUICK_RESULTS, RESULTS, Result, load, save

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from benchmarks.suite.catalog import Benchmark

_DOCS: Final = ROOT / "docs"
_QUICK_AT_ONCE: Final = 2
_NAMES: Final = tuple(each.name for each in CATALOG)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where files go.

    Attributes:
        results: The folder of the results.
        page: The page.
        pictures: Their folder, as the page sees it.
    """

    results: Path
    page: Path
    pictures: str


FULL: Final = Place(RESULTS, _DOCS / "benchmarks.md", "assets/benchmarks")
QUICK: Final = Place(QUICK_RESULTS, QUICK_RESULTS / "benchmarks.md", "pictures")


class BenchmarkError(Exception):
    """A benchmark that did not run to its end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; return the exit code: 1 if one of them failed. A target that is missed is no failure."""
    options = _parser().parse_args(arguments)
    place = QUICK if options.quick else FULL
    failed: list[str] = []
    if not options.draw:
        failed = _measure([each for each in CATALOG if each.name in options.only], options, place)
    draw(place)
    print(f"\nResults: {_shown(place.results)}; pictures: {_shown(place.page)}")
    if failed:
        print(f"Failed: {', '.join(failed)}; their output is above.", file=sys.stderr)
    return 1 if failed else 0


def draw(place: Place) -> None:
    """Write the pictures and the page of the results that there are, and remove pictures that are none of them."""
    found = {name: result for name in _NAMES if (result := load(name, place.results)) is not None}
    measured = [(each, found[each.name]) for each in CATALOG if each.name in found]
    drawn = {drawing.file: to_svg(drawing.chart) for pair in measured for drawing in drawings(*pair)}
    folder = place.page.parent / place.pictures
    folder.parent.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.svg"):
        if path.name not in drawn:
            path.unlink()
    for name, svg in drawn.items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(svg, encoding="utf-8")
    place.page.write_text(page(CATALOG, found, place.pictures), encoding="utf-8")


def _measure(benchmarks: list[Benchmark], options: argparse.Namespace, place: Place) -> list[str]:
    """Run benchmarks and save what they measure; returns the names of those that failed."""
    known = _versions(options.peers_python)
    environment = {**os.environ, "PEERS_PYTHON": options.peers_python}

    def succeeds(benchmark: Benchmark) -> bool:
        command = [sys.executable, *benchmark.arguments(quick=options.quick)]
        try:
            with _output(" ".join(["python", *command[1:]]), is_live=not options.quick) as write:
                report = figures_of(command, environment, write)
                save(Result(benchmark.name, _today(), known, report), place.results)
        except BenchmarkError as error:
            print(f"{benchmark.name}: {error}", file=sys.stderr)
            return False
        return True

    # The figures of a quick run mean little anyway, so it may have all cores.
    with ThreadPoolExecutor(_QUICK_AT_ONCE if options.quick else 1) as pool:
        succeeded = list(pool.map(succeeds, benchmarks))
    return [each.name for each, is_good in zip(benchmarks, succeeded, strict=True) if not is_good]


@contextlib.contextmanager
def _output(title: str, *, is_live: bool) -> Generator[Callable[[str], object]]:
    """Where a benchmark prints: to the terminal as it goes, or all at once behind its end; and how long it took."""
    lines: list[str] = []
    begin = time.monotonic()
    write: Callable[[str], object] = functools.partial(print, end="", flush=True) if is_live else lines.append
    write(f"\n== {title}\n\n")
    try:
        yield write
    finally:
        write(f"\nThat took {time.monotonic() - begin:.0f} s.\n")
        sys.stdout.write("".join(lines))
        sys.stdout.flush()


def figures_of(command: Sequence[str], environment: dict[str, str], write: Callable[[str], object]) -> dict[str, Any]:
    """Run a benchmark, show what it prints for people, and return the figures that it prints last.

    Args:
        command: What to run.
        environment: Its environment.
        write: Is called with each line that it prints, but for the last.

    Raises:
        BenchmarkError: If it fails, or does not end with figures.
    """
    last = ""
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if last:
                write(last)
            last = line
    if process.returncode:
        raise BenchmarkError(f"it ended with exit status {process.returncode}")
    try:
        found: dict[str, Any] = json.loads(last)
    except ValueError:
        raise BenchmarkError("its last line is not JSON") from None
    return found


def _versions(peers_python: str) -> dict[str, str]:
    with measure.lab() as lab:
        peers: dict[str, str] = lab.run("-m", "benchmarks.suite.versions", python=peers_python)
    return {**versions.installed(versions.OURS), **peers}


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _shown(path: Path) -> Path:
    return path.relative_to(ROOT)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, to see that everything works; writes to benchmarks/results/quick",
    )
    parser.add_argument("--only", type=_some, default=_NAMES, metavar="NAME,...", help=f"some of {', '.join(_NAMES)}")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw what was measured before")
    measure.add_peers(parser)
    return parser


def _some(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := sorted(set(names) - set(_NAMES)):
        raise argparse.ArgumentTypeError(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(_NAMES)}")
    return names
