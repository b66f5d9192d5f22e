"""What each of several replicas takes that share many objects: CPU, time and memory, selected by the server or here.

Each replica has a process of its own, as has the embedded server. With shard selectors, a replica receives its share
only; without, it receives everything, and drops what is not its share before it is kept.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.measure import MEGA, ROOT, cpu_seconds, scaled
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from benchmarks.harness.measure import Figures, Lab

OBJECTS: Final = 50_000
REPLICAS: Final = (1, 2, 4)
_QUICK: Final = 400
_QUICK_REPLICAS: Final = (1, 2)
_MODES: Final = {"server": "selected by the server", "here": "filtered by hash here"}


@contextlib.contextmanager
def _process(*arguments: str) -> Generator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise RuntimeError("a process has ended too early; its output is above")
    return line


def measured(data: Path, mode: str, replicas: int) -> list[Figures]:
    """Measure all replicas at once; returns the figures of each."""
    copy = data.with_suffix(".copy")
    shutil.copy(data, copy)
    with contextlib.ExitStack() as stack:
        gate = "1" if mode == "server" else "0"
        server = stack.enter_context(_process("benchmarks.sharding.server", "serve", str(copy), gate))
        url = _line(server)
        started = [
            stack.enter_context(_process("benchmarks.sharding.worker", url, str(replicas))) for _ in range(replicas)
        ]
        for each in started:
            assert _line(each) == "ready"
        before = cpu_seconds(server.pid)
        for each in started:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        figures: list[Figures] = [json.loads(_line(each)) for each in started]
        after = cpu_seconds(server.pid)
    served = None if before is None or after is None else after - before
    return [{**figure, "server_cpu": served} for figure in figures]


def run(lab: Lab, objects: int) -> Report:
    """Measure all modes and numbers of replicas."""
    data = lab.folder / "objects.db"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.sharding.server", "fill", str(data), str(objects)],
        cwd=ROOT,
        check=True,
    )
    is_quick = objects == _QUICK
    found = {
        (mode, replicas): measured(data, mode, replicas)
        for mode in _MODES
        for replicas in (_QUICK_REPLICAS if is_quick else REPLICAS)
        if replicas > 1 or mode == "server"
    }
    for (mode, replicas), each in found.items():
        total = sum(figures["objects"] or 0 for figures in each)
        if total != objects:
            raise RuntimeError(f"{replicas} replicas, {_MODES[mode]}, have {total:,.0f} of {objects:,} objects")
    tables: tuple[Table, ...] = (_table(found),)
    if is_quick:  # which is too little to judge by
        tables = unjudged(tables)
    return Report("sharding", {"objects": objects}, tables, ("CPU and memory are those of the largest replica.",))


def _table(found: dict[tuple[str, int], list[Figures]]) -> Table:
    columns = (
        Column("objects", "objects each", 0),
        Column("received", "received each", 0),
        Column("cpu_s", "CPU s each", 2),
        Column("wall_s", "wall s", 2),
        Column("held_mb", "held MB each", 1),
        Column("peak_mb", "peak MB each", 1),
        Column("server_cpu_s", "server CPU s", 2),
    )
    alone = found["server", 1]
    rows: list[Row] = []
    for (mode, replicas), each in found.items():
        figures = (
            _most(each, "objects"),
            _most(each, "received"),
            _most(each, "cpu"),
            _most(each, "wall"),
            scaled(_most(each, "held"), 1 / MEGA),
            scaled(_most(each, "peak"), 1 / MEGA),
            _most(each, "server_cpu"),
        )
        held, base = _most(each, "held"), _most(alone, "held")
        target = None
        if replicas > 1 and held is not None and base:
            # A share is never exactly even, and some memory is there however few objects are.
            target = Target(f"{mode}_{replicas}_held", held / base, 1.35 / replicas)
        title = f"{replicas} replicas, {_MODES[mode]}" if replicas > 1 else "1 replica"
        rows.append(Row(f"{mode}_{replicas}", title, figures, target))
    return Table("replicas", "From start until each object has been reconciled once", columns, tuple(rows))


def _most(each: list[Figures], key: str) -> float | None:
    values = [figures[key] for figures in each]
    return None if None in values else max(value for value in values if value is not None)


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1, quick=True)
    parser.add_argument("--objects", type=measure.positive, default=OBJECTS, help="ConfigMaps (default: %(default)s)")
    options = parser.parse_args()
    with measure.lab() as lab:
        show(run(lab, _QUICK if options.quick else options.objects))


if __name__ == "__main__":
    main()
