"""Validation of Jobs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required, too_long
from masthead_server.resources import names
from masthead_server.resources.builtin.batch.job.labels import NAME_LABELS, UID_LABELS, expected_labels
from masthead_server.resources.builtin.batch.job.policies import (
    failure_policy_errors,
    success_policy_errors,
)
from masthead_server.resources.validation.checks import (
    IMMUTABLE,
    follows,
    immutable,
    known_or_nothing,
    label_selector,
    not_negative,
    same,
    shown_map,
    unsupported,
)
from masthead_server.resources.validation.internal_types import inner_pod_spec
from masthead_server.resources.validation.label_selectors import selects, shown_selector
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_INDEXED: Final = "requires indexed completion mode"
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
    if not selects(part(spec, "selector"), expected):
        errors.append(invalid("spec.selector", shown_selector(spec["selector"]), "`selector` not auto-generated"))
    return errors


_OLD_LABELS: Final = (UID_LABELS[0], NAME_LABELS[0])
_NEW_LABELS: Final = (UID_LABELS[1], NAME_LABELS[1])


def job_errors(job: Plain) -> Errors:
    """Return the errors of a Job."""
    errors = _generated_errors(job, *_OLD_LABELS, *_NEW_LABELS)
    return errors + _whole_spec_errors(part(job, "spec"))


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
        errors += _manager_errors(spec["managedBy"], f"{path}.managedBy")
    errors += _mode_errors(spec, path)
    errors += failure_policy_errors(spec, path) + success_policy_errors(spec, path)
    # A failure policy looks at the exit of a pod, which a terminating one does not have yet.
    policies = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    errors += known_or_nothing(f"{path}.podReplacementPolicy", spec.get("podReplacementPolicy"), policies)
    errors += template_errors(part(spec, "template"), f"{path}.template")
    return errors + _restart_errors(spec, f"{path}.template.spec.restartPolicy")


_PATH: Final = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"


def _manager_errors(manager: str, path: str) -> Errors:
    if not manager:
        return [required(path)]
    domain, _, rest = manager.partition("/")
    if not domain or not rest:
        return [invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = follows(path, domain, names.SUBDOMAIN)
    if not re.fullmatch(_PATH, rest):
        # The value in this message is the path alone, without the domain.
        errors.append(invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')"))
    return [*errors, too_long(path, 63)] if len(manager) > 63 else errors


def _mode_errors(spec: Plain, path: str) -> Errors:
    mode, completions = spec.get("completionMode"), spec.get("completions")
    errors = known_or_nothing(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        if completions is None:
            errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
        failed = spec.get("maxFailedIndexes")
        if completions is not None and failed is not None and failed > completions:
            why = "must be less than or equal to completions"
            errors.append(invalid(f"{path}.maxFailedIndexes", failed, why))
        return errors
    # An unknown mode has its own error, and says nothing about indexes.
    if mode in {None, "NonIndexed"}:
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                errors.append(invalid(f"{path}.{field}", spec[field], _INDEXED))
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
    errors += _whole_spec_errors(after) + _whole_spec_errors(after)
    if after.get("completionMode") != "Indexed":
        errors += immutable("spec.completions", after.get("completions"), before.get("completions"))
    # An elastic job scales both numbers together.
    elif after.get("completions") not in {before.get("completions"), after.get("parallelism")}:
        why = "can only be modified in tandem with spec.parallelism"
        errors.append(invalid("spec.completions", after.get("completions"), why))
    selectors = [shown_selector(state.get("selector")) for state in (after, before)]
    errors += immutable("spec.selector", *selectors)
    template = _fixed_template(after, before)
    if not same(template, before.get("template")):
        # The message shows kube-apiserver's internal type of a template.
        shown = {**part(template, "metadata"), "Spec": inner_pod_spec(part(template, "spec"))}
        errors.append(invalid("spec.template", shown, IMMUTABLE))
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += immutable(f"spec.{field}", after.get(field), before.get(field))
    return errors


_DIRECTIVES: Final = ("affinity", "nodeSelector", "tolerations", "schedulingGates")


def _fixed_template(after: Plain, before: Plain) -> Plain:
    """The new template without what a job that has not started yet may change: where its pods go."""
    template = part(after, "template")
    # The pods of a running job exist already, and cannot be moved.
    if not before.get("suspend"):
        return template
    known = part(before, "template")
    spec = {key: value for key, value in part(template, "spec").items() if key not in _DIRECTIVES}
    kept = {key: value for key, value in part(known, "spec").items() if key in _DIRECTIVES}
    # Labels and annotations of the template may change with the scheduling directives.
    return {**template, "metadata": known.get("metadata"), "spec": {**spec, **kept}}
