"""What a benchmark measured, with machine, versions and date, as a file."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness.measure import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RESULTS: Final = ROOT / "benchmarks" / "results"
"""The results that are committed: measured in full, on a machine with nothing else to do."""
QUICK_RESULTS: Final = RESULTS / "quick"
"""Those of quick runs, whose figures mean little; they are not committed."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What a benchmark measured.

    Attributes:
        name: Of the benchmark.
        date: The day, as ``YYYY-MM-DD``, in UTC.
        versions: Of what was measured, by distribution.
        report: What the benchmark printed (`benchmarks.harness.report.as_json`).
    """

    name: str
    date: str
    versions: Mapping[str, str]
    report: Mapping[str, Any]

    @property
    def place(self) -> str:
        """The machine, in a few words."""
        machine = self.report["machine"]
        memory = f", {machine['memory_gb']} GB" if machine.get("memory_gb") else ""
        processor = f" ({machine['processor']})" if machine.get("processor") else ""
        return f"{machine['cpus']} CPUs{processor}{memory}, {machine['system']}, {machine['python']}"

    @property
    def missed(self) -> list[str]:
        """The targets that were missed."""
        return [name for name, target in self.report["targets"].items() if not target["ok"]]


def save(result: Result, folder: Path) -> Path:
    """Write a result to its file; returns the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.json"
    path.write_text(to_text(result), encoding="utf-8")
    return path


def to_text(result: Result) -> str:
    """A result as its file has it, so that two of them can be compared line by line."""
    content = {"date": result.date, "versions": dict(result.versions), **result.report}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def load(name: str, folder: Path) -> Result | None:
    """Read a result; None if there is none."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    content = json.loads(path.read_text("utf-8"))
    return Result(name, content.pop("date"), content.pop("versions"), content)
