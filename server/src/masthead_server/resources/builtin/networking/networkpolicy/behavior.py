"""Behavior of NetworkPolicies."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.networking.networkpolicy.defaults import DEFAULTS
from masthead_server.resources.builtin.networking.networkpolicy.validation import policy_errors
from masthead_server.resources.builtin.networking.networkpolicy.warnings import policy_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=policy_errors, validate_update=lambda new, _old: policy_errors(new)),
    warnings=always(policy_warnings),
)
