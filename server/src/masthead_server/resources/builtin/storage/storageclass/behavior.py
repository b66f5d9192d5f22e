"""Behavior of StorageClasses."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.storage.storageclass.defaults import DEFAULTS
from masthead_server.resources.builtin.storage.storageclass.validation import class_changes, class_errors
from masthead_server.resources.builtin.storage.storageclass.warnings import storage_class_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=class_errors, validate_update=class_changes),
    warnings=always(storage_class_warnings),
)
