"""The embedded server and kube-apiserver: start, OpenAPI, custom resources, admission, load, watchers, and memory.

Each server is a process of its own, and so is the load; both share this machine's cores. Rates are the median of
several rounds, in which the servers take turns; how many times a rate is another is the median of what each round
says, so that a machine that slows down for a while favours no contender.

The real server runs where there is one (``KUBEBUILDER_ASSETS``), and only speaks TLS. Its etcd does not wait for the
disk, which favours it. Ours runs without controllers, as the real one does.
"""

from __future__ import annotations

import dataclasses
import functools
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from benchmarks.harness.wire import Address, Connection, RefusedError
from benchmarks.server.admission import admission_table
from benchmarks.server.apply import APPLY_ROUNDS, apply_report
from benchmarks.server.cluster import cluster_report
from benchmarks.server.contenders import (
    PROGRAM,
    Contender,
    at_least,
    contenders,
    middle,
    ours,
    rate,
    remark,
    times_the_real,
)
from benchmarks.server.custom_resources import custom_resources_table
from benchmarks.server.load import CONNECTIONS
from benchmarks.server.openapi import openapi_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.harness.measure import Figures, Lab

START: Final = 250.0
"""Milliseconds from nothing to the first response."""
WRITES: Final = 3.0
"""Times the real server's creates and updates per second, both of them speaking TLS."""
MEMORY: Final = 2.0
"""Bytes of memory per byte of a stored object's JSON."""

_START_WITHIN: Final = 30.0
_POLL_EVERY: Final = 0.001


@dataclasses.dataclass(frozen=True)
class Size:
    """How much to do.

    Attributes:
        repeat: Rounds.
        tenths: Of a second, for each kind of request, server and round.
        watchers: How many there are.
        updates: How many updates each of them receives.
        pods: How many to store.
        definitions: How many CustomResourceDefinitions to create.
    """

    repeat: int
    tenths: int = 4
    watchers: int = 100
    updates: int = 96
    pods: int = 10_000
    definitions: int = 2_000

    @classmethod
    def quick(cls) -> Size:
        """Just enough to see that everything works."""
        return cls(repeat=1, tenths=1, watchers=10, updates=16, pods=200, definitions=40)


# -- Start -------------------------------------------------------------------------------------------------


def start_table(lab: Lab, repeat: int) -> Table:
    """Measure the time from nothing to the first response."""
    _first_answer_of_a_program(lab)  # not measured: fills the cache of byte code
    cases = {"program": lambda: _first_answer_of_a_program(lab), "process": lambda: _first_answers(lab)}
    best = measure.best_of(repeat, cases)
    program, process = best["program"], best["process"]
    rows = (
        _start_row("program", "python -m masthead.server, from exec on", program["program"], START),
        _start_row("run", "async with run(), imports included", process["run"], START),
        _start_row("again", "  another run() in that process", process["again"]),
        _start_row("first_pod", "  the first pod, created after that", process["first_pod"]),
    )
    title = f"From nothing to the first response (GET /version): minimum of {repeat}"
    return Table("start", title, (Column("ms", "wall ms"),), rows)


def _start_row(name: str, title: str, spent: float | None, limit: float | None = None) -> Row:
    target = None if spent is None or limit is None else Target(f"start_{name}_ms", spent, limit)
    return Row(name, title, (spent,), target)


def _first_answers(lab: Lab) -> Figures:
    figures: Figures = lab.run("-m", "benchmarks.server.first_response")
    return figures


def _first_answer_of_a_program(lab: Lab) -> Figures:
    address = Address(f"http://127.0.0.1:{_free_port()}")
    start = time.perf_counter()
    with lab.running(*PROGRAM, "--port", address.url.rpartition(":")[2]) as process:
        pause = threading.Event()
        while not _answers(address):
            if process.poll() is not None or time.perf_counter() - start > _START_WITHIN:
                raise RuntimeError(f"the server did not answer within {_START_WITHIN:g} seconds, or ended")
            pause.wait(_POLL_EVERY)
        return {"program": (time.perf_counter() - start) * 1e3}


def _answers(address: Address) -> bool:
    try:
        with Connection(address) as connection:
            connection.send(address.request("GET", "/version"))
    except (OSError, EOFError, RefusedError):
        return False
    return True


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


# -- Load --------------------------------------------------------------------------------------------------


def load_rounds(lab: Lab, servers: Mapping[str, Contender], size: Size) -> list[dict[str, Figures]]:
    """Load each server in turn, several times over; returns the seconds that things took in each round."""
    cases = {name: functools.partial(_loaded, lab, each, size) for name, each in servers.items()}
    return measure.in_turn(size.repeat, cases)


def _loaded(lab: Lab, server: Contender, size: Size) -> Figures:
    with server.start() as address:
        load = ("-m", "benchmarks.server.load")
        where = (address.url, "--token", address.token)
        worked = lab.run(*load, "work", *where, "--seconds", str(size.tenths / 10))
        counts = ("--watchers", str(size.watchers), "--updates", str(size.updates))
        watched = lab.run(*load, "watch", *where, *counts)
    return {**worked, **watched}


