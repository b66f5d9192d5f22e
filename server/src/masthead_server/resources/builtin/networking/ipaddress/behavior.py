"""Behavior of IPAddresses."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.networking.ipaddress.validation import address_changes, address_errors

BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=address_errors, validate_update=address_changes))
