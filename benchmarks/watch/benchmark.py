"""Events a second through store, one index and one handler, beside the peers and client-go.

The server is never the bottleneck: `benchmarks.watch.server` streams updates, written beforehand, as fast as the socket
takes them. It and the client share this machine's cores. Peers and client-go are found as `benchmarks.sync.benchmark`
says.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.contenders import there
from benchmarks.harness.measure import MEGA, scaled
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from benchmarks.sync.clients import LAZY
from benchmarks.sync.runs import CLIENT_GO, CLIENT_GO_TITLE, Runs, add_options, figures_of_go, left_out
from benchmarks.watch.clients import CONTENDERS, EARLY_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.harness.measure import Figures

RATE: Final = 25_000.0
"""Events a second."""
CPU: Final = 40.0
"""Microseconds of CPU for an event."""
FLAT: Final = 4.0
"""Megabytes that the process may grow by between the first fifth of the events and the last one."""

_WORK: Final = "benchmarks.watch.worker"
_MOST_OF_GO: Final = 10_000


@dataclasses.dataclass(frozen=True)
class Size:
    """How much to do.

    Attributes:
        events: Updates to receive.
        pods: That are updated in turn.
        repeat: Rounds.
    """

    events: int = 50_000
    pods: int = 5_000
    repeat: int = 1

    @classmethod
    def quick(cls) -> Size:
        """Just enough to see that everything works."""
        return cls(events=100, pods=20)


def measured(runs: Runs, contender: str, size: Size) -> Figures:
    """Measure one of ours, or of the peers."""
    chosen = CONTENDERS[contender]
    counts = ("--events", str(chosen.share(size.events)), "--pods", str(size.pods))
    with runs.lab.serving("benchmarks.watch.server", "--pods", str(size.pods)) as kubeconfig:
        return runs.python("-m", _WORK, "watch", contender, kubeconfig, *counts, peer=chosen.peer)


def measured_go(runs: Runs, size: Size) -> Figures:
    """Measure client-go."""
    events = min(size.events, _MOST_OF_GO)
    with runs.lab.serving("benchmarks.watch.server", "--pods", str(size.pods)) as kubeconfig:
        found = runs.go("watch", "--kubeconfig", kubeconfig, "--events", str(events))
    counted = {"events": events, "observed": found.get("events"), "grown": found.get("grown_bytes")}
    return {**figures_of_go(found), **counted}


# -- Tables ------------------------------------------------------------------------------------------------


def watch_table(titles: Mapping[str, str], best: Mapping[str, Figures], size: Size) -> Table:
    """Lay out how many events a second there were, and what one took."""
    columns = (
        Column("events", "events", 0),
        Column("delivered", "delivered", 0),
        Column("rate", "events/s", 0),
        Column("cpu_us", "CPU µs an event", 1),
        Column("held_mb", "held MB, since synced", 1),
        Column("peak_mb", "peak MB", 1),
        Column("grown_mb", f"MB grown behind 1/{EARLY_SHARE}", 1),
    )
    rows = [
        Row(
            name,
            titles[name],
            (
                used["events"],
                used["observed"],
                rate(used),
                cpu_of_one(used),
                *(scaled(used[key], 1 / MEGA) for key in ("held", "peak", "grown")),
            ),
        )
        for name, used in best.items()
    ]
    title = f"Updates of {size.pods:,} pods of 5.9 KB: store, an index and a handler; best of {size.repeat}"
    return Table("watch", title, columns, tuple(rows))


def judged_table(best: Mapping[str, Figures]) -> Table:
    """Judge masthead.aio's lazy informer, if it was measured."""
    rows = _judged_rows(best[LAZY]) if LAZY in best else ()
    return Table("judged", "masthead.aio's lazy informer", (Column("value", "", 1),), tuple(rows))


def _judged_rows(lazy: Figures) -> Iterator[Row]:
    grown = scaled(lazy["grown"], 1 / MEGA)
    yield Row("rate", "events/s", (rate(lazy),), Target("rate", rate(lazy), RATE, is_least=True))
    yield Row("cpu_us", "CPU µs an event", (cpu_of_one(lazy),), Target("cpu_us", cpu_of_one(lazy), CPU))
    yield Row(
        "grown_mb",
        f"MB grown behind 1/{EARLY_SHARE} of the events",
        (grown,),
        None if grown is None else Target("grown_mb", grown, FLAT),
    )


def rate(figures: Figures) -> float:
    """Events a second."""
    return (figures["events"] or 0) / (figures["wall"] or 1)


def cpu_of_one(figures: Figures) -> float:
    """Microseconds of CPU for an event."""
    return 1e6 * (figures["cpu"] or 0) / (figures["events"] or 1)


def run(runs: Runs, size: Size) -> Report:
    """Measure everybody."""
    wanted = runs.chosen(CONTENDERS)
    versions = runs.versions(_WORK, wanted)
    contenders = there(wanted, versions)
    cases: dict[str, Callable[[], Figures]] = {
        name: functools.partial(measured, runs, name, size) for name in contenders
    }
    titles = {name: each.title for name, each in contenders.items()}
    if runs.client_go:
        titles[CLIENT_GO] = CLIENT_GO_TITLE
        cases[CLIENT_GO] = functools.partial(measured_go, runs, size)
    best = measure.best_of(size.repeat, cases)
    tables: tuple[Table, ...] = (watch_table(titles, best, size), judged_table(best))
    if size == Size.quick():  # which is too little to judge by
        tables = unjudged(tables)
    return Report("watch", dataclasses.asdict(size), tables, _notes(versions, runs))


def _notes(versions: Mapping[str, str], runs: Runs) -> tuple[str, ...]:
    notes = (
        "The index is by the pod's node, so the spec of every pod is looked at.",
        "A handler that falls far behind receives only the newest state of each object: fewer events than were sent.",
        "Those who have no informer keep store and index in a loop over their watch. Slow ones receive fewer events.",
    )
    return (*notes, *left_out(runs.chosen(CONTENDERS), versions, runs.client_go))


def main() -> None:
    """Run the benchmark."""
    parser = measure.parser(__doc__, repeat=1, quick=True)
    add_options(parser, CONTENDERS)
    parser.add_argument("--events", type=measure.positive, default=50_000, help="(default: %(default)s)")
    options = parser.parse_args()
    size = Size.quick() if options.quick else Size(options.events, repeat=options.repeat)
    with measure.lab() as lab:
        runs = Runs(lab, options.peers_python, options.client_go, options.only)
        show(run(runs, size))
