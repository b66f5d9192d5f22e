"""How objects are, by the cells of their rows: in a few words, and by colours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._printers.layout import cell_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._printers.printer import Cell, Column

__all__ = ["COLORED", "Vitals", "status_style", "vitals_of"]

COLORED: Final = frozenset({"STATUS", "PHASE", "READY", "STATE", "TYPE", "REASON", "AVAILABLE", "ESTABLISHED"})
_GOOD: Final = frozenset(
    {
        "running", "ready", "active", "bound", "succeeded", "completed", "complete", "true", "available",
        "established", "healthy", "deployed", "synced",
    }
)  # fmt: skip
_WAITING: Final = frozenset(
    {
        "pending", "containercreating", "podinitializing", "terminating", "unknown", "released", "suspended",
        "schedulingdisabled", "progressing", "waiting", "warning",
    }
)  # fmt: skip
_BAD: Final = re.compile(r"(err|fail|backoff|crash|evicted|oomkilled|notready|lost|invalid|false|deadline)")
_FRACTION: Final = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True, slots=True)
class Vitals:
    """How an object is, in a few words.

    Attributes:
        ready: Such as ``2/3``; empty if its kind does not say.
        status: Such as ``Running``; empty if its kind does not say.
    """

    ready: str = ""
    status: str = ""


def vitals_of(columns: Sequence[Column], cells: Sequence[Cell]) -> Vitals:
    """Say how an object is, from what the server prints about it.

    Args:
        columns: The columns of the server's table.
        cells: The cells of its row.
    """
    texts = {column.name.upper(): cell_text(cell) for column, cell in zip(columns, cells, strict=False)}
    ready = texts.get("READY") or texts.get("COMPLETIONS") or texts.get("AVAILABLE") or ""
    # DaemonSets and ReplicaSets print bare numbers in separate columns; Deployments print "2/3".
    if ready.isdigit() and (wanted := texts.get("DESIRED") or texts.get("REPLICAS")):
        ready = f"{ready}/{wanted}"
    status = texts.get("STATUS") or texts.get("PHASE") or texts.get("STATE") or ""
    restarts = texts.get("RESTARTS", "0")
    return Vitals(ready, status if restarts == "0" else f"{status}, restarts {restarts}")


def status_style(cell: str) -> str:
    """Return the style of a cell with the state of an object: ``green``, ``yellow``, ``red``, or empty."""
    word = cell.strip().lower()
    if fraction := _FRACTION.fullmatch(word):
        return "green" if fraction[1] == fraction[2] else "yellow"
    # Nodes have several states: "Ready,SchedulingDisabled".
    words = set(word.split(","))
    # Waiting before good: a cordoned node is ready as well, and yellow.
    if words & _WAITING or word.startswith("init:"):
        return "red" if _BAD.search(word) else "yellow"
    if words & _GOOD:
        return "green"
    return "red" if _BAD.search(word) else ""
