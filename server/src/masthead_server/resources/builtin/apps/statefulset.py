"""StatefulSets: defaults, validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.builtin.core.persistentvolumeclaim import CLAIM
from masthead_server.resources.defaulting.disabled import dropped_on_create, dropped_on_update
from masthead_server.resources.defaulting.disabled_pod_fields import dropped_from_new_template, dropped_from_template
from masthead_server.resources.defaulting.fill import ROLLING_UPDATE, for_each, shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.validation.checks import (
    each_of,
    follows,
    label_selector,
    not_negative,
    same,
    unsupported,
)
from masthead_server.resources.validation.label_selectors import shown_selector
from masthead_server.resources.validation.pod_controllers import (
    TEMPLATE_PATH,
    mismatch_errors,
    number_errors,
    restart_policy_errors,
    selector_errors,
    shown_strategy,
)
from masthead_server.resources.validation.pod_spec import template_errors, template_metadata_errors
from masthead_server.resources.validation.status import counters
from masthead_server.resources.validation.volume_claims import claim_spec_errors
from masthead_server.resources.warnings.pod_controllers import template_warnings_of
from masthead_server.resources.warnings.quantities import claim_warnings
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain


def _fill_stateful_strategy(strategy: Plain) -> None:
    # Unlike its siblings it gets no settings where only the type is stated.
    if not strategy.get("type"):
        strategy["type"] = ROLLING_UPDATE
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == ROLLING_UPDATE and rolling is not None and rolling.get("partition") is None:
        rolling["partition"] = 0


def _name_claim(claim: Plain) -> None:
    # Templates are stored with type information, unlike all other objects within objects.
    claim["apiVersion"] = "v1"
    claim["kind"] = "PersistentVolumeClaim"
    CLAIM(claim)


DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            blank={"podManagementPolicy": "OrderedReady"},
            unset={"replicas": 1, "revisionHistoryLimit": 10},
            always={
                "updateStrategy": _fill_stateful_strategy,
                "persistentVolumeClaimRetentionPolicy": shape(blank={"whenDeleted": "Retain", "whenScaled": "Retain"}),
                "template": TEMPLATE,
            },
            inside={"volumeClaimTemplates": for_each(_name_claim)},
        )
    }
)


def stateful_set_errors(stateful_set: Plain) -> Errors:
    """Return the errors of a StatefulSet."""
    return _stateful_errors(part(stateful_set, "spec"), is_new=True)


def _claim_template_errors(spec: Plain) -> Errors:
    errors: Errors = []
    for at, claim in each_of(spec, "volumeClaimTemplates", "spec"):
        errors += claim_spec_errors(part(claim, "spec"), f"{at}.spec")
    return errors


def _stateful_errors(spec: Plain, *, is_new: bool) -> Errors:
    errors: Errors = []
    policy = spec.get("podManagementPolicy")
    # One message for unset and unknown policies, unlike for most enumerations.
    if policy not in {"OrderedReady", "Parallel"}:
        errors.append(invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    errors += _stateful_strategy_errors(part(spec, "updateStrategy"))
    keep = part(spec, "persistentVolumeClaimRetentionPolicy")
    for field in ("whenDeleted", "whenScaled"):
        if keep.get(field) not in {"Retain", "Delete"}:
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            errors.append(unsupported(path, keep.get(field), ("Retain", "Delete")))
    # Not on updates: stored objects may be older than this check.
    errors += _claim_template_errors(spec) if is_new else []
    errors += number_errors(spec, "replicas", "minReadySeconds")
    errors += not_negative("spec.ordinals.start", part(spec, "ordinals").get("start"))
    # The field is immutable, so that an update need not check it again.
    if is_new and spec.get("serviceName"):
        errors += follows("spec.serviceName", spec["serviceName"], names.label)
    errors += selector_errors(spec, "statefulset")
    template, selector = _with_claims(spec), spec.get("selector")
    # An invalid selector matches nothing; the template is not compared with it.
    if label_selector("", selector or {}):
        errors.append(invalid("spec.selector", shown_selector(selector), ""))
    else:
        errors += mismatch_errors(selector, template) + template_errors(template, TEMPLATE_PATH)
        # kube-apiserver validates the metadata of the template twice, and reports errors twice.
        errors += template_metadata_errors(template, TEMPLATE_PATH)
    return errors + restart_policy_errors(spec, "StatefulSet")


def _with_claims(spec: Plain) -> Plain:
    """The template with the volumes that its claims will be, and without names that it will be given."""
    template = part(spec, "template")
    claimed = [text(part(claim, "metadata"), "name") for claim in items(spec, "volumeClaimTemplates")]
    # The controller overwrites both with the set's service and the pod's name.
    pod = {key: value for key, value in part(template, "spec").items() if key not in {"subdomain", "hostname"}}
    # Several templates of one name make one volume.
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claimed)]
    # The volume of a claim replaces the template's volume of the same name.
    own = [volume for volume in items(pod, "volumes") if volume.get("name") not in claimed]
    return {**template, "spec": {**pod, "volumes": [*volumes, *own]}}


def _stateful_strategy_errors(strategy: Plain) -> Errors:
    path, kind, rolling = "spec.updateStrategy", strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is None:
            return []
        # The message prints Go's struct, in which the partition is a number without omitempty.
        shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
        why = "only allowed for updateStrategy 'RollingUpdate'"
        return [invalid(f"{path}.rollingUpdate", shown, why)]
    if kind != "RollingUpdate":
        return [
            invalid(
                path,
                shown_strategy(strategy, {"partition": 0, "maxUnavailable": None}),
                "must be 'RollingUpdate' or 'OnDelete'",
            )
        ]
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


def stateful_set_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a StatefulSet."""
    errors = _stateful_errors(part(new, "spec"), is_new=False)
    now, then = (
        {key: value for key, value in part(side, "spec").items() if key not in _MUTABLE} for side in (new, old)
    )
    # Claims cannot be changed in place, and the selector identifies the pods of the set.
    return errors if same(now, then) else [*errors, forbidden("spec", _FIXED)]


