"""Behavior of Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.builtin.batch.job.defaults import DEFAULTS
from masthead_server.resources.builtin.batch.job.labels import UID_LABELS, expected_labels
from masthead_server.resources.builtin.batch.job.status import job_status_errors
from masthead_server.resources.builtin.batch.job.validation import job_changes, job_errors
from masthead_server.resources.builtin.batch.job.warnings import job_warnings
from masthead_server.resources.defaulting.disabled_pod_fields import dropped_from_new_template, dropped_from_template
from masthead_server.resources.warnings.pod_controllers import name_warnings
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


_drop_new_fields: Final = dropped_from_new_template("spec", "template")


def _prepare_job(job: Plain, allocate: Allocator) -> None:
    """Have a job select its own pods, by labels that no other job's pods have."""
    _drop_new_fields(job, allocate)
    spec = job["spec"]
    if spec.get("manualSelector"):
        return
    meta, own = metadata(spec["template"]), metadata(job)
    shares = own.get("labels") is not None and own.get("labels") is meta.get("labels")
    meta["labels"] = {**expected_labels(job), **part(meta, "labels")}
    if shares:  # as the defaults made it
        own["labels"] = dict(meta["labels"])
    selector = part(spec, "selector")
    uid = {UID_LABELS[1]: text(metadata(job), "uid")}
    selector["matchLabels"] = {**uid, **part(selector, "matchLabels")}
    spec["selector"] = selector


def _show_labels(job: Plain) -> None:
    own = metadata(job)
    labels = part(part(job["spec"]["template"], "metadata"), "labels")
    if labels and not own.get("labels"):
        own["labels"] = dict(labels)


_PODS_STAY: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them"
    " or set propagationPolicy=Orphan to suppress this warning"
)
BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_prepare_job,
        prepare_update=dropped_from_template("spec", "template"),
        validate_create=job_errors,
        finish_create=_show_labels,
        validate_update=job_changes,
        validate_status=job_status_errors,
    ),
    warnings=WarningHooks(lambda new: name_warnings(new) + job_warnings(new), when_changed(job_warnings)),
    delete_warning=_PODS_STAY,
)
