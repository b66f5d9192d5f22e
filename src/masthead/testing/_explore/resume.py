"""The file of an interrupted exploration: the schedules that have run, and the findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from masthead.errors import ArgumentError
from masthead.testing._explore.findings import Finding
from masthead.testing._explore.schedule import Schedule

if TYPE_CHECKING:
    from os import PathLike
    from typing import Self, TextIO

__all__ = ["ResumeFile"]

_FORMAT: Final = "masthead-explore"
_VERSION: Final = 1


class ResumeFile:
    """JSON lines: operator and workload, and then a line for each schedule and finding.

    Args:
        path: The file; it is created if it does not exist.

    Attributes:
        done: The schedules that have run.
        findings: The findings.

    Raises:
        ArgumentError: If the file is damaged, or of another version.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self.done: set[str] = set()
        self.findings: list[Finding] = []
        self._fingerprint: str | None = None
        self._file: TextIO | None = None
        if self._path.exists():
            self._load()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def open(self, fingerprint: str) -> None:
        """Begin to write.

        Args:
            fingerprint: A hash of the run without faults; empty if it differs from run to run.

        Raises:
            ArgumentError: If the file is about another operator or workload.
        """
        known = self._fingerprint
        if known and fingerprint and known != fingerprint:
            raise ArgumentError(
                f"{self._path} is about another operator, workload or seed: the run without faults is not the same. "
                "Delete the file, or pass another one",
                value=str(self._path),
            )
        # After the check, so that the file of another operator remains unchanged.
        self._file = self._path.open("a", encoding="utf-8")
        if known is None:
            self._write({"format": _FORMAT, "version": _VERSION, "fingerprint": fingerprint})

    def add_schedule(self, schedule: Schedule) -> None:
        """Record that a schedule has run."""
        self._write({"schedule": str(schedule)})

    def add_finding(self, finding: Finding) -> None:
        """Record a finding."""
        self._write(
            {
                "finding": {
                    "oracle": finding.oracle,
                    "summary": finding.summary,
                    "schedule": str(finding.schedule),
                    "details": list(finding.details),
                    "subject": finding.subject,
                }
            }
        )

    def _write(self, line: dict[str, object]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        # A killed exploration then loses one line at most.
        self._file.flush()

    def _load(self) -> None:
        lines = self._path.read_text(encoding="utf-8", errors="replace").split("\n")
        # An exploration that was killed may have written half a line.
        complete, rest = lines[:-1], lines[-1]
        if rest:
            self._path.write_text("".join(f"{line}\n" for line in complete), encoding="utf-8")
        for number, line in enumerate(complete, 1):
            try:
                self._read_line(cast("dict[str, Any]", json.loads(line)), number)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ArgumentError(
                    f"line {number} of {self._path} is damaged ({error}); delete the file to begin anew",
                    value=str(self._path),
                ) from error

    def _read_line(self, line: dict[str, Any], number: int) -> None:
        if number == 1:
            if line["format"] != _FORMAT or line["version"] != _VERSION:
                raise ValueError(f"its format is {line['format']!r}, version {line['version']!r}")
            self._fingerprint = str(line["fingerprint"])
        elif "schedule" in line:
            # Parse and format again: damage shows, and another version of zlib may compress differently.
            self.done.add(str(Schedule.parse(line["schedule"])))
        else:
            found = line["finding"]
            schedule = Schedule.parse(found["schedule"])
            details = [str(detail) for detail in found["details"]]
            self.findings.append(
                Finding(str(found["oracle"]), str(found["summary"]), schedule, details, str(found["subject"]))
            )
