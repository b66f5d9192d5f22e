"""Validation of the status of Jobs: how counters, times and conditions fit together.

A rule about two fields is applied only if one of them changes, so that a status that broke it long ago can still be
written.
"""

from __future__ import annotations

import re
from operator import lt
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import OMITTED, FieldError, duplicate, invalid, required
from masthead_server.resources.validation.checks import IMMUTABLE, not_negative, same, texts_of
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_COUNTED: Final = ("active", "succeeded", "failed", "ready", "terminating")
_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")
_MET: Final = "SuccessCriteriaMet"
_TIME: Final = "completionTime"


class _Change:
    """A job's status before and after, with derived facts."""

    def __init__(self, new: Plain, old: Plain) -> None:
        self.spec = part(new, "spec")
        self.after, self.before = part(new, "status"), part(old, "status")
        self.now, self.then = _true(self.after), _true(self.before)

    def touches(self, *facts: str) -> bool:
        """Tell whether a field or a condition changes; conditions begin with a capital."""
        return any(
            (fact in self.now) != (fact in self.then)
            if fact[0].isupper()
            else not same(self.after.get(fact), self.before.get(fact))
            for fact in facts
        )

    @property
    def is_finished(self) -> bool:
        return _is_finished(self.now)

    @property
    def ends(self) -> bool:
        """Whether the job becomes finished by it, or is so no longer."""
        return _is_finished(self.now) != _is_finished(self.then)


def _true(status: Plain) -> set[str]:
    return {text(condition, "type") for condition in items(status, "conditions") if condition.get("status") == "True"}


def _is_finished(conditions: set[str]) -> bool:
    return bool(conditions & {"Complete", "Failed"})


def job_status_errors(new: Plain, old: Plain) -> Errors:
    """Validate a job's status."""
    change = _Change(new, old)
    status = change.after
    # Counters are checked even if they do not change: they were never allowed to be negative.
    errors = [error for field in _COUNTED for error in not_negative(f"status.{field}", status.get(field))]
    errors += _uncounted_errors(part(status, "uncountedTerminatedPods"))
    errors += _completion_errors(change) + _condition_errors(change) + _finished_errors(change)
    errors += _index_errors(change) + _pod_errors(change)
    for other in ("Failed", "FailureTarget"):
        # A job succeeds or fails, never both.
        if {_MET, other} <= change.now:
            errors.append(_clash(f"cannot set {_MET}=True and {other}=true conditions"))
    # The controller declares success by policy first; completion without it would hide which rule was met.
    if change.spec.get("successPolicy") is not None and _MET not in change.now and "Complete" in change.now:
        errors.append(_clash(f"cannot set Complete=True for Job with SuccessPolicy unless {_MET}=True"))
    return errors + _backward_errors(change)


def _clash(why: str) -> FieldError:
    return invalid("status.conditions", OMITTED, why)


def _uncounted_errors(uncounted: Plain) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for at, uid in texts_of(uncounted, field, "status.uncountedTerminatedPods"):
            if not uid:
                errors.append(invalid(at, uid, "must not be empty"))
            # A pod counts once, as succeeded or as failed.
            elif uid in seen:
                errors.append(duplicate(at, uid))
            seen.add(uid)
    return errors


def _completion_errors(change: _Change) -> Errors:
    errors: Errors = []
    complete, time = "Complete" in change.now, change.after.get(_TIME)
    # The job controller adds FailureTarget first, so that a completed job must have neither.
    for other in ("Failed", "FailureTarget"):
        if complete and other in change.now and change.touches("Complete", other):
            errors.append(_clash(f"cannot set Complete=True and {other}=true conditions"))
    if change.touches("Complete", _TIME):
        if time is not None and not complete:
            why = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid(f"status.{_TIME}", time, why))
        if time is None and complete:
            errors.append(required(f"status.{_TIME}", "completionTime is required for Complete jobs"))
    start = change.after.get("startTime")
    # Times are written in one form, in which the earlier one comes first.
    if start is not None and time is not None and time < start and change.touches("startTime", _TIME):
        errors.append(invalid(f"status.{_TIME}", time, "must be equal to or after `startTime`"))
    return errors


