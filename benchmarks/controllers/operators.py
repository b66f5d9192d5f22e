"""Runs operators beside an embedded server with many objects: from start to quiet, idle, and under steady changes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.controllers import widgets
from benchmarks.controllers.observation import END
from benchmarks.harness.measure import cpu_seconds, resident_bytes
from benchmarks.harness.wire import Connection
from benchmarks.server.contenders import ours

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from benchmarks.harness.measure import Figures, Lab
    from benchmarks.harness.wire import Address

NOOP: Final = "noop"
COMPACT: Final = "compact"
STATUS: Final = "status"
KOPF_EVENT: Final = "kopf_event"
KOPF: Final = "kopf"

_CONNECTIONS: Final = 4
_IDLE_GAP: Final = (0.01, 0.04)
"""Seconds between two changes of an idle operator."""
_WARM_UP: Final = 0.2
"""The part of the steady changes after which memory should not grow."""


@dataclasses.dataclass(frozen=True)
class Operator:
    """An operator to measure.

    Attributes:
        title: What the report calls it, and what it writes.
        program: Its module and mode.
        peer: The distribution that it comes from; empty for ours.
    """

    title: str
    program: tuple[str, str]
    peer: str = ""


_OURS: Final = "benchmarks.controllers.our_operator"
_KOPF: Final = "benchmarks.controllers.kopf_operator"
OPERATORS: Final = {
    NOOP: Operator("masthead, writes nothing", (_OURS, "noop")),
    COMPACT: Operator("masthead, writes nothing, compact cache", (_OURS, "compact")),
    STATUS: Operator("masthead, writes the status of each object", (_OURS, "status")),
    KOPF_EVENT: Operator("kopf, on.event: writes nothing", (_KOPF, "event"), "kopf"),
    KOPF: Operator("kopf, on.create/update/resume: annotates each object", (_KOPF, "handlers"), "kopf"),
}


@dataclasses.dataclass(frozen=True)
class Bench:
    """Where operators are run.

    Attributes:
        lab: Starts processes.
        objects: How many objects the server has.
        peers_python: The interpreter that has the peers.
    """

    lab: Lab
    objects: int
    peers_python: str = sys.executable

    def versions(self) -> Mapping[str, str]:
        """The installed peers."""
        return self.lab.run("-m", _KOPF, "installed", python=self.peers_python)

    @contextlib.contextmanager
    def server(self) -> Generator[tuple[Address, Path]]:
        """Run a server that has the objects; gives its address and kubeconfig."""
        kubeconfig = self.lab.folder / "operator-kubeconfig"
        kubeconfig.unlink(missing_ok=True)
        with ours(self.lab, "--kubeconfig-out", kubeconfig) as (address, _):
            widgets.create_all(address, self.objects)
            yield address, kubeconfig

    @contextlib.contextmanager
    def running(self, operator: Operator, kubeconfig: Path) -> Generator[subprocess.Popen[str]]:
        """Run an operator."""
        module, mode = operator.program
        python = self.peers_python if operator.peer else sys.executable
        with self.lab.running("-m", module, mode, kubeconfig, str(self.objects), python=python) as process:
            yield process


def next_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The JSON that an operator prints next.

    Raises:
        RuntimeError: If it has ended.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError("the operator has ended; its output is above")
    found: dict[str, Any] = json.loads(line)
    return found


def reconciled(bench: Bench) -> Figures:
    """Measure no-op reconciles of our controllers."""
    with bench.server() as (_, kubeconfig):
        return bench.lab.run("-m", _OURS, "again", kubeconfig, str(bench.objects))


def measured(bench: Bench, operator: Operator, changes: int) -> Figures:
    """Measure an operator with all objects, and what they add to its memory with one object."""
    one, figures = (
        started(dataclasses.replace(bench, objects=1), operator, 1),
        started(bench, operator, changes),
    )
    little, much = one["resident"], figures["resident"]
    figures["grown"] = None if little is None or much is None else much - little
    return figures


def started(bench: Bench, operator: Operator, changes: int) -> Figures:
    """Measure an operator from its start until all is quiet, and then how soon it notices changes."""
    with bench.server() as (address, kubeconfig):
        before = widgets.last_version(address)
        with bench.running(operator, kubeconfig) as process:
            figures = next_line(process)
            figures["writes"] = widgets.last_version(address) - before
            change_idle(address, bench.objects, changes)
            process.send_signal(END)
            seen = next_line(process)
    if seen["changes"] != changes:
        raise RuntimeError(f"{operator.title}: {changes} changes were made, and {seen['changes']} were seen")
    return {**figures, **{name: seen[name] for name in ("p50", "p99", "max")}}


def change_idle(address: Address, objects: int, changes: int) -> None:
    """Change one object after the other, with pauses in which an operator has long become idle."""
    rng, never = random.Random(1), threading.Event()
    with Connection(address) as connection:
        for serial in range(1, changes + 1):
            never.wait(rng.uniform(*_IDLE_GAP))
            connection.send(widgets.change(address, serial % objects, serial))


def sustained(bench: Bench, rate: int, seconds: int) -> Figures:
    """Measure our operator under steady changes of all objects in turn."""
    changes = rate * seconds
    with bench.server() as (address, kubeconfig), bench.running(OPERATORS[NOOP], kubeconfig) as process:
        next_line(process)
        cpu = cpu_seconds(process.pid)
        memory: list[int | None] = []
        began = time.monotonic()
        for part in (range(round(changes * _WARM_UP)), range(round(changes * _WARM_UP), changes)):
            change_steadily(address, bench.objects, part, rate)
            memory.append(resident_bytes(process.pid))
        spent = time.monotonic() - began
        process.send_signal(END)
        seen = next_line(process)
        used = cpu_seconds(process.pid)
    expected = sum(_last_serials(changes, bench.objects))
    if seen["last_serials"] != expected:
        raise RuntimeError(f"changes were lost: {expected=}, {seen=}")
    early, late = memory
    return {
        "rate": changes / spent,
        "cpu": None if used is None or cpu is None else 1e6 * (used - cpu) / changes,
        "grown": None if early is None or late is None else late - early,
        "reconciles": seen["calls"] / changes,
        "p50": seen["p50"],
        "p99": seen["p99"],
    }


def _last_serials(changes: int, objects: int) -> list[int]:
    """The serial of the last change of each object."""
    return [serial for serial in range(1, changes + 1) if serial + objects > changes]


def change_steadily(address: Address, objects: int, numbers: range, rate: int) -> None:
    """Change objects in turn at a rate, from several connections; one that falls behind catches up."""
    began, never = time.monotonic(), threading.Event()

    def change(own: range) -> None:
        with Connection(address) as connection:
            for number in own:
                due = began + (number - numbers.start) / rate
                if (wait := due - time.monotonic()) > 0:
                    never.wait(wait)
                connection.send(widgets.change(address, number % objects, number + 1))

    threads = [threading.Thread(target=change, args=[numbers[first::_CONNECTIONS]]) for first in range(_CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
