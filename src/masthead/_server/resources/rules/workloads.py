"""What runs pods from a template: the group apps, and replication controllers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._server.resources import names
from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.rules.statuses import counters
from masthead._server.resources.validation.checks import (
    IMMUTABLE,
    each_of,
    follows,
    immutable,
    label_selector,
    not_negative,
    same,
    shown_map,
    unsupported,
    up_to_all,
    whole_or_percent,
)
from masthead._server.resources.validation.label_selectors import selects, shown_selector
from masthead._server.resources.validation.pod_spec import template_errors
from masthead._server.resources.validation.volume_claims import claim_spec_errors
from masthead._server.wire.failures import forbidden, invalid, required
from masthead._server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead._server.resources.allocator import Allocator
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

_UNMATCHED: Final = "`selector` does not match template `labels`"
_TEMPLATE: Final = "spec.template"


def _numbers(spec: Plain, *fields: str) -> Errors:
    return [error for field in fields for error in not_negative(f"spec.{field}", spec.get(field))]


def _selector_errors(spec: Plain, kind: str) -> Errors:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    errors = label_selector("spec.selector", selector)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid("spec.selector", {}, f"empty selector is invalid for {kind}"))
    return errors


def _mismatch_errors(selector: Plain | None, template: Plain) -> Errors:
    """Check that a controller selects the pods that it makes; without a selector it selects none."""
    labels = part(template, "metadata").get("labels")
    if selector is not None and selects(selector, labels or {}):
        return []
    return [invalid(f"{_TEMPLATE}.metadata.labels", shown_map(labels), _UNMATCHED)]


def _always_errors(spec: Plain, kind: str) -> Errors:
    """Check that pods run on and on, as a controller's pods do."""
    errors: Errors = []
    pod = part(part(spec, "template"), "spec")
    if pod.get("restartPolicy") != "Always":
        errors.append(unsupported(f"{_TEMPLATE}.spec.restartPolicy", pod.get("restartPolicy"), ("Always",)))
    if pod.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{_TEMPLATE}.spec.activeDeadlineSeconds", why))
    return errors


def _template_errors(spec: Plain, kind: str) -> Errors:
    template, selector = part(spec, "template"), spec.get("selector")
    if label_selector("", selector or {}):
        return [invalid("spec.selector", shown_selector(selector), "invalid label selector")]
    errors = _mismatch_errors(selector, template)
    errors += template_errors(template, _TEMPLATE)
    return errors + _always_errors(spec, kind)


def _deployment_errors(deployment: Plain) -> Errors:
    spec = part(deployment, "spec")
    errors = _numbers(spec, "replicas") + _selector_errors(spec, "deployment")
    errors += _template_errors(spec, "ReplicaSet")
    errors += _strategy_errors(part(spec, "strategy"))
    errors += _numbers(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        why = "must be greater than minReadySeconds"
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, why))
    return errors


def _strategy_errors(strategy: Plain) -> Errors:
    path, kind = "spec.strategy", strategy.get("type")
    if kind == "Recreate":
        if strategy.get("rollingUpdate") is None:
            return []
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden(f"{path}.rollingUpdate", why)]
    if kind != "RollingUpdate":
        return [unsupported(path, _shown_strategy(strategy), ("Recreate", "RollingUpdate"))]
    rolling, path = part(strategy, "rollingUpdate"), f"{path}.rollingUpdate"
    down, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = whole_or_percent(f"{path}.maxUnavailable", down) + whole_or_percent(f"{path}.maxSurge", surge)
    if not _size(down) and not _size(surge):
        errors.append(invalid(f"{path}.maxUnavailable", down, "may not be 0 when `maxSurge` is 0"))
    return errors + up_to_all(f"{path}.maxUnavailable", down)


def _shown_strategy(strategy: Plain) -> Plain:
    """A strategy as the real server's message shows it, which is how it holds one inside."""
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        fields = ("partition", "maxUnavailable", "maxSurge")
        rolling = {field[0].upper() + field[1:]: rolling[field] for field in fields if field in rolling}
    return {"Type": strategy.get("type"), "RollingUpdate": rolling}


def _size(value: object) -> int:
    digits = re.match("0*([0-9]{0,10})", str(value or 0))
    return int(digits[1] or 0) if digits else 0


def _deployment_changes(new: Plain, old: Plain) -> Errors:
    return _deployment_errors(new) + _same_selector(new, old)


