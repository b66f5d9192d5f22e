"""ValidatingAdmissionPolicyBindings."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, always
from masthead_server.resources.builtin.admissionregistration.defaults import BINDING
from masthead_server.resources.builtin.admissionregistration.warnings import admission_warnings

BEHAVIOR: Final = Behavior(defaults=BINDING, warnings=always(admission_warnings))
