"""MutatingAdmissionPolicyBindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.admissionregistration.binding_validation import binding_errors
from masthead_server.resources.builtin.admissionregistration.defaults import ALPHA_BINDING, BINDING
from masthead_server.resources.builtin.admissionregistration.mutatingadmissionpolicy import MUTATING_OPERATIONS
from masthead_server.resources.builtin.admissionregistration.warnings import admission_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def _binding_errors(binding: Plain) -> Errors:
    return binding_errors(part(binding, "spec"), MUTATING_OPERATIONS)


BEHAVIOR: Final = Behavior(
    defaults=BINDING,
    defaults_by_version={"v1alpha1": ALPHA_BINDING},
    hooks=StrategyHooks(validate_create=_binding_errors, validate_update=lambda new, _old: _binding_errors(new)),
    warnings=always(admission_warnings),
)
