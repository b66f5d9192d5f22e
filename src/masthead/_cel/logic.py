"""Comparisons and logic, compiled."""

from __future__ import annotations

import operator
from math import ceil
from typing import TYPE_CHECKING, Final

from masthead._cel.costs import comparison_cost
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.values import Value, equals

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cel.frames import Evaluator, Frame

__all__ = ["COMPARISONS", "all_of", "any_of", "compare", "compare_numbers", "compare_text"]

COMPARISONS: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
"""What operators do with values of a type that Python compares as CEL does."""


def all_of(terms: list[Evaluator]) -> Evaluator:
    """``&&``: false if one term is, else an error if one is, else true."""
    return _decide(terms, decisive=False)


def any_of(terms: list[Evaluator]) -> Evaluator:
    """``||``: true if one term is, else an error if one is, else false."""
    return _decide(terms, decisive=True)


def _decide(terms: list[Evaluator], *, decisive: bool) -> Evaluator:
    def decide(frame: Frame) -> Value:
        error: EvaluationError | None = None
        for term in terms:
            try:
                value = term(frame)
            except EvaluationError as caught:
                error = error or caught
                continue
            if value is decisive:
                return decisive
            if type(value) is not bool:
                error = error or EvaluationError(NO_OVERLOAD)
        if error is not None:
            raise error
        return not decisive

    return decide


def compare_numbers(function: str, left: Evaluator, right: Evaluator) -> Evaluator:
    """Compare numbers of one type."""
    direct = COMPARISONS[function]

    def evaluate(frame: Frame) -> Value:
        one = left(frame)
        other = right(frame)
        frame[0] += 1
        return direct(one, other)

    return evaluate


def compare_text(function: str, left: Evaluator, right: Evaluator) -> Evaluator:
    """Compare strings."""
    direct = COMPARISONS[function]

    def evaluate(frame: Frame) -> Value:
        one = left(frame)
        other = right(frame)
        frame[0] += ceil(min(len(one), len(other)) * 0.1)
        return direct(one, other)

    return evaluate


def compare(left: Evaluator, right: Evaluator, *, is_equality: bool) -> Evaluator:
    """Whether any two values are equal, or are not."""

    def evaluate(frame: Frame) -> Value:
        one = left(frame)
        other = right(frame)
        frame[0] += comparison_cost(one, other)
        return equals(one, other) is is_equality

    return evaluate
