"""``docs/benchmarks.md``: the pictures, the figures in them as text, and the commands that measure them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.suite.pictures import drawings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.suite.catalog import Benchmark
    from benchmarks.suite.charts import Chart
    from benchmarks.suite.results import Result

_INTRODUCTION: Final = """\
<!-- Written by `make bench`; `python -m benchmarks --draw` writes it again from benchmarks/results. -->

# Benchmarks

```sh
make bench                  # everything; let the machine do nothing else
make bench QUICK=1          # two minutes, to see that it works
make bench ONLY=sync,watch  # some of them
```

`make bench` installs the peers in a separate environment, runs every benchmark, writes `benchmarks/results/NAME.json`
with machine, versions and date, and draws the pictures of this page. A quick run writes to `benchmarks/results/quick`
and does not change this page. kube-apiserver is measured if `KUBEBUILDER_ASSETS` has it, client-go if
`MASTHEAD_CLIENT_GO_BENCH` names a program for it. Two wait for minutes and are run separately:
`python -m benchmarks.recovery`, and `python -m benchmarks.connections`, which needs a kube-apiserver.
[Performance](performance.md) explains the figures.

Every measurement has its own process, contenders take turns, and CPU time counts wherever a server shares the cores. A
peer that is too slow for the whole work gets less of it, and is compared by the object. Bars begin at zero, on linear
scales; blue ones are ours.
"""


def page(catalog: tuple[Benchmark, ...], results: Mapping[str, Result], pictures: str) -> str:
    """The text of the page, with the results that there are.

    Args:
        catalog: What to show, in this order.
        results: What was measured, by name.
        pictures: The folder of the pictures, as the page sees it.
    """
    parts = [_INTRODUCTION]
    for benchmark in catalog:
        if result := results.get(benchmark.name):
            parts += _section(benchmark, result, pictures)
    return "\n".join(parts)


def _section(benchmark: Benchmark, result: Result, pictures: str) -> Iterator[str]:
    yield f"## `{benchmark.name}`\n"
    yield f"{benchmark.about} `make bench ONLY={benchmark.name}` measures it again.\n"
    for drawing in drawings(benchmark, result):
        yield f"![{drawing.chart.title}: {drawing.chart.subtitle}]({pictures}/{drawing.file})\n"
        yield "\n".join(_table(drawing.chart)) + "\n"
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    yield f"{result.date}, {result.place}; {versions}.\n"


def _table(chart: Chart) -> Iterator[str]:
    yield _row("", *(panel.title for panel in chart.panels))
    yield _row("---", *("---:" for _ in chart.panels))
    for index, label in enumerate(chart.labels):
        yield _row(label, *(panel.text(panel.values[index]) for panel in chart.panels))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
