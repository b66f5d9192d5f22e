"""Behavior of VolumeAttachments."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.storage.volumeattachment.defaults import DEFAULTS
from masthead_server.resources.builtin.storage.volumeattachment.validation import (
    attachment_changes,
    attachment_errors,
)

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=attachment_errors,
        validate_update=attachment_changes,
        validate_status=lambda new, _old: attachment_errors(new),
    ),
)