def _condition_errors(change: _Change) -> Errors:
    errors: Errors = []
    # The controller sets the cause first, while pods still terminate, and the end after them.
    for end, cause, also in (("Failed", "FailureTarget", "failedIndexes"), ("Complete", _MET, _MET)):
        # Only a change of the end or of the field beside it is checked, as kube-apiserver computes its options.
        if end in change.now and cause not in change.now and change.touches(end, also):
            errors.append(_clash(f"cannot set {end}=True condition without the {cause}=true condition"))
    return errors


def _finished_errors(change: _Change) -> Errors:
    if not change.is_finished:
        return []
    errors: Errors = []
    status, spec, field = change.after, change.spec, "uncountedTerminatedPods"
    # Only what an update changes is checked, so that jobs that finished before stay writable.
    if (status.get("active") or 0) > 0 and (change.ends or change.touches("active")):
        errors.append(invalid("status.active", status["active"], "active>0 is invalid for finished job"))
    # A suspended job without completions finishes without ever having started.
    is_idle = spec.get("suspend") is True and spec.get("completions") == 0
    if status.get("startTime") is None and not is_idle and (change.ends or change.touches("startTime")):
        errors.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = part(status, field)
    if any(uncounted.values()) and (change.ends or change.touches(field)):
        # The message prints Go's internal struct, whose fields are capitalized and never omitted.
        shown = {name.capitalize(): uncounted.get(name) for name in ("succeeded", "failed")}
        errors.append(invalid(f"status.{field}", shown, "must be empty for finished job"))
    return errors


def _index_errors(change: _Change) -> Errors:
    spec, status, errors = change.spec, change.after, list[FieldError]()
    done, failed, most = (
        text(status, "completedIndexes"),
        status.get("failedIndexes"),
        spec.get("completions"),
    )
    has_new_done, has_new_failed = change.touches("completedIndexes"), change.touches("failedIndexes")
    limited = spec.get("backoffLimitPerIndex") is not None
    for field, value, checked in (
        ("completedIndexes", done, has_new_done),
        ("failedIndexes", failed, has_new_failed and limited),
    ):
        # Without completions there is no largest index, and kube-apiserver skips the check.
        problem = _problem_with_indexes(value or "", most) if checked and most is not None else ""
        if problem:
            errors.append(invalid(f"status.{field}", value, f"error parsing {field}: {problem}"))
    if done and has_new_done and spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", done, why))
    if failed is not None and has_new_failed and not limited:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, why))
    if failed and most is not None and (has_new_done or has_new_failed):
        # By intervals: expanding 100,000 indexes would take too long.
        shared = _first_shared(_intervals(done), _intervals(failed))
        if shared is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {shared}"
            errors.append(invalid("status.failedIndexes", failed, why))
    return errors


_INTERVALS: Final = re.compile("[0-9]{1,18}+(?:-[0-9]{1,18}+)?(?:,[0-9]{1,18}+(?:-[0-9]{1,18}+)?)*+")
_MAX_INTERVALS: Final = 50_000
"""Half of the maximum: a job with a backoff limit per index has 100,000 indexes at most."""


def _intervals(written: str) -> list[tuple[int, int]]:
    """Read a list of indexes as ascending intervals; none if it is too long or malformed."""
    if written.count(",") > _MAX_INTERVALS or not _INTERVALS.fullmatch(written):
        return []
    # A single index is an interval of one.
    ends = (word.partition("-") for word in written.split(","))
    return sorted((int(first), int(last or first)) for first, _, last in ends)