def _same_selector(new: Plain, old: Plain) -> Errors:
    now, then = (shown_selector(part(each, "spec").get("selector")) for each in (new, old))
    return immutable("spec.selector", now, then)


def _replica_set_errors(replica_set: Plain) -> Errors:
    spec = part(replica_set, "spec")
    errors = _numbers(spec, "replicas", "minReadySeconds")
    # The kind that the real server names here is not the one that it checks.
    return errors + _selector_errors(spec, "deployment") + _template_errors(spec, "ReplicaSet")


def _replica_set_changes(new: Plain, old: Plain) -> Errors:
    return _replica_set_errors(new) + _same_selector(new, old)


def _controller_errors(controller: Plain) -> Errors:
    spec = part(controller, "spec")
    errors = _numbers(spec, "minReadySeconds")
    if not spec.get("selector"):
        errors.append(required("spec.selector"))
    errors += _numbers(spec, "replicas")
    if spec.get("template") is None:
        return [*errors, required(_TEMPLATE)]
    template = part(spec, "template")
    errors += _mismatch_errors({"matchLabels": part(spec, "selector")}, template)
    errors += template_errors(template, _TEMPLATE)
    return errors + _always_errors(spec, "ReplicationController")


def _daemon_set_errors(daemon_set: Plain) -> Errors:
    spec = part(daemon_set, "spec")
    selector, template = spec.get("selector"), part(spec, "template")
    errors = label_selector("spec.selector", selector or {})
    errors += [] if errors else _mismatch_errors(selector, template)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid("spec.selector", {}, "empty selector is invalid for daemonset"))
    errors += template_errors(template, _TEMPLATE)
    errors += _always_errors(spec, "DaemonSet") + _numbers(spec, "minReadySeconds")
    errors += _daemon_strategy_errors(part(spec, "updateStrategy"))
    return errors + _numbers(spec, "revisionHistoryLimit")


