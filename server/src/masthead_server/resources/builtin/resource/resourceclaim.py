"""ResourceClaims: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources.behavior import Behavior, Conversion, StrategyHooks
from masthead_server.resources.builtin.resource import conversion
from masthead_server.resources.builtin.resource.claim_access import claim_access_errors
from masthead_server.resources.builtin.resource.claim_defaults import DEVICE_REQUEST, OLD_REQUEST, claim_defaults
from masthead_server.resources.builtin.resource.claim_status import drop_deallocated, status_errors
from masthead_server.resources.builtin.resource.claim_validation import check_expressions, claim_spec_errors
from masthead_server.resources.validation.checks import IMMUTABLE, same_structs
from masthead_server.resources.validation.internal_types import inner
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = claim_defaults(DEVICE_REQUEST)
V1BETA1_DEFAULTS: Final[Fill] = claim_defaults(OLD_REQUEST)


def claim_errors(claim: Plain) -> Errors:
    """Return the errors of a new claim."""
    spec = part(claim, "spec")
    return check_expressions(spec, lambda: claim_spec_errors(spec, "spec"))


def claim_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a claim, whose spec is immutable."""
    spec = part(new, "spec")
    if same_structs(spec, part(old, "spec")):
        return []
    return [invalid("spec", inner("ResourceClaimSpec", spec), IMMUTABLE)]


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    defaults_by_version={"v1beta1": V1BETA1_DEFAULTS},
    hooks=StrategyHooks(
        check_access=claim_access_errors,
        validate_create=claim_errors,
        validate_update=claim_changes,
        prepare_status=lambda new, old, _allocate: drop_deallocated(new, old),
        validate_status=status_errors,
    ),
    conversions={"v1beta1": Conversion(conversion.claim_from_v1beta1, conversion.claim_to_v1beta1)},
)
