"""The tables of the request benchmark: what was measured, and how ours compares with the peers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from benchmarks.harness.costs import COSTS, cost_of
from benchmarks.harness.measure import ratio
from benchmarks.harness.report import Column, Row, Table, Target
from benchmarks.requests.clients import AT_ONCE, LIGHTKUBE, OFFICIAL, OURS, OURS_BLOCKING
from benchmarks.requests.worker import WIDTHS, figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.harness.measure import Figures
    from benchmarks.requests.clients import Client

SMALL: Final = 3.0
"""Times the official client's small calls per second, and its CPU for a call."""
AHEAD: Final = 1.0
"""Times the best peer's."""
LIST_CPU: Final = 1 / 10
"""Of the official client's CPU for a list."""
LIST_MEMORY: Final = 1 / 5
"""Of the memory that the official client's list holds."""
LIST_LIGHTKUBE: Final = 1 / 3
"""Of lightkube's CPU for a list."""
FACADE: Final = 150.0
"""Microseconds that a blocking call takes longer than an async one."""

_KINDS: Final = ("get", "create")


def small_table(clients: Mapping[str, Client], best: Mapping[str, Figures], rounds: int, seconds: float) -> Table:
    """Lay out small calls per second, and the CPU of one."""
    shapes = list(itertools.product(_KINDS, WIDTHS))
    columns = tuple(
        column
        for kind, width in shapes
        for column in (
            Column(f"{kind}s_{width}", f"{kind}s/s, {width}", 0),
            Column(f"{kind}_{width}_cpu_us", "CPU µs", 0),
        )
    )
    rows: list[Row] = []
    for name, client in clients.items():
        figures = (
            value
            for kind, width in shapes
            for value in (
                1 / taken(best[name], figure(kind, width, "wall")),
                1e6 * taken(best[name], figure(kind, width, "cpu")),
            )
        )
        rows.append(Row(name, client.title, tuple(figures)))
    title = (
        f"A small ConfigMap, one call at a time and {AT_ONCE} at once, {seconds:g} s of each: best of {rounds} rounds"
    )
    return Table("small", title, columns, tuple(rows))


def list_table(clients: Mapping[str, Client], lists: Mapping[str, Figures], count: int) -> Table:
    """Lay out what a long list takes, and what is left of it in memory, as it comes and with each pod's phase read."""
    rows: list[Row] = []
    for name, used in lists.items():
        client = clients[name]
        read = client.share(count)
        for key, title in (
            ("list", client.title.partition(", 16")[0]),
            ("touch", "  and status.phase of each"),
        ):
            rows.append(Row(f"{name}_{key}", title, cost_of(used, read, prefix=f"{key}_")))
    return Table("list", f"A list of {count:,} pods of 5.9 KB, all of it kept: one run", COSTS, tuple(rows))


def facade_table(facades: Mapping[str, Figures], rounds: int) -> Table:
    """Lay out what the blocking façade costs, on each kind of loop."""
    titles = {"own": "asyncio's own loop", "uvloop": "uvloop"}
    columns = (
        Column("async_us", "masthead.aio: µs"),
        Column("blocking_us", "masthead: µs"),
        Column("hop_us", "the hop alone: µs"),
        Column("over_us", "over: µs"),
    )
    rows: list[Row] = []
    for name, used in facades.items():
        over = used["over_us"]
        target = None if over is None else Target(f"facade_{name}_us", over, FACADE)
        rows.append(Row(name, titles[name], tuple(used[column.name] for column in columns), target))
    title = f"One small get at a time through both façades, in turn: wall time, median of {rounds}"
    return Table("facade", title, columns, tuple(rows))


def compare_table(
    clients: Mapping[str, Client],
    best: Mapping[str, Figures],
    lists: Mapping[str, Figures],
    count: int,
) -> Table:
    """Lay out how many times better ours is than the official client, and than the best peer; judges masthead.aio."""
    rows: list[Row] = []
    peers = [name for name, client in clients.items() if client.peer]
    if OFFICIAL in clients:
        rows += _small_rows("official", "the official client's", [OFFICIAL], best, SMALL)
    if peers:
        rows += _small_rows("peers", "the best peer's", peers, best, AHEAD)
    per_pod = {
        name: {key: ratio(value, clients[name].share(count)) for key, value in used.items()}
        for name, used in lists.items()
    }
    for name, key, title, limit in (
        (OFFICIAL, "list_cpu", "list: CPU, of the official client's", LIST_CPU),
        (OFFICIAL, "list_held", "list: memory held, of the official client's", LIST_MEMORY),
        (LIGHTKUBE, "list_cpu", "list: CPU, of lightkube's", LIST_LIGHTKUBE),
    ):
        if name in clients:
            rows.append(_list_row(f"{key}_of_{name}", title, key, name, per_pod, limit))
    columns = (Column("aio", "masthead.aio", 3), Column("blocking", "masthead", 3))
    return Table("compare", "Ours, times (or of) the peers'; masthead.aio is judged", columns, tuple(rows))


def _small_rows(
    name: str, title: str, peers: Sequence[str], best: Mapping[str, Figures], limit: float
) -> Iterable[Row]:
    words = {"wall": "per second, times", "cpu": "CPU, how many times less than"}
    for kind, width, what in itertools.product(_KINDS, WIDTHS, words):
        key = figure(kind, width, what)
        ours, blocking = (times(best, each, peers, key) for each in (OURS, OURS_BLOCKING))
        target = Target(f"{key}_{name}", ours, limit, is_least=True)
        yield Row(f"{key}_{name}", f"{kind}s, {width}: {words[what]} {title}", (ours, blocking), target)


def _list_row(name: str, title: str, key: str, peer: str, per_pod: Mapping[str, Figures], limit: float) -> Row:
    ours, blocking = (ratio(per_pod[each][key], per_pod[peer][key]) for each in (OURS, OURS_BLOCKING))
    target = None if ours is None else Target(name, ours, limit)
    return Row(name, title, (ours, blocking), target)


def times(best: Mapping[str, Figures], name: str, peers: Sequence[str], key: str) -> float:
    """How many times less a client takes than that one of some peers that takes the least."""
    return min(taken(best[peer], key) for peer in peers) / taken(best[name], key)


def taken(figures: Figures, key: str) -> float:
    """What a client took for a small call, which is known on every platform."""
    value = figures[key]
    assert value is not None
    return value
