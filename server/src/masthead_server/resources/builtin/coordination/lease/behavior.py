"""Behavior of Leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.coordination.lease.validation import lease_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def _drop_election(lease: Plain) -> None:
    """Forget fields for elections that the server is to hold: that feature is off by default."""
    for field in ("strategy", "preferredHolder"):
        part(lease, "spec").pop(field, None)


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        prepare_create=lambda obj, _allocate: _drop_election(obj),
        prepare_update=lambda new, _old: _drop_election(new),
        validate_create=lease_errors,
        validate_update=lambda new, _old: lease_errors(new),
    )
)
