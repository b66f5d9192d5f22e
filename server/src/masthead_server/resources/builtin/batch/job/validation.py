"""Validation of Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required, too_long
from masthead_server.resources import names
from masthead_server.resources.builtin.batch.job.labels import NAME_LABELS, UID_LABELS, expected_labels
from masthead_server.resources.builtin.batch.job.policies import (
    failure_policy_errors,
    success_policy_errors,
)
from masthead_server.resources.builtin.batch.job.template_changes import template_changes
from masthead_server.resources.validation.checks import (
    domain_path_errors,
    immutable,
    known_or_nothing,
    label_selector,
    not_negative,
    shown_map,
    unsupported,
)
from masthead_server.resources.validation.label_selectors import selects, shown_selector
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_INDEXED: Final = "requires indexed completion mode"
_MAX_MANAGER_LENGTH: Final = 63
_AT_MOST: Final = "must be less than or equal to"
_MAX_INDEXES: Final = 100_000
"""Indexes that run at once or may fail; with more, the limits of an indexed Job are lower."""
_MAX_OF_MANY: Final = 10_000
"""Indexes of a Job with more than `_MAX_INDEXES` that run at once or may fail."""
_NUMBERS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


def _generated_errors(job: Plain, *needed: str) -> Errors:
    """Validate that the labels and the selector that the server generates are in place."""
    spec, expected = part(job, "spec"), expected_labels(job)
    # With manualSelector, the user chose labels and selector, and nothing was generated.
    # A missing selector is reported by `_whole_spec_errors`.
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    errors: Errors = []
    labels = part(part(part(spec, "template"), "metadata"), "labels")
    for label in needed:
        path = f"spec.template.metadata.labels[{label}]"
        if label not in labels:
            errors.append(required(path, f"must be '{expected[label]}'"))
        elif labels[label] != expected[label]:
            errors.append(invalid(path, shown_map(labels), f"must be '{expected[label]}'"))
    # The selector must match the labels that the server would have generated, not those of the template.
    # An invalid one has errors of its own.
    if not label_selector("", part(spec, "selector")) and not selects(part(spec, "selector"), expected):
        errors.append(invalid("spec.selector", shown_selector(spec["selector"]), "`selector` not auto-generated"))
    return errors


_OLD_LABELS: Final = (UID_LABELS[0], NAME_LABELS[0])
_NEW_LABELS: Final = (UID_LABELS[1], NAME_LABELS[1])


def job_errors(job: Plain) -> Errors:
    """Return the errors of a Job."""
    errors = _generated_errors(job, *_OLD_LABELS, *_NEW_LABELS)
    return errors + _whole_spec_errors(part(job, "spec")) + _host_name_errors(job)


def _host_name_errors(job: Plain) -> Errors:
    """Validate that the name of the last pod of an indexed Job can be a host name."""
    spec, name = part(job, "spec"), text(part(job, "metadata"), "name")
    completions = spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return []
    host = f"{name}-{completions - 1}"
    why = f"will not able to create pod with invalid DNS label: {host}"
    return [invalid("metadata.name", name, why)] if names.label(host) else []


def _whole_spec_errors(spec: Plain) -> Errors:
    errors = spec_errors(spec, "spec")
    selector = spec.get("selector")
    wrong = label_selector("spec.selector", selector or {})
    errors += [required("spec.selector")] if selector is None else wrong
    labels = part(part(spec, "template"), "metadata").get("labels")
    # An invalid selector has its own errors, and would match by accident.
    if selector is None or (not wrong and not selects(selector, labels or {})):
        why = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", shown_map(labels), why))
    return errors


def spec_errors(spec: Plain, path: str) -> Errors:
    """Return the errors of the spec of a Job, or of the template in a CronJob."""
    errors: Errors = []
    for field in _NUMBERS:
        # The order of the fields is that of kube-apiserver's checks.
        errors += not_negative(f"{path}.{field}", spec.get(field))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        manager, at = text(spec, "managedBy"), f"{path}.managedBy"
        errors += domain_path_errors(at, manager)
        errors += [too_long(at, _MAX_MANAGER_LENGTH)] if len(manager.encode()) > _MAX_MANAGER_LENGTH else []
    errors += _mode_errors(spec, path)
    errors += failure_policy_errors(spec, path) + success_policy_errors(spec, path)
    # A failure policy looks at the exit of a pod, which a terminating one does not have yet.
    policies = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    errors += known_or_nothing(f"{path}.podReplacementPolicy", spec.get("podReplacementPolicy"), policies)
    errors += template_errors(part(spec, "template"), f"{path}.template")
    return errors + _restart_errors(spec, f"{path}.template.spec.restartPolicy")


def _mode_errors(spec: Plain, path: str) -> Errors:
    mode, completions = spec.get("completionMode"), spec.get("completions")
    errors = known_or_nothing(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        if completions is None:
            errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
        return errors + _index_errors(spec, path)
    # An unknown mode has its own error, and says nothing about indexes.
    if mode in {None, "NonIndexed"}:
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                errors.append(invalid(f"{path}.{field}", spec[field], _INDEXED))
    return errors


def _index_errors(spec: Plain, path: str) -> Errors:
    """Validate the limits of an indexed Job, whose status lists its indexes."""
    completions, parallelism, failed = (
        spec.get("completions"),
        spec.get("parallelism") or 0,
        spec.get("maxFailedIndexes"),
    )
    most, at_once = f"{path}.maxFailedIndexes", f"{path}.parallelism"
    errors: Errors = []
    if parallelism > _MAX_INDEXES:
        errors.append(invalid(at_once, parallelism, f"{_AT_MOST} {_MAX_INDEXES} when completion mode is Indexed"))
    if completions is not None and failed is not None and failed > completions:
        errors.append(invalid(most, failed, f"{_AT_MOST} completions"))
    if failed is not None and failed > _MAX_INDEXES:
        errors.append(invalid(most, failed, f"{_AT_MOST} {_MAX_INDEXES}"))
    if completions is None or completions <= _MAX_INDEXES or spec.get("backoffLimitPerIndex") is None:
        return errors
    why = f"{_AT_MOST} {_MAX_OF_MANY} when completions are above {_MAX_INDEXES} and used with backoff limit per index"
    if failed is None:
        errors.append(required(most, f"must be specified when completions is above {_MAX_INDEXES}"))
    if parallelism > _MAX_OF_MANY:
        errors.append(invalid(at_once, parallelism, why))
    if failed is not None and failed > _MAX_OF_MANY:
        errors.append(invalid(most, failed, why))
    return errors


def _restart_errors(spec: Plain, path: str) -> Errors:
    policy = part(part(spec, "template"), "spec").get("restartPolicy")
    # With Always, a pod would be restarted for ever, and the job would never complete.
    if policy in {None, "", "Always"}:
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in {"OnFailure", "Never"}:
        return [unsupported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def job_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a Job."""
    after, before = part(new, "spec"), part(old, "spec")
    # kube-apiserver checks the job as a whole, and its spec once more.
    known = part(part(part(before, "template"), "metadata"), "labels")
    # Jobs of older servers lack the prefixed labels, and must stay writable.
    newer = _NEW_LABELS if all(label in known for label in _NEW_LABELS) else ()
    errors = _generated_errors(new, *_OLD_LABELS, *newer)
    errors += _whole_spec_errors(after) + _host_name_errors(new) + _whole_spec_errors(after)
    if after.get("completionMode") != "Indexed":
        errors += immutable("spec.completions", after.get("completions"), before.get("completions"))
    # An elastic job scales both numbers together.
    elif after.get("completions") not in {None, before.get("completions"), after.get("parallelism")}:
        why = "can only be modified in tandem with spec.parallelism"
        errors.append(invalid("spec.completions", after.get("completions"), why))
    selectors = [shown_selector(state.get("selector")) for state in (after, before)]
    errors += immutable("spec.selector", *selectors)
    errors += template_changes(part(after, "template"), part(before, "template"), is_idle=_is_idle(old))
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += immutable(f"spec.{field}", after.get(field), before.get(field))
    return errors


def _is_idle(job: Plain) -> bool:
    """Tell whether a Job is suspended and has no pods: it never started, or its controller has removed them."""
    status = part(job, "status")
    suspended = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in items(status, "conditions")
    )
    return (
        part(job, "spec").get("suspend") is True
        and (status.get("startTime") is None or suspended)
        and not status.get("active")
    )
