"""The rules of operators that findings point to, with the sections of the manual that explain them."""

from __future__ import annotations

from dataclasses import dataclass
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
    "exceptions": {"other": "errors"},
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
    rules = _BY_ORACLE.get(finding.oracle)
    anchor = _BY_FAULT.get(cause) if rules is None else rules.get(cause) or rules["other"]
    return RULES[anchor] if anchor else None


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