def _daemon_strategy_errors(strategy: Plain) -> Errors:
    path, kind = "spec.updateStrategy", strategy.get("type")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [unsupported(path, _shown_strategy(strategy), ("RollingUpdate", "OnDelete"))]
    rolling, path = part(strategy, "rollingUpdate"), f"{path}.rollingUpdate"
    down, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = whole_or_percent(f"{path}.maxUnavailable", down) + whole_or_percent(f"{path}.maxSurge", surge)
    errors += up_to_all(f"{path}.maxUnavailable", down) + up_to_all(f"{path}.maxSurge", surge)
    if _size(down) and _size(surge):
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not _size(down) and not _size(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def _daemon_set_changes(new: Plain, old: Plain) -> Errors:
    return _same_selector(new, old) + _daemon_set_errors(new)


_GENERATION: Final = "deprecated.daemonset.template.generation"


def _count_template(daemon_set: Plain, number: int) -> None:
    meta = metadata(daemon_set)
    meta["annotations"] = {**(meta.get("annotations") or {}), _GENERATION: str(number)}


def _template_number(daemon_set: Plain) -> int:
    stated = part(metadata(daemon_set), "annotations").get(_GENERATION, "")
    # As a number of 64 bits; anything else is invalid.
    return int(stated) if re.fullmatch("0*[0-9]{1,18}", str(stated)) else 0


def _prepare_daemon_set(daemon_set: Plain, _allocate: Allocator) -> None:
    _count_template(daemon_set, max(1, _template_number(daemon_set)))


def _carry_daemon_set(new: Plain, old: Plain) -> None:
    changed = not same(part(new, "spec").get("template"), part(old, "spec").get("template"))
    _count_template(new, _template_number(old) + changed)


def _stateful_set_errors(stateful_set: Plain) -> Errors:
    return _stateful_errors(part(stateful_set, "spec"), is_new=True)


def _claim_template_errors(spec: Plain) -> Errors:
    errors: Errors = []
    for at, claim in each_of(spec, "volumeClaimTemplates", "spec"):
        errors += claim_spec_errors(part(claim, "spec"), f"{at}.spec")
    return errors


def _stateful_errors(spec: Plain, *, is_new: bool) -> Errors:
    errors: Errors = []
    policy = spec.get("podManagementPolicy")
    if policy not in {"OrderedReady", "Parallel"}:
        errors.append(invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    errors += _stateful_strategy_errors(part(spec, "updateStrategy"))
    keep = part(spec, "persistentVolumeClaimRetentionPolicy")
    for field in ("whenDeleted", "whenScaled"):
        if keep.get(field) not in {"Retain", "Delete"}:
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            errors.append(unsupported(path, keep.get(field), ("Retain", "Delete")))
    errors += _claim_template_errors(spec) if is_new else []
    errors += _numbers(spec, "replicas", "minReadySeconds")
    errors += not_negative("spec.ordinals.start", part(spec, "ordinals").get("start"))
    if is_new and spec.get("serviceName"):
        errors += follows("spec.serviceName", spec["serviceName"], names.label)
    errors += _selector_errors(spec, "statefulset")
    template, selector = _with_claims(spec), spec.get("selector")
    if label_selector("", selector or {}):
        errors.append(invalid("spec.selector", shown_selector(selector), ""))
    else:
        errors += _mismatch_errors(selector, template) + template_errors(template, _TEMPLATE)
    return errors + _always_errors(spec, "StatefulSet")


def _with_claims(spec: Plain) -> Plain:
    """The template with the volumes that its claims will be, and without names that it will be given."""
    template = part(spec, "template")
    claimed = [text(part(claim, "metadata"), "name") for claim in items(spec, "volumeClaimTemplates")]
    pod = {
        key: value for key, value in part(template, "spec").items() if key not in {"subdomain", "hostname"}
    }
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claimed]
    own = [each for each in items(pod, "volumes") if each.get("name") not in claimed]
    return {**template, "spec": {**pod, "volumes": [*volumes, *own]}}


def _stateful_strategy_errors(strategy: Plain) -> Errors:
    path, kind, rolling = "spec.updateStrategy", strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
        why = "only allowed for updateStrategy 'RollingUpdate'"
        return [invalid(f"{path}.rollingUpdate", shown, why)]
    if kind != "RollingUpdate":
        return [invalid(path, _shown_strategy(strategy), "must be 'RollingUpdate' or 'OnDelete'")]
    return not_negative(f"{path}.rollingUpdate.partition", part(strategy, "rollingUpdate").get("partition"))


_MUTABLE: Final = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
_FIXED: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def _stateful_set_changes(new: Plain, old: Plain) -> Errors:
    errors = _stateful_errors(part(new, "spec"), is_new=False)
    now, then = (
        {key: value for key, value in part(side, "spec").items() if key not in _MUTABLE}
        for side in (new, old)
    )
    return errors if same(now, then) else [*errors, forbidden("spec", _FIXED)]


def _revision_errors(revision: Plain) -> Errors:
    errors, data = not_negative("revision", revision.get("revision")), revision.get("data")
    if data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def _revision_changes(new: Plain, old: Plain) -> Errors:
    errors, data = not_negative("revision", new.get("revision")), new.get("data")
    return errors if data == old.get("data") else [*errors, invalid("data", data, IMMUTABLE)]


_READY: Final = ("readyReplicas", "availableReplicas")
_LABELED: Final = ("fullyLabeledReplicas", *_READY)
_REPLICA_STATUS: Final = counters(
    "replicas", *_LABELED, "observedGeneration", "terminatingReplicas", bounded=_LABELED
)
RULES: Final = {
    "deployments": StrategyHooks(
        validate_create=_deployment_errors,
        validate_update=_deployment_changes,
        validate_status=counters(
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            *_READY,
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
            bounded=("updatedReplicas", *_READY),
        ),
    ),
    "replicasets": StrategyHooks(
        validate_create=_replica_set_errors,
        validate_update=_replica_set_changes,
        validate_status=_REPLICA_STATUS,
    ),
    "controllerrevisions": StrategyHooks(validate_create=_revision_errors, validate_update=_revision_changes),
    "daemonsets": StrategyHooks(
        prepare_create=_prepare_daemon_set,
        prepare_update=_carry_daemon_set,
        validate_create=_daemon_set_errors,
        validate_update=_daemon_set_changes,
        validate_status=counters(
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ),
    ),
    "statefulsets": StrategyHooks(
        validate_create=_stateful_set_errors,
        validate_update=_stateful_set_changes,
        validate_status=counters(
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
            bounded=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
            ready="status.readyReplicas",
        ),
    ),
    "replicationcontrollers": StrategyHooks(
        validate_create=_controller_errors,
        validate_update=lambda new, _old: _controller_errors(new),
        validate_status=_REPLICA_STATUS,
    ),
    "podtemplates": StrategyHooks(
        validate_create=lambda obj: template_errors(part(obj, "template"), "template"),
        validate_update=lambda new, _old: template_errors(part(new, "template"), "template"),
    ),
}
