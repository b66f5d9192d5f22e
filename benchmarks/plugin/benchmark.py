"""What the pytest plugin costs a small test, in CPU time of a whole pytest process.

The metadata of a wheel is simulated: pytest rewrites the modules that an installed wheel lists, and an editable install
lists none. Byte code is cached as pip does it; what pytest compiles is cached beside it, or not, as in a read-only
container.

pytest is no dependency of `make bench`; run this with the interpreter of `make install`.
"""

from __future__ import annotations

import functools
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, Target, show

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.harness.measure import Figures, Lab

EXTRA_MS: Final = 300.0
"""Milliseconds that a test with a client may take more than a test without fixtures."""

_TESTS: Final = {
    "alone": "def test_it():\n    assert True\n",
    "client": (
        "def test_it(kube_client):\n    assert kube_client.core_v1.namespaces().get('default').kind == 'Namespace'\n"
    ),
}
_TITLES: Final = {"alone": "a test without fixtures", "client": "a test with kube_client"}
_CACHES: Final = {"written": ("--assert=rewrite",), "read-only": ("--assert=plain",)}
"""How pytest runs to fill a cache of byte code."""
_PYTEST: Final = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-c", os.devnull)


def prepare(folder: Path) -> None:
    """Write the tests, and the metadata of a wheel."""
    for name, text in _TESTS.items():
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    metadata = folder / "as_a_wheel-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: as-a-wheel\nVersion: 1\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[pytest11]\nas_a_wheel = json\n", encoding="utf-8")
    (metadata / "RECORD").write_text("masthead/__init__.py,,\n", encoding="utf-8")


def run(lab: Lab, *, repeat: int) -> Report:
    """Measure everything."""
    prepare(lab.folder)
    cases = {(name, cache): functools.partial(_figures, lab, name, cache) for cache in _CACHES for name in _TESTS}
    for name, cache in cases:  # not measured: fills the caches
        _run_pytest(lab, name, cache, *_CACHES[cache])
    best = measure.best_of(repeat, {" ".join(case): measured for case, measured in cases.items()})
    spent = {case: best[" ".join(case)]["cpu_ms"] or 0.0 for case in cases}
    rows = [
        Row(
            f"{name}_{cache}",
            f"{_TITLES[name]}, {cache} cache",
            (cpu,),
            None if name == "alone" else Target(f"extra_ms_{cache}", cpu - spent["alone", cache], EXTRA_MS),
        )
        for (name, cache), cpu in spent.items()
    ]
    title = f"CPU time of a pytest process: minimum of {repeat}"
    table = Table("plugin", title, (Column("cpu_ms", "CPU ms", 0),), tuple(rows))
    return Report("plugin", {"repeat": repeat}, (table,))


def _figures(lab: Lab, name: str, cache: str) -> Figures:
    before = _cpu_of_children()
    _run_pytest(lab, name, cache)
    return {"cpu_ms": (_cpu_of_children() - before) * 1e3}


def _run_pytest(lab: Lab, name: str, cache: str, *filling: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(lab.folder),
        "PYTHONPYCACHEPREFIX": str(lab.folder / cache),
        "PYTHONDONTWRITEBYTECODE": "" if filling else "1",
    }
    command = [sys.executable, *_PYTEST, *filling, str(lab.folder / f"test_{name}.py")]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Run the benchmark."""
    options = measure.parser(__doc__, repeat=5).parse_args()
    with measure.lab() as lab:
        show(run(lab, repeat=options.repeat))
