"""Behavior of VolumeAttributesClasses."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.storage.volumeattributesclass.validation import (
    attributes_changes,
    attributes_errors,
)
from masthead_server.resources.protection import protect

BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        prepare_create=lambda obj, _allocate: protect(obj, "kubernetes.io/vac-protection"),
        validate_create=attributes_errors,
        validate_update=attributes_changes,
    )
)
