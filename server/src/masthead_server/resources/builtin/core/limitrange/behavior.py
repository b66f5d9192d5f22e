"""Behavior of LimitRanges."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.core.limitrange.defaults import DEFAULTS
from masthead_server.resources.builtin.core.limitrange.validation import limit_range_errors

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def _name(limits: Plain, _allocate: Allocator) -> None:
    """Name what has no name, as no other kind does it."""
    meta = limits["metadata"]
    if not meta.get("name"):
        meta["name"] = str(uuid.uuid5(uuid.UUID(meta["uid"]), "name"))


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_name,
        validate_create=limit_range_errors,
        validate_update=lambda new, _old: limit_range_errors(new),
    ),
)