def load_table(servers: Mapping[str, Contender], rounds: Sequence[Mapping[str, Figures]], size: Size) -> Table:
    """Lay out what each server got done in a second, and how many times that is of the real server's."""
    columns = (
        Column("creates", "creates/s", 0),
        Column("updates", "updates/s", 0),
        Column("gets", "gets/s", 0),
        Column("client_us", "load's CPU µs", 0),
        Column("writes_ratio", "writes, times the real"),
    )
    rows: list[Row] = []
    for name, server in servers.items():
        ratio = times_the_real(rounds, name, ("create", "update"))
        figures = (
            rate(rounds, name, "create"),
            rate(rounds, name, "update"),
            rate(rounds, name, "get"),
            1e6 * middle(each[name]["client"] for each in rounds),
            ratio,
        )
        rows.append(
            Row(
                name,
                server.title,
                figures,
                at_least(f"writes_{name}", ratio, WRITES if server.is_judged else None),
            )
        )
    title = (
        f"{CONNECTIONS} connections kept alive, a pod of 3 KB, {size.tenths / 10:g} s of each kind of request: "
        f"median of {size.repeat}"
    )
    return Table("load", title, columns, tuple(rows))


def watch_table(servers: Mapping[str, Contender], rounds: Sequence[Mapping[str, Figures]], size: Size) -> Table:
    """Lay out how many events a second reached the watchers, and whether all did, in order."""
    columns = (
        Column("events", "events/s", 0),
        Column("events_ratio", "times the real"),
        Column("astray", "missed or out of order", 0),
    )
    rows: list[Row] = []
    for name, server in servers.items():
        lost = sum(each[name]["astray"] or 0 for each in rounds)
        figures = (rate(rounds, name, "event"), times_the_real(rounds, name, ("event",)), lost)
        rows.append(Row(name, server.title, figures, Target(f"astray_{name}", lost, 0)))
    title = (
        f"{size.watchers} watchers, each receiving {size.updates} updates in a burst: median of {size.repeat}; "
        "all rounds' mistakes"
    )
    return Table("watch", title, columns, tuple(rows))


# -- Memory ------------------------------------------------------------------------------------------------


def memory_table(lab: Lab, size: Size) -> Table:
    """Measure what stored pods take: in the store alone, and in the whole process."""
    columns = (
        Column("json_bytes", "JSON: bytes", 0),
        Column("traced_bytes", "tracemalloc: bytes", 0),
        Column("rss_bytes", "RSS: bytes", 0),
        Column("ratio", "of its JSON", 2),
    )
    stored = lab.run("-m", "benchmarks.server.stored", "resident", str(size.pods))
    # Tracing slows everything down, and the ratio is the same for fewer.
    traced = lab.run("-m", "benchmarks.server.stored", "traced", str(-(-size.pods // 10)))
    held = traced["per pod"] if stored["per pod"] is None else stored["per pod"]
    ratio = held / stored["bytes"]
    written, grown = _grown_process(lab, size.pods)
    rows = (
        Row(
            "store",
            "created and stored, without HTTP",
            (stored["bytes"], traced["per pod"], stored["per pod"], ratio),
            Target("memory", ratio, MEMORY),
        ),
        Row(
            "process",
            "the server's process, created over HTTP",
            (written, None, grown, None if grown is None else grown / written),
            None if grown is None else Target("memory_process", grown / written, MEMORY),
        ),
    )
    return Table("memory", f"{size.pods:,} pods stored: memory for each, one run", columns, rows)


def _grown_process(lab: Lab, count: int) -> tuple[float, float | None]:
    """Fill a server; returns the bytes of a pod's JSON, and by how many the process grew for each."""
    with ours(lab) as (address, process):
        lab.run("-m", "benchmarks.server.load", "fill", address.url, "--count", "1")
        before = measure.resident_bytes(process)
        filled = lab.run("-m", "benchmarks.server.load", "fill", address.url, "--count", str(count))
        after = measure.resident_bytes(process)
    grown = None if before is None or after is None else (after - before) / filled["pods"]
    return filled["bytes"], grown


# -- Report ------------------------------------------------------------------------------------------------


def run(lab: Lab, size: Size) -> Report:
    """Measure everything."""
    start, memory = start_table(lab, size.repeat), memory_table(lab, size)
    openapi = openapi_table(functools.partial(ours, lab), size.repeat)
    custom = custom_resources_table(functools.partial(ours, lab), size.repeat, size.definitions, 2 * size.definitions)
    admission = admission_table(functools.partial(ours, lab), size.repeat, size.definitions)
    with contenders(lab) as servers:
        rounds = load_rounds(lab, servers, size)
    tables: tuple[Table, ...] = (
        start,
        openapi,
        custom,
        admission,
        load_table(servers, rounds, size),
        watch_table(servers, rounds, size),
        memory,
    )
    if size == Size.quick():  # too little to judge by
        tables = unjudged(tables)
    return Report("server", dataclasses.asdict(size), tables, _notes(servers))


def _notes(servers: Mapping[str, Contender]) -> tuple[str, ...]:
    return (
        "Servers and the load share this machine's cores. Writes are as many creates as updates.",
        "The pods are of 100 templates. Ours lets everybody in; the real one looks at a token.",
        "The server's process also remembers the last requests, up to 10,000, and 8 MiB of their bodies.",
        remark(servers),
    )


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=5, quick=True)
    parser.add_argument(
        "--apply",
        action="store_true",
        help="measure server-side apply, and nothing else, in at most three rounds",
    )
    parser.add_argument(
        "--cluster",
        action="store_true",
        help="roll 50,000 pods on 1,000 nodes while 50 watchers follow, and measure nothing else",
    )
    options = parser.parse_args()
    size = Size.quick() if options.quick else Size(options.repeat)
    with measure.lab() as lab:
        if options.cluster:
            show(cluster_report(lab, is_quick=options.quick))
        elif options.apply:
            show(apply_report(lab, min(size.repeat, APPLY_ROUNDS), is_quick=options.quick))
        else:
            show(run(lab, size))
