"""ValidatingAdmissionPolicies."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, SubresourceBehavior, always
from masthead_server.resources.builtin.admissionregistration.defaults import POLICY
from masthead_server.resources.builtin.admissionregistration.warnings import admission_warnings

BEHAVIOR: Final = Behavior(
    defaults=POLICY,
    warnings=always(admission_warnings),
    subresources={"status": SubresourceBehavior(warnings=always(admission_warnings))},
)
