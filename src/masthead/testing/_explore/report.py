"""The result of an exploration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from masthead._module import set_module
from masthead.testing._explore.replay_call import ReplayCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead.testing._explore.findings import Finding

__all__ = ["Report"]


@set_module("masthead.testing")
class Report(str):  # noqa: SLOT000 - it has attributes
    """The result of an exploration, as text: ``assert not report.findings, report``, which pytest shows in full.

    Attributes:
        findings: What went wrong, most serious first; each defect once.
        schedules: The number of schedules that ran.
        seconds: The duration.
        seed: The seed.
        coverage: The numbers of tried and of known fault points, by kind of fault.
        unreached: Faults that were asked for and never struck, in words.
        notes: Remarks for the reader, such as nondeterminism in the operator.
        call: How to replay a schedule.
    """

    findings: Sequence[Finding]
    schedules: int
    seconds: float
    seed: int
    coverage: Mapping[str, tuple[int, int]]
    unreached: Sequence[str]
    notes: Sequence[str]
    call: ReplayCall

    def __new__(
        cls,
        findings: Sequence[Finding] = (),
        *,
        schedules: int = 0,
        seconds: float = 0.0,
        seed: int = 0,
        coverage: Mapping[str, tuple[int, int]] | None = None,
        unreached: Sequence[str] = (),
        notes: Sequence[str] = (),
        call: ReplayCall | None = None,
    ) -> Self:
        """Create a report."""
        from masthead.testing._explore.report_text import format_report, format_title

        facts = {
            "findings": tuple(findings),
            "schedules": schedules,
            "seconds": seconds,
            "seed": seed,
            "coverage": dict(coverage or {}),
            "unreached": tuple(unreached),
            "notes": tuple(notes),
            "call": call or ReplayCall(),
        }
        draft = super().__new__(cls)
        draft.__dict__.update(facts)
        report = super().__new__(cls, format_report(draft))
        report.__dict__.update(facts)
        report.__dict__["_title"] = format_title(draft)
        return report

    def __repr__(self) -> str:
        return f"<Report: {self.__dict__['_title']}>"

    def with_call(self, call: ReplayCall) -> Report:
        """Return the same report with another way to replay its schedules."""
        return Report(
            self.findings,
            schedules=self.schedules,
            seconds=self.seconds,
            seed=self.seed,
            coverage=self.coverage,
            unreached=self.unreached,
            notes=self.notes,
            call=call,
        )

    def to_json(self) -> str:
        """Return the report as JSON, for programs: see `docs/exploring-operators.md#json`."""
        from masthead.testing._explore.report_json import to_json

        return to_json(self)

    def to_html(self) -> str:
        """Return the report as an HTML page, which needs nothing else."""
        from masthead.testing._explore.report_html import to_html

        return to_html(self)

    def to_test(self) -> str:
        """Return a pytest module with a regression test for each finding."""
        from masthead.testing._explore.regression_test import write_tests

        return write_tests(self)
