"""Behavior of ServiceAccounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.core.serviceaccount.warnings import (
    account_change_warnings,
    account_warnings,
)

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def _prepare_create(new: Plain, _: Allocator) -> None:
    _keep_secret_names(new)


def _prepare_update(new: Plain, _: Plain) -> None:
    _keep_secret_names(new)


def _keep_secret_names(new: Plain) -> None:
    """Reduce references to secrets to their names."""
    if secrets := new.get("secrets"):
        new["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(prepare_create=_prepare_create, prepare_update=_prepare_update),
    warnings=WarningHooks(account_warnings, account_change_warnings),
)