def _first_shared(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> int | None:
    """Find the lowest index that lies in intervals of both lists, without counting the indexes."""
    index = other = 0
    while index < len(some) and other < len(others):
        start = max(some[index][0], others[other][0])
        if start <= min(some[index][1], others[other][1]):
            return start
        # The interval that ends first overlaps no later one of the other list.
        if some[index][1] < others[other][1]:
            index += 1
        else:
            other += 1
    return None


_MAX_INDEX_LENGTH: Final = 10
"""Digits of the largest number of 32 bits, which completions are."""


def _problem_with_indexes(written: str, completions: int) -> str:
    """Return what keeps a text from being a list of indexes and ranges that rise."""
    if _INTERVALS.fullmatch(written):  # as nearly all are, and some have a hundred thousand
        # Bounds of an interval rise strictly as well, so that both kinds of separators can be treated alike.
        numbers = list(map(int, written.replace("-", ",").split(",")))
        if numbers[-1] < completions and all(map(lt, numbers, numbers[1:])):
            return ""
    last = -1
    for interval in written.split(",") if written else ():
        ends = interval.split("-")
        if len(ends) > 2:
            why = "violates the requirement that an index interval can have at most two parts separated by '-'"
            return f'the fragment "{interval}" {why}'
        for end in ends:
            # Go's strconv.Atoi accepts a plus sign; a minus sign is a separator here.
            if not re.fullmatch("[+]?[0-9]+", end):
                return f'cannot convert string to integer for index: "{end}"'
            # The length first: Python converts long numbers slowly, or not at all.
            if len(end.lstrip("+0")) > _MAX_INDEX_LENGTH or int(end) >= completions:
                return f'too large index: "{end}"'
        for index in map(int, ends):
            if last >= index:
                return f"non-increasing order, previous: {last}, current: {index}"
            last = index
    return ""


def _pod_errors(change: _Change) -> Errors:
    errors: Errors = []
    terminating, ready = change.after.get("terminating") or 0, change.after.get("ready") or 0
    if terminating > 0 and change.is_finished and (change.ends or change.touches("terminating")):
        why = "terminating>0 is invalid for finished job"
        errors.append(invalid("status.terminating", terminating, why))
    # Ready pods are a subset of the active ones.
    if ready > (change.after.get("active") or 0) and change.touches("ready", "active"):
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors


def _backward_errors(change: _Change) -> Errors:
    """Validate that terminal facts do not change."""
    after, before, spec = change.after, change.before, change.spec
    lost = [entry for entry in _TERMINAL if entry in change.then - change.now]
    errors = [_clash(f"cannot disable the terminal {item}=True condition") for item in lost]
    # A job that may be scaled down can lose successes with the indexes that had them.
    scales = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field in ("failed",) if scales else ("failed", "succeeded"):
        if (after.get(field) or 0) < (before.get(field) or 0):
            why = f"cannot decrease the {field} counter"
            errors.append(invalid(f"status.{field}", after.get(field) or 0, why))
    # Setting or clearing the time is judged by the rules about Complete; only another time is a change.
    if None not in {after.get(_TIME), before.get(_TIME)} and change.touches(_TIME):
        errors.append(invalid(f"status.{_TIME}", after[_TIME], IMMUTABLE))
    if before.get("startTime") is not None and change.touches("startTime") and not _may_restart(change):
        why = "field is immutable for unsuspended job once set"
        errors.append(invalid("status.startTime", after.get("startTime"), why))
    # SuccessCriteriaMet is no terminal condition in kube-apiserver, and has its own message at another place.
    if _MET in change.then - change.now:
        errors.append(_clash(f"cannot disable the {_MET}=True condition"))
    if "Complete" in change.then and _MET in change.now - change.then:
        errors.append(_clash(f"cannot set {_MET}=True for Job already has Complete=true conditions"))
    return errors


def _may_restart(change: _Change) -> bool:
    resumed = {
        text(condition, "type") for condition in items(change.after, "conditions") if condition.get("status") == "False"
    }
    # The controller restarts the clock of a resumed job when spec.suspend is false already: the condition tells.
    return bool(change.spec.get("suspend")) or "Suspended" in change.then & resumed
