"""Runs that do not come to rest, failures that remain, and errors of the workload."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.oracles.case import Case

__all__ = ["find_exceptions", "find_hot_loop", "find_not_converging", "find_violations", "find_workload_errors"]

_HOT: Final = re.compile(r"controller (?P<controller>\S+) has reconciled (?P<key>\S+) [\d,]+ times within")
_SUBJECT: Final = re.compile(r"controller \S+")


def find_not_converging(case: Case) -> Iterator[Finding]:
    """Report a run that does not become idle."""
    problem = case.result.problem
    # The hot-loop oracle names the object, so this finding would only repeat it.
    if problem and not case.is_kept_back and not _HOT.search(problem):
        first, _, rest = problem.partition("\n")
        subject = _SUBJECT.search(problem)
        summary = f"the run does not come to rest: {first}"
        yield case.find("not-converging", summary, rest.splitlines(), subject[0] if subject else "")


def find_hot_loop(case: Case) -> Iterator[Finding]:
    """Report an object that is reconciled over and over."""
    hot = _HOT.search(case.result.problem)
    if hot and not case.is_kept_back:
        first, _, rest = case.result.problem.partition("\n")
        yield case.find("hot-loop", first, rest.splitlines(), f"controller {hot['controller']}")


def find_exceptions(case: Case) -> Iterator[Finding]:
    """Report functions that still fail at the end, unless they do without faults."""
    # Without rest, a retry may still succeed, and another finding covers the run.
    if case.result.problem:
        return
    # By function, because messages contain names and times that differ between runs.
    expected = {_function_of(failure) for failure in case.reference.run.failures}
    for failure in case.result.failures:
        function = _function_of(failure)
        # The reference cannot excuse itself.
        if function not in expected or case.result is case.reference.run:
            summary = f"a failure remains at the end: {failure}"
            yield case.find("exceptions", summary, subject=function.partition(" of ")[0])


def _function_of(failure: str) -> str:
    return failure.partition(": ")[0]


def find_workload_errors(case: Case) -> Iterator[Finding]:
    """Report an error of the workload, unless its steps began too early for the operator."""
    error = case.result.workload_error
    # A step that begins early may miss objects on which it relies: the schedule is to blame.
    if error and not case.delays_steps and not case.result.problem:
        yield case.find("workload", f"the workload fails: {error}", subject=error.partition("(")[0][:80])


def find_violations(case: Case) -> Iterator[Finding]:
    """Report violated invariants, unless they are violated without faults."""
    # By name, because a known violation may have another message and moment under faults.
    expected = {violation.invariant for violation in case.reference.run.violations}
    for violation in case.result.violations:
        if violation.invariant in expected and case.result is not case.reference.run:
            continue
        message, *details = violation.message.splitlines() or [""]
        summary = f"{violation.invariant} is violated {violation.moment}: {message}"
        yield case.find("invariant", summary, details, violation.invariant)
