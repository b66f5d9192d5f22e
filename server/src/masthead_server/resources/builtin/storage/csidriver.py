"""CSIDrivers: defaults, validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.defaulting.disabled import dropped_on_create, dropped_on_update
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.validation.checks import each_of, immutable, known_or_nothing, unique, unsupported, words
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            blank={"volumeLifecycleModes": ["Persistent"]},
            unset={
                "attachRequired": True,
                "podInfoOnMount": False,
                "storageCapacity": False,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "requiresRepublish": False,
                "seLinuxMount": False,
            },
        )
    }
)


def driver_errors(driver: Plain) -> Errors:
    """Return the errors of a CSIDriver."""
    spec = part(driver, "spec")
    known = ("File", "None", "ReadWriteOnceWithFSType")
    errors = known_or_nothing("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), known)
    seen: set[str] = set()
    for at, request in each_of(spec, "tokenRequests", "spec"):
        repeated = unique(f"{at}.audience", text(request, "audience"), seen)
        errors += repeated or _lifetime_errors(f"{at}.expirationSeconds", request.get("expirationSeconds"))
    for mode in words(spec, "volumeLifecycleModes"):
        if mode not in _LIVES:
            errors.append(unsupported("spec.volumeLifecycleModes", mode, _LIVES))
    seconds = spec.get("nodeAllocatableUpdatePeriodSeconds")
    # Once per period, every kubelet calls the driver.
    if seconds is not None and seconds < 10:
        why = "must be greater than or equal to 10 seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", seconds, why))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, why))
    return errors


def _lifetime_errors(path: str, seconds: int | None) -> Errors:
    if seconds is not None and seconds < _MIN_LIFETIME:
        return [invalid(path, seconds, "may not specify a duration less than 10 minutes")]
    if seconds is not None and seconds > _MAX_LIFETIME:
        return [invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


_MIN_LIFETIME: Final = 600
_MAX_LIFETIME: Final = 2**32
_LIVES: Final = ("Persistent", "Ephemeral")


def driver_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a CSIDriver."""
    after, before = part(new, "spec"), part(old, "spec")
    field = "attachRequired"
    # kube-apiserver misspells the field in this path.
    errors = driver_errors(new) + immutable("spec.attachedRequired", after.get(field), before.get(field))
    field = "volumeLifecycleModes"
    return errors + immutable(f"spec.{field}", after.get(field), before.get(field))


_TOKENS_IN_SECRETS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible"
    " logging of tokens in volume attributes"
)


def driver_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a CSIDriver."""
    spec = part(obj, "spec")
    is_unsaid = spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
    return [_TOKENS_IN_SECRETS] if is_unsaid else []


def driver_change_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a CSIDriver."""
    # Only a change of the requests warns, so that controllers get no warning on every update.
    is_same = part(new, "spec").get("tokenRequests") == part(old, "spec").get("tokenRequests")
    return [] if is_same else driver_warnings(new)


# The gate of this field is off by default.
_VOLUME_LIMIT_SCALING: Final = ("spec", "preventPodSchedulingIfMissing")

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=dropped_on_create(*_VOLUME_LIMIT_SCALING),
        prepare_update=dropped_on_update(*_VOLUME_LIMIT_SCALING),
        validate_create=driver_errors,
        validate_update=driver_changes,
    ),
    warnings=WarningHooks(driver_warnings, driver_change_warnings),
)
