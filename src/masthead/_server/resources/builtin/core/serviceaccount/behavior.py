"""Behavior of ServiceAccounts."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.behavior import Behavior, WarningHooks
from masthead._server.resources.builtin.core.serviceaccount.warnings import (
    account_change_warnings,
    account_warnings,
)

BEHAVIOR: Final = Behavior(warnings=WarningHooks(account_warnings, account_change_warnings))
