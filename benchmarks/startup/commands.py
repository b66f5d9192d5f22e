"""What a command of `masthead` costs from its start to its end, compared with the same command of kubectl.

The CPU time of whole processes, since a person waits for the interpreter, too. kubectl is that of
``MASTHEAD_KUBECTL``, or of the ``PATH``; without one, its rows are missing.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import shutil
import subprocess
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Row, Table, Target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.harness.measure import Figures, Lab

MASTHEAD: Final = (sys.executable, "-m", "masthead")
LISTED_PODS: Final = 10


@dataclasses.dataclass(frozen=True)
class Command:
    """A command to measure.

    Attributes:
        title: What the report calls it.
        arguments: Those of masthead.
        kubectl: Those of kubectl.
        completed: The words to complete instead, the last one unfinished.
        limit: The most milliseconds of CPU that masthead should take.
    """

    title: str
    arguments: tuple[str, ...] = ()
    kubectl: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    limit: float = 0.0

    @property
    def variables(self) -> dict[str, str]:
        """The variables by which a shell asks for completions."""
        if not self.completed:
            return {}
        return {
            "_MASTHEAD_COMPLETE": "bash_complete",
            "COMP_WORDS": "\n".join(("masthead", *self.completed)),
            "COMP_CWORD": str(len(self.completed)),
        }


COMMANDS: Final = {
    "get_pods": Command("get pods -A", ("get", "pods", "-A"), ("get", "pods", "-A"), limit=150),
    "version": Command("--version", ("--version",), ("version", "--client"), limit=60),
    "help": Command("--help", ("--help",), ("--help",), limit=60),
    "complete_command": Command("completion of g", (), ("__complete", "g"), ("g",), limit=100),
    "complete_kind": Command("completion of get po", (), ("__complete", "get", "po"), ("get", "po"), limit=100),
}


def run(lab: Lab, *, repeat: int) -> Table:
    """Measure every command, with its caches filled."""
    with lab.serving("benchmarks.requests.server", "--pods", str(LISTED_PODS)) as kubeconfig:
        cases = _cases(lab, kubeconfig)
        # Not measured: fills the caches of byte code and discovery.
        for case in cases.values():
            case()
        return _table(measure.best_of(repeat, cases), repeat)


def _cases(lab: Lab, kubeconfig: Path) -> dict[str, functools.partial[Figures]]:
    environment = {**lab.environment(), "KUBECONFIG": str(kubeconfig), "XDG_CACHE_HOME": str(lab.folder / "cache")}
    kubectl = os.environ.get("MASTHEAD_KUBECTL") or shutil.which("kubectl")
    cases: dict[str, functools.partial[Figures]] = {}
    for name, command in COMMANDS.items():
        variables = {**environment, **command.variables}
        cases[name] = functools.partial(_figures, (*MASTHEAD, *command.arguments), variables)
        if kubectl is not None:
            caches = {**environment, "KUBECACHEDIR": str(lab.folder / "kubectl")}
            cases[f"{name}_kubectl"] = functools.partial(_figures, (kubectl, *command.kubectl), caches)
    return cases


def _figures(command: tuple[str, ...], variables: Mapping[str, str]) -> Figures:
    """Run a command, and return what it took.

    Raises:
        RuntimeError: If it fails: an error would be quick.
    """
    began = perf_counter()
    process = subprocess.Popen(
        command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    with process.stdout as output:
        has_printed = bool(output.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or not has_printed:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return {"cpu_ms": (usage.ru_utime + usage.ru_stime) * 1e3, "wall_ms": (perf_counter() - began) * 1e3}


def _table(best: Mapping[str, Figures], repeat: int) -> Table:
    columns = (Column("cpu_ms", "CPU ms"), Column("wall_ms", "wall ms"))
    rows: list[Row] = []
    for name, figures in best.items():
        command = COMMANDS[name.removesuffix("_kubectl")]
        spent = figures["cpu_ms"]
        is_ours = name in COMMANDS
        title = f"masthead: {command.title}" if is_ours else f"  kubectl {' '.join(command.kubectl)}"
        target = Target(f"{name}_ms", spent, command.limit) if is_ours and spent is not None else None
        rows.append(Row(name, title, tuple(figures[column.name] for column in columns), target))
    return Table("commands", f"Commands, from start to end: minimum of {repeat}", columns, tuple(rows))