def new_stateful_set_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a StatefulSet."""
    return template_warnings_of(obj) + _claim_warnings(obj, "") + _history(obj)


def stateful_set_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a StatefulSet."""
    # The path of a claim's spec is spelled differently in an update, and wrongly in both cases.
    return when_changed(template_warnings_of)(new, old) + _claim_warnings(new, ".Spec") + _history(new)


def _claim_warnings(obj: Plain, tail: str) -> list[str]:
    found: list[str] = []
    for index, claim in enumerate(items(part(obj, "spec"), "volumeClaimTemplates")):
        found += claim_warnings(f"spec.volumeClaimTemplates[{index}]{tail}", part(claim, "spec"))
    return found


# Only a warning, because a negative limit was accepted before and disables the cleanup.
def _history(obj: Plain) -> list[str]:
    limit = part(obj, "spec").get("revisionHistoryLimit")
    if not isinstance(limit, int) or limit >= 0:
        return []
    why = "a negative value retains all historical revisions; a value >= 0 is recommended"
    return [f"spec.revisionHistoryLimit: {why}"]


# The gate of maxUnavailable is off, so that new values are dropped; stored ones remain.
_MAX_UNAVAILABLE: Final = ("spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
_drop_new_number: Final = dropped_on_create(*_MAX_UNAVAILABLE)
_drop_number: Final = dropped_on_update(*_MAX_UNAVAILABLE)
_drop_new_fields: Final = dropped_from_new_template("spec", "template")
_drop_fields: Final = dropped_from_template("spec", "template")


def _prepare_stateful_set(stateful_set: Plain, allocate: Allocator) -> None:
    _drop_new_number(stateful_set, allocate)
    _drop_new_fields(stateful_set, allocate)


def _carry_stateful_set(new: Plain, old: Plain) -> None:
    _drop_number(new, old)
    _drop_fields(new, old)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_prepare_stateful_set,
        prepare_update=_carry_stateful_set,
        validate_create=stateful_set_errors,
        validate_update=stateful_set_changes,
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
    warnings=WarningHooks(new_stateful_set_warnings, stateful_set_warnings),
)
