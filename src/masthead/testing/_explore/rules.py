"""The rules of operators that findings point to, with the sections of the manual that explain them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    EarlyStep,
    Edit,
    FailedRead,
    HandOver,
    HeldEvents,
    Restart,
    ServerRestart,
)

if TYPE_CHECKING:
    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.trace import ChangeRecord, RunResult, WriteRecord

__all__ = ["RULES", "OperatorRule", "rule_of"]

_Class: TypeAlias = Literal["stale", "crash", "lost", "refused", "concurrent", "unseen", "other"]


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """A rule of operators.

    Attributes:
        anchor: The section of ``docs/operators.md`` that explains it.
        text: The rule, in a sentence.
    """

    anchor: str
    text: str

    @property
    def link(self) -> str:
        """The section of the manual."""
        return f"docs/operators.md#{self.anchor}"


RULES: Final = {
    rule.anchor: rule
    for rule in (
        OperatorRule(
            "crash-between-two-writes",
            "A crash may come after any write: each reconcile compares what exists with what is wanted, and never "
            "concludes from a status or a first write that the second one was made.",
        ),
        OperatorRule(
            "effect-repeated-after-a-crash",
            "An effect needs a name that a second attempt finds again: derive names of Jobs, Pods and external "
            "requests from the object's uid and generation.",
        ),
        OperatorRule(
            "decision-on-a-stale-spec",
            "A cache may be older than the spec: confirm the object (ctx.delete does, ctx.confirm() for the rest) "
            "before anything irreversible.",
        ),
        OperatorRule(
            "stale-owner-of-the-same-name",
            "A name is not an identity: owner references, deletions and patches name the uid that is alive "
            "(ctx.apply, ctx.delete and ctx.update_status do).",
        ),
        OperatorRule(
            "deletion-never-seen",
            "The event of a deletion may never be seen: what the garbage collector cannot delete needs a finalizer "
            "(ctx.finalize).",
        ),
        OperatorRule(
            "finalizer-in-the-wrong-order",
            "Add the finalizer before the first effect, remove it after the last cleanup, and let the cleanup "
            "tolerate that its work is done.",
        ),
        OperatorRule(
            "change-seen-once",
            "A change is seen once or never: compare states, not events, and keep facts in the cluster, not in memory.",
        ),
        OperatorRule(
            "write-without-a-version",
            "A full write without the resourceVersion that was read overwrites what others have written since: apply "
            "own fields, or send the version.",
        ),
        OperatorRule(
            "lost-response",
            "A write without a response may have been made: choose names that make the second attempt the same write "
            "(no generateName, no random names).",
        ),
        OperatorRule(
            "swallowed-error",
            "An error that is caught and forgotten is work that is never done: let it pass, so that the reconcile is "
            "repeated.",
        ),
        OperatorRule(
            "read-but-not-watched",
            "reads= wakes nobody: a controller that decides by a kind watches it, and owns the kind of objects that it "
            "makes.",
        ),
        OperatorRule("own-writes", "A reconcile that changes something each time never comes to rest."),
        OperatorRule("pitfalls", "Two controllers that write one field with different values fight."),
        OperatorRule(
            "replicas",
            "Only the holder of the lease writes: use the clients of the context and the manager, and stop on "
            "cancellation.",
        ),
        OperatorRule("errors", "Exceptions are retried with a backoff; PermanentError is not."),
    )
}
"""The rules, by anchor."""

_OTHER: Final[_Class] = "other"
_COLLECTOR: Final = "garbage"
"""The garbage collector, as the author of a change."""
_BY_FAULT: Final[dict[_Class, str]] = {
    "stale": "decision-on-a-stale-spec",
    "crash": "crash-between-two-writes",
    "lost": "lost-response",
    "refused": "swallowed-error",
    "concurrent": "write-without-a-version",
    "unseen": "change-seen-once",
}
_BY_ORACLE: Final[dict[str, dict[_Class, str]]] = {
    "orphans": {
        "stale": "stale-owner-of-the-same-name",
        "crash": "finalizer-in-the-wrong-order",
        "lost": "lost-response",
        "refused": "swallowed-error",
        "other": "deletion-never-seen",
    },
    "stuck-finalizer": {"refused": "swallowed-error", "other": "finalizer-in-the-wrong-order"},
    "dead-owner": {"other": "stale-owner-of-the-same-name"},
    "loss": {
        "concurrent": "write-without-a-version",
        "refused": "write-without-a-version",
        "other": "decision-on-a-stale-spec",
    },
    "lost-update": {"other": "write-without-a-version"},
    "repeated-effect": {"lost": "lost-response", "other": "effect-repeated-after-a-crash"},
    "external-state": {
        "crash": "effect-repeated-after-a-crash",
        "lost": "lost-response",
        "refused": "swallowed-error",
        "stale": "decision-on-a-stale-spec",
        "other": "deletion-never-seen",
    },
    "not-idempotent": {"other": "own-writes"},
    "hot-loop": {"other": "own-writes"},
    "fight": {"other": "pitfalls"},
    "lease": {"other": "replicas"},
    "exceptions": {
        "crash": "crash-between-two-writes",
        "lost": "lost-response",
        "stale": "decision-on-a-stale-spec",
        "other": "errors",
    },
}
"""By oracle and class of fault; all other oracles by the class alone."""


def rule_of(finding: Finding) -> OperatorRule | None:
    """Return the rule that an operator with a finding has probably broken; None if nothing suggests one."""
    cause = _OTHER
    for fault in finding.schedule.faults:
        # The first one is usually the cause; later ones only let it come to light.
        cause = _classify(fault)
        if cause != _OTHER:
            break
    if finding.run is not None:
        rule = _find_by_trace(finding, finding.run, cause)
        if rule is not None:
            return rule
    rules = _BY_ORACLE.get(finding.oracle)
    anchor = _BY_FAULT.get(cause) if rules is None else rules.get(cause) or rules["other"]
    return RULES[anchor] if anchor else None


def _find_by_trace(finding: Finding, run: RunResult, cause: _Class) -> OperatorRule | None:
    """Return the rule that the run itself points to: it knows more than the kinds of oracle and fault."""
    if dead := _find_dead_owner(finding, run):
        rule = RULES["stale-owner-of-the-same-name"]
        return replace(rule, text=f"{dead} {rule.text}")
    anchor = ""
    if finding.oracle == "exceptions":
        anchor = _judge_exception(finding, cause)
    elif finding.oracle == "external-state" and cause == "crash":
        # Only a call that was made twice is an effect that was repeated.
        has_repeated = len(set(run.calls)) < len(run.calls)
        anchor = "effect-repeated-after-a-crash" if has_repeated else "crash-between-two-writes"
    elif finding.oracle == "not-idempotent" and _has_skipped_writes(run):
        anchor = "change-seen-once"
    elif finding.oracle in {"end-state", "update-summary"}:
        anchor = _judge_end_state(finding, run, cause)
    return RULES[anchor] if anchor else None


def _judge_exception(finding: Finding, cause: _Class) -> str:
    # A cleanup has done its work, crashed, and does not tolerate that.
    is_cleanup = "NotFoundError: delete " in finding.summary
    return "finalizer-in-the-wrong-order" if is_cleanup and cause in {"crash", "lost"} else ""


def _judge_end_state(finding: Finding, run: RunResult, cause: _Class) -> str:
    if cause in {"stale", "concurrent", "unseen"} and _is_unwatched(finding.subject, run):
        return "read-but-not-watched"
    struck = _struck_write(finding, run)
    if struck is None:
        return ""
    if cause in {"crash", "lost"} and struck.key.endswith("*"):
        # The server has chosen the name, so the next attempt cannot find the object.
        return "lost-response" if cause == "lost" else "effect-repeated-after-a-crash"
    if cause == "concurrent" and struck.verb in {"apply", "delete"}:
        # Neither overwrites what others own: the decision was old, not the version.
        return "decision-on-a-stale-spec"
    is_left_over = "exists at the end, but does not" in finding.summary
    if cause == "crash" and is_left_over and struck.verb == "delete":
        # No object has the list of remaining deletions, so the operator had it in memory.
        return "change-seen-once"
    return ""


def _struck_write(finding: Finding, run: RunResult) -> WriteRecord | None:
    numbers = {getattr(fault, "write", 0) for fault in finding.schedule.faults}
    return next((write for write in run.writes if write.number in numbers), None)


def _find_dead_owner(finding: Finding, run: RunResult) -> str:
    """Describe the object of a finding that was written with a dead owner, and was therefore deleted; empty if none."""
    if finding.oracle not in {"loss", "update-summary", "end-state"}:
        return ""
    collected = {change.uid for change in run.changes if change.type == "DELETED" and change.client == _COLLECTOR}
    dead: dict[str, ChangeRecord] = {}
    for change in run.changes:
        name = f"{change.resource} {change.key}"
        if change.type == "DELETED":
            dead[change.uid] = change
        elif name in finding.summary and change.uid in collected and change.client.startswith("operator-"):
            owner = next((dead[uid] for uid in change.owners if uid in dead), None)
            if owner is not None:
                former = f"the former {owner.resource} {owner.key}, deleted at revision {owner.revision}"
                return (
                    f"The garbage collector deletes {name}, because {change.client} wrote it at revision "
                    f"{change.revision} with an owner that is gone: {former}."
                )
    return ""


def _is_unwatched(resource: str, run: RunResult) -> bool:
    """Whether the controllers that make objects of a resource have it in a cache, but are never woken by it."""
    controllers = {
        write.controller
        for write in run.writes
        if write.resource == resource and write.verb != "delete" and write.controller
    }
    if not controllers or resource not in run.resources:
        return False
    # A controller that watches a kind is woken by its own writes, too.
    return not any(
        f"{resource} " in entry.text.partition(" begins: ")[2]
        for entry in run.entries
        if entry.kind == "reconcile" and entry.text.partition(" ")[0] in controllers
    )


def _has_skipped_writes(run: RunResult) -> bool:
    """Whether reconciles before the restart left alone what the reconcile after it has changed."""
    for change in run.later_changes:
        controller, _, rest = change.reconcile.partition(" ")
        begins = f"{controller} {rest.rpartition(' ')[0]} begins: "
        reconciles = {entry.reconcile for entry in run.entries if entry.text.startswith(begins)}
        writing = {
            write.reconcile for write in run.writes if (write.resource, write.key) == (change.resource, change.key)
        }
        if reconciles - writing:
            return True
    return False


def _classify(fault: PlannedFault) -> _Class:
    match fault:
        case Crash(view=view) | Restart(view=view) | HandOver(view=view) if view:
            return "stale"
        case Crash() | ServerRestart() | HandOver():
            return "crash"
        case Answer(outcome="lost"):
            return "lost"
        case Answer() | FailedRead():
            return "refused"
        case Edit() | EarlyStep():
            return "concurrent"
        case Absence() | HeldEvents() | Restart():
            return "unseen"
        case _:
            return "other"
