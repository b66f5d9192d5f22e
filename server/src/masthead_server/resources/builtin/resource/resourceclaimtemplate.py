"""ResourceClaimTemplates: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources.behavior import Behavior, Conversion, StrategyHooks
from masthead_server.resources.builtin.resource import conversion
from masthead_server.resources.builtin.resource.claim_access import request_access_errors
from masthead_server.resources.builtin.resource.claim_defaults import (
    DEVICE_REQUEST,
    OLD_REQUEST,
    claim_template_defaults,
)
from masthead_server.resources.builtin.resource.claim_validation import check_expressions, claim_spec_errors
from masthead_server.resources.validation.checks import IMMUTABLE, same_structs
from masthead_server.resources.validation.internal_types import inner
from masthead_server.resources.validation.template_metadata import template_metadata_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import AccessChecks, Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = claim_template_defaults(DEVICE_REQUEST)
V1BETA1_DEFAULTS: Final[Fill] = claim_template_defaults(OLD_REQUEST)


def template_errors(template: Plain) -> Errors:
    """Return the errors of a template."""
    spec = part(template, "spec")
    return check_expressions(spec, lambda: _spec_errors(spec))


def _spec_errors(spec: Plain) -> Errors:
    errors = template_metadata_errors(part(spec, "metadata"), "spec.metadata")
    return errors + claim_spec_errors(part(spec, "spec"), "spec.spec")


def template_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a template, whose spec is immutable."""
    spec = part(new, "spec")

    def find() -> Errors:
        errors = _spec_errors(spec)
        if not same_structs(spec, part(old, "spec")):
            shown = {**part(spec, "metadata"), "Spec": inner("ResourceClaimSpec", part(spec, "spec"))}
            errors.append(invalid("spec", shown, IMMUTABLE))
        return errors

    return check_expressions(spec, find)


def _access_errors(new: Plain, old: Plain | None, access: AccessChecks) -> Errors:
    return [] if old is not None else request_access_errors(part(part(new, "spec"), "spec"), access)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    defaults_by_version={"v1beta1": V1BETA1_DEFAULTS},
    hooks=StrategyHooks(
        check_access=_access_errors,
        validate_create=template_errors,
        validate_update=template_changes,
    ),
    conversions={"v1beta1": Conversion(conversion.template_from_v1beta1, conversion.template_to_v1beta1)},
)
