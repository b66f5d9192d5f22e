"""Behavior of APIServices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.apiregistration.apiservice.defaults import DEFAULTS
from masthead_server.resources.builtin.apiregistration.apiservice.validation import (
    service_errors,
    status_errors,
)
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def _set_available(service: Plain, allocate: Allocator) -> None:
    """Mark what the server itself serves as available at once."""
    if part(service, "spec").get("service") is None:
        condition = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": allocate.now(),
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        service["status"] = {"conditions": [condition]}


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_set_available,
        validate_create=service_errors,
        validate_update=lambda new, _old: service_errors(new),
        validate_status=lambda new, _old: status_errors(new),
    ),
)
