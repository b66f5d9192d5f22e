"""Server-side apply: a thousand deployments applied, applied again, and one field of each by a second manager."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, unjudged
from benchmarks.server.contenders import at_least, contenders, ours, rate, remark, times_the_real

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.harness.measure import Figures, Lab
    from benchmarks.server.contenders import Contender

APPLIES: Final = 1.0
"""Times the real server's applies per second, of each kind, both of them speaking TLS."""
APPLY_ROUNDS: Final = 3
"""How many rounds are enough: each takes the real server some ten seconds."""
DEPLOYMENTS: Final = 1_000
_LOAD: Final = ("-m", "benchmarks.server.apply_load")
_PHASES: Final = {
    "create": "applied",
    "unchanged": "applied again, unchanged",
    "second": "one field by a second manager, forced",
}


def apply_report(lab: Lab, repeat: int, *, is_quick: bool) -> Report:
    """Measure apply beside the real server's, and what an update costs ours."""
    count = 16 if is_quick else DEPLOYMENTS
    updates = update_table(lab, repeat, count)
    with contenders(lab) as servers:
        servers.pop("memory")  # without TLS, it is not to be compared with the real one
        cases = {name: functools.partial(_applied, lab, each, count) for name, each in servers.items()}
        rounds = measure.in_turn(repeat, cases)
    tables: tuple[Table, ...] = (*apply_tables(servers, rounds, count), updates)
    settings = {"repeat": repeat, "deployments": count}
    notes = ("Servers and the load share this machine's cores.", remark(servers))
    return Report("server_apply", settings, unjudged(tables) if is_quick else tables, notes)


def apply_tables(servers: Mapping[str, Contender], rounds: Sequence[Mapping[str, Figures]], count: int) -> list[Table]:
    """Lay out, for each kind of apply, the rate of every server and how many times the real one's that is."""
    columns = (Column("rate", "applies/s", 0), Column("ratio", "times the real", 2))
    tables: list[Table] = []
    for phase, title in _PHASES.items():
        rows: list[Row] = []
        for name, server in servers.items():
            ratio = times_the_real(rounds, name, (phase,))
            target = at_least(f"{phase}_{name}", ratio, APPLIES if server.is_judged else None)
            rows.append(Row(name, server.title, (rate(rounds, name, phase), ratio), target))
        described = f"{count:,} deployments {title}: median of {len(rounds)}"
        tables.append(Table(phase, described, columns, tuple(rows)))
    return tables


def update_table(lab: Lab, repeat: int, count: int) -> Table:
    """Measure what it costs our server to replace a deployment whose fields have managers."""
    best = measure.best_of(repeat, {"ours": lambda: _updated(lab, count)})["ours"]
    columns = (Column("us", "wall µs"), Column("cpu_us", "server's CPU µs"))
    figures = (measure.scaled(best["update"], 1e6), measure.scaled(best["cpu"], 1e6))
    title = f"{count:,} deployments written back changed by a second manager: minimum of {repeat}"
    return Table("update", title, columns, (Row("memory", "masthead, in memory", figures),))


def _applied(lab: Lab, server: Contender, count: int) -> Figures:
    with server.start() as address:
        where = (address.url, "--token", address.token)
        figures: Figures = lab.run(*_LOAD, "apply", *where, "--count", str(count))
        return figures


def _updated(lab: Lab, count: int) -> Figures:
    with ours(lab) as (address, process):
        counts = ("--count", str(count), "--process", str(process))
        figures: Figures = lab.run(*_LOAD, "update", address.url, *counts)
        return figures
