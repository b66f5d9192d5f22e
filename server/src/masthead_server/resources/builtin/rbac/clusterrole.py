"""ClusterRoles."""

from __future__ import annotations

from functools import partial
from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.rbac.role import role_errors

BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        validate_create=partial(role_errors, namespaced=False),
        validate_update=lambda new, _old: role_errors(new, namespaced=False),
    )
)
