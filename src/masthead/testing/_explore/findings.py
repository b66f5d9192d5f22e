"""What an exploration has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.trace import RunResult

__all__ = ["Finding"]


@set_module("masthead.testing")
@dataclass(frozen=True, slots=True)
class Finding:
    """Something that went wrong in a run.

    Attributes:
        oracle: The name of the rule, such as ``end-state``; one of `masthead.testing.exploration.ORACLES`.
        summary: One sentence: what happened, to which object.
        details: More lines: the difference, the writes that matter.
        schedule: The schedule; after shrinking, the smallest with this finding.
        subject: What two schedules must have in common to show the same defect, such as a resource or controller.
        run: The run, for the timeline.
        count: The number of schedules that showed this defect.
    """

    oracle: str
    summary: str
    schedule: Schedule
    details: Sequence[str] = ()
    subject: str = ""
    run: RunResult | None = field(default=None, repr=False)
    count: int = 1
