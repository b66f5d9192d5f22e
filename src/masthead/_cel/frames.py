"""Frames and evaluators: what compiled expressions are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from masthead._cel.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Evaluator", "Frame"]

Frame: TypeAlias = list[Value]
"""An evaluation: its cost so far, and behind it the values of the variables."""

Evaluator: TypeAlias = "Callable[[Frame], Value]"
"""Evaluates a part of an expression; raises `EvaluationError` or `CostError`."""
