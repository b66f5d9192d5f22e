"""Defaults of Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import for_each, shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain

_MAX: Final = 2**31 - 1
_FAILURE_PATTERN: Final = shape(blank={"status": "True"})
_FAILURE_RULES: Final = shape(inside={"rules": for_each(shape(inside={"onPodConditions": for_each(_FAILURE_PATTERN)}))})


def _fill_counts(spec: Plain) -> None:
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
        # With parallelism alone, the job is a work queue, which has no number of completions.
        if spec.get("completions") is None:
            spec["completions"] = 1
    if spec.get("backoffLimit") is None:
        # With a limit for each index, that of the whole job should not be reached before.
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _MAX
    if spec.get("podReplacementPolicy") is None:
        policy = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
        spec["podReplacementPolicy"] = policy


def _copy_labels(job: Plain) -> None:
    labels = part(part(part(job["spec"], "template"), "metadata"), "labels")
    if labels and not metadata(job).get("labels"):
        # One map in two places, as on kube-apiserver: a change of the one is a change of the other.
        metadata(job)["labels"] = labels


JOB_INSIDE: Final = {"podFailurePolicy": _FAILURE_RULES}
DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            unset={"completionMode": "NonIndexed", "suspend": False, "manualSelector": False},
            always={"template": TEMPLATE},
            inside=JOB_INSIDE,
            then=_fill_counts,
        )
    },
    then=_copy_labels,
)
