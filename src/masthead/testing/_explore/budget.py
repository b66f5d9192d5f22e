"""The budget of an exploration: seconds, or schedules."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from masthead.errors import ArgumentError

__all__ = ["Budget", "BudgetLike", "parse_budget"]

BudgetLike: TypeAlias = "str | int | float"
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smh])")
_COUNT: Final = re.compile(r"(\d+)(?:\s*schedules?)?")


class Budget(NamedTuple):
    """The limits of an exploration.

    Attributes:
        seconds: The maximum duration; infinite for none.
        schedules: The maximum number of schedules, without the shrinking of findings; None for no limit.
    """

    seconds: float = float("inf")
    schedules: int | None = None


def parse_budget(source: BudgetLike) -> Budget:
    """Read a budget: a number of schedules, ``500 schedules``, or a duration such as ``60s``, ``5m`` or ``1h``.

    Raises:
        ArgumentError: If it is anything else, or not positive.
    """
    text = source.strip() if isinstance(source, str) else str(source)
    budget = Budget()
    if duration := _DURATION.fullmatch(text):
        budget = Budget(seconds=float(duration[1]) * _UNITS[duration[2]])
    elif (count := _COUNT.fullmatch(text)) and not isinstance(source, bool):
        budget = Budget(schedules=int(count[1]))
    # A budget of 0 would report success without a single run.
    if budget == Budget() or not budget.seconds or budget.schedules == 0:
        raise ArgumentError(
            f"budget {source!r} is neither a duration, such as '60s' or '5m', nor a positive number of schedules, "
            "such as 300 or '300 schedules'",
            value=source,
        )
    return budget
