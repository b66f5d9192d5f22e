"""Behavior of LeaseCandidates."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.coordination.leasecandidate.validation import (
    candidate_changes,
    candidate_errors,
)

BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=candidate_errors, validate_update=candidate_changes))
