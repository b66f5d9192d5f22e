"""The servers that are loaded: ours in several forms, and a real one where there is one."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import statistics
import time
from typing import TYPE_CHECKING, Final

from tests.real_server import ASSETS, missing_programs, real_server_in

from benchmarks.harness.report import Target
from benchmarks.harness.wire import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from benchmarks.harness.measure import Figures, Lab

REAL: Final = "real"
"""The real server's name among the contenders."""
PROGRAM: Final = ("-m", "masthead.server", "--no-auth")


@dataclasses.dataclass(frozen=True)
class Contender:
    """A server to be loaded.

    Attributes:
        title: What the report calls it.
        start: Runs it for the length of a block.
        is_judged: Whether its figures have to be so many times the real server's: it speaks TLS, too.
    """

    title: str
    start: Callable[[], AbstractContextManager[Address]]
    is_judged: bool = False


@contextlib.contextmanager
def ours(lab: Lab, *options: str | Path) -> Generator[tuple[Address, int]]:
    """Run our server, as kube-apiserver behaves alone; gives its address and process id."""
    with lab.running(*PROGRAM, "--no-controllers", *options) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield Address(line.rpartition(" ")[2].strip()), process.pid


@contextlib.contextmanager
def contenders(lab: Lab) -> Generator[dict[str, Contender]]:
    """All servers to load; the real one, where there is one, runs until the end of the block."""
    start = functools.partial(_ours_for_load, lab)
    found = {
        "memory": Contender("masthead, in memory", functools.partial(start, tls=False, keeps=False)),
        "memory_tls": Contender(
            "masthead, in memory, TLS", functools.partial(start, tls=True, keeps=False), is_judged=True
        ),
        "file_tls": Contender(
            "masthead, in a file (SQLite), TLS",
            functools.partial(start, tls=True, keeps=True),
            is_judged=True,
        ),
    }
    if missing_programs():
        yield found
        return
    state = lab.folder / "real-server"
    state.mkdir()
    with real_server_in(state) as real:
        address = Address(real.url, real.token)
        yield {
            **found,
            REAL: Contender("kube-apiserver and etcd, TLS", lambda: contextlib.nullcontext(address)),
        }


@contextlib.contextmanager
def _ours_for_load(lab: Lab, *, tls: bool, keeps: bool) -> Generator[Address]:
    options: list[str | Path] = ["--tls"] if tls else []
    if keeps:
        data = lab.folder / f"{time.monotonic_ns()}.db"  # a fresh one in each round
        options += ["--data", data]
    with ours(lab, *options) as (address, _):
        yield address


def remark(servers: Mapping[str, Contender]) -> str:
    """What to know about the real server, or about there being none."""
    if REAL in servers:
        return "The real server's etcd does not wait for the disk (unsafe-no-fsync), which favours it."
    missing = ", ".join(missing_programs())
    return f"Not in {ASSETS}, so nothing to compare with: {missing} (see KUBEBUILDER_ASSETS)."


# -- Rounds, in each of which every server was loaded ------------------------------------------------------


def rate(rounds: Iterable[Mapping[str, Figures]], name: str, what: str) -> float:
    """How many things a server got done in a second."""
    return 1 / middle(each[name][what] for each in rounds)


def times_the_real(rounds: Sequence[Mapping[str, Figures]], name: str, kinds: tuple[str, ...]) -> float | None:
    """How many times a server's rate is that of the real one, as much of each kind as of the others.

    Returns:
        The median of what the rounds say; None without a real server.
    """
    if REAL not in rounds[0]:
        return None
    return middle(_seconds(each[REAL], kinds) / _seconds(each[name], kinds) for each in rounds)


def middle(figures: Iterable[float | None]) -> float:
    """The median of the figures that were measured."""
    return statistics.median(figure for figure in figures if figure is not None)


def at_least(name: str, value: float | None, limit: float | None) -> Target | None:
    """A target for how many times the real server's figure one is; None where there is nothing to judge."""
    return None if value is None or limit is None else Target(name, value, limit, is_least=True)


def _seconds(figures: Figures, kinds: tuple[str, ...]) -> float:
    return sum(figures[kind] or 0 for kind in kinds)
