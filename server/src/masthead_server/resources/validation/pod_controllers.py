"""Validation that the controllers of pods share: selectors, templates, rolling updates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.validation.checks import (
    immutable,
    label_selector,
    not_negative,
    shown_map,
    unsupported,
)
from masthead_server.resources.validation.label_selectors import selects, shown_selector
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_UNMATCHED: Final = "`selector` does not match template `labels`"
TEMPLATE_PATH: Final = "spec.template"


def number_errors(spec: Plain, *fields: str) -> Errors:
    """Return the errors of the numbers in the spec of a controller."""
    errors: Errors = []
    for field in fields:
        if (spec.get(field) or 0) < 0:
            errors += not_negative(f"spec.{field}", spec[field])
    return errors


def selector_errors(spec: Plain, kind: str) -> Errors:
    """Return the errors of the selector of a controller."""
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    errors = label_selector("spec.selector", selector)
    # An empty selector would select every pod of the namespace.
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid("spec.selector", {}, f"empty selector is invalid for {kind}"))
    return errors


def mismatch_errors(selector: Plain | None, template: Plain) -> Errors:
    """Validate that a controller selects the pods that it makes; without a selector it selects none."""
    labels = part(template, "metadata").get("labels")
    if selector is not None and selects(selector, labels or {}):
        return []
    return [invalid(f"{TEMPLATE_PATH}.metadata.labels", shown_map(labels), _UNMATCHED)]


def restart_policy_errors(spec: Plain, kind: str) -> Errors:
    """Validate that pods run on and on, as a controller's pods do."""
    errors: Errors = []
    pod = part(part(spec, "template"), "spec")
    if pod.get("restartPolicy") != "Always":
        errors.append(unsupported(f"{TEMPLATE_PATH}.spec.restartPolicy", pod.get("restartPolicy"), ("Always",)))
    if pod.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{TEMPLATE_PATH}.spec.activeDeadlineSeconds", why))
    return errors


def controller_template_errors(spec: Plain, kind: str) -> Errors:
    """Return the errors of the pod template of a controller."""
    template, selector = part(spec, "template"), spec.get("selector")
    if label_selector("", selector or {}):
        return [invalid("spec.selector", shown_selector(selector), "invalid label selector")]
    errors = mismatch_errors(selector, template)
    errors += template_errors(template, TEMPLATE_PATH)
    return errors + restart_policy_errors(spec, kind)


NO_PODS: Final = {"maxUnavailable": 0, "maxSurge": 0}
"""The settings of a rolling update that states none, in kube-apiserver's own type."""


def shown_strategy(strategy: Plain, unset: Plain = NO_PODS) -> Plain:
    """A strategy as messages of kube-apiserver print it, in its internal type.

    Args:
        strategy: The strategy.
        unset: The values of settings that are absent.
    """
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        rolling = {field[0].upper() + field[1:]: rolling.get(field, value) for field, value in unset.items()}
    return {"Type": strategy.get("type"), "RollingUpdate": rolling}


def size_of(value: object) -> int:
    """Return the number of a rolling update setting; a percentage counts as its number."""
    digits = re.match("(-?)0*([0-9]{0,10})", str(value or 0))
    return int(f"{digits[1]}{digits[2] or 0}") if digits else 0


def selector_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of the selector, which is immutable."""
    now, then = (shown_selector(part(state, "spec").get("selector")) for state in (new, old))
    return immutable("spec.selector", now, then)
