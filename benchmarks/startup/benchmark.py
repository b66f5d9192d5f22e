"""What it costs to import the package, to import the types of core/v1, to read the first pod, and to run a command.

Each measurement is a separate process, with byte code cached as it is for an installed package. The figure that
counts is the CPU time of the statement itself, so that the interpreter's own start is not in it.
"""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import measure, pods
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from benchmarks.startup import commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmarks.harness.measure import Figures, Lab

IMPORT: Final = 50.0
"""Milliseconds to import masthead."""
IMPORT_CORE: Final = 60.0
"""Milliseconds to import masthead.api.core.v1, and masthead with it."""
FIRST_POD: Final = 25.0
"""Milliseconds until the first pod is read and its sections are decoded."""

PROBE: Final = Path(__file__).with_name("probe.py")
UNWANTED: Final = ("_ssl", "http", "ssl", "urllib.request", "yaml", "masthead.api", "masthead._meta.model")
"""Modules that `import masthead` is not to load, nor their submodules."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A statement to measure.

    Attributes:
        title: What the report calls it.
        statement: The measured code.
        setup: Code to run before.
        limit: The most milliseconds that it should take.
    """

    title: str
    statement: str
    setup: str = ""
    limit: float | None = None


def cases(pod: Path) -> dict[str, Case]:
    """Everything to measure, given the file of a pod to read."""
    ready = f"from masthead.api.core.v1 import Pod\nwith open({str(pod)!r}, 'rb') as file: data = file.read()\n"
    read = "pod = Pod.from_wire(data)\n"
    return {
        "bare": Case("bare interpreter", "pass"),
        "import": Case("import masthead", "import masthead", limit=IMPORT),
        "core": Case("import masthead.api.core.v1", "import masthead.api.core.v1", limit=IMPORT_CORE),
        "first_pod": Case(
            "  then the first Pod, its spec and its status",
            f"{read}pod.spec\npod.status",
            setup=ready,
            limit=FIRST_POD,
        ),
        "from_wire": Case("    of that: Pod.from_wire makes its decoder", read, setup=ready),
        "spec": Case("    of that: pod.spec makes its decoder", "pod.spec", setup=ready + read),
        "status": Case("    of that: pod.status makes its decoder", "pod.status", setup=f"{ready}{read}pod.spec"),
    }


def unwanted(loaded: Iterable[str]) -> list[str]:
    """Those of the modules that `import masthead` is not to load."""
    return [each for each in loaded if any(each == name or each.startswith(f"{name}.") for name in UNWANTED)]


def run(lab: Lab, *, repeat: int) -> Report:
    """Measure everything."""
    pod = lab.folder / "one.json"
    pod.write_bytes(pods.one_pod())
    measured = cases(pod)
    # Not measured: fills the cache of byte code, and finds which modules are loaded.
    first = {name: _run(lab, case) for name, case in measured.items()}
    best = measure.best_of(repeat, {name: functools.partial(_figures, lab, case) for name, case in measured.items()})
    loaded: list[str] = first["import"]["loaded"]
    tables = (_time_table(measured, best, repeat), _module_table(loaded), commands.run(lab, repeat=repeat))
    return Report("startup", {"repeat": repeat}, tables, _notes(loaded))


def _time_table(measured: Mapping[str, Case], best: Mapping[str, Figures], repeat: int) -> Table:
    columns = (
        Column("cpu_ms", "CPU ms"),
        Column("wall_ms", "wall ms"),
        Column("process_cpu_ms", "process CPU ms"),
        Column("modules", "modules", 0),
        Column("peak_rss_mb", "peak RSS MB"),
    )
    rows: list[Row] = []
    for name, case in measured.items():
        figures = best[name]
        spent = figures["cpu_ms"]
        target = None if spent is None or case.limit is None else Target(f"{name}_ms", spent, case.limit)
        rows.append(Row(name, case.title, tuple(figures[column.name] for column in columns), target))
    title = f"From a fresh interpreter, byte code cached: minimum of {repeat}"
    return Table("startup", title, columns, tuple(rows))


def _module_table(loaded: list[str]) -> Table:
    heavy = len(unwanted(loaded))
    rows = (
        Row("loaded", "all, over the bare interpreter", (len(loaded),)),
        Row("unwanted", "HTTP, YAML, ssl, models", (heavy,), Target("unwanted_modules", heavy, 0)),
    )
    title = "Modules that `import masthead` loads"
    return Table("modules", title, (Column("modules", "modules", 0),), rows)


def _notes(loaded: list[str]) -> tuple[str, ...]:
    notes = ["CPU ms and wall ms are the statement's own; process CPU ms has the interpreter's start in it."]
    if heavy := unwanted(loaded):
        notes.append(f"`import masthead` loads what it should not: {', '.join(heavy)}.")
    return tuple(notes)


def _run(lab: Lab, case: Case) -> dict[str, Any]:
    # -P: the folder of the probe is not searched for modules.
    return lab.run("-P", PROBE, case.setup, case.statement)


def _figures(lab: Lab, case: Case) -> Figures:
    figures: Figures = _run(lab, case)["figures"]
    return figures


def main() -> None:
    """Run the benchmark."""
    options = measure.parser(__doc__, repeat=10, quick=True).parse_args()
    with measure.lab() as lab:
        report = run(lab, repeat=1 if options.quick else options.repeat)
    if options.quick:  # which is too little to judge by
        report = dataclasses.replace(report, tables=unjudged(report.tables))
    show(report)
