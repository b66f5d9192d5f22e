"""Behavior of CustomResourceDefinitions."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.defaults import DEFAULTS
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.deletion import begin_deletion
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.stored_versions import (
    keep_stored_version,
    set_stored_version,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.validation import (
    definition_changes,
    definition_errors,
    status_changes,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.version_schemas import (
    review_schemas,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.warnings import format_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=set_stored_version,
        prepare_update=keep_stored_version,
        validate_create=definition_errors,
        validate_update=definition_changes,
        validate_status=status_changes,
    ),
    warnings=WarningHooks(lambda new: format_warnings(new, {}), format_warnings),
    begin_deletion=begin_deletion,
    review=review_schemas,
)
