"""The behavior of a custom resource: defaults, admission and validation, as its definition has them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.custom.codec import set_defaults
from masthead_server.resources.custom.scale import PathScale
from masthead_server.resources.custom.validation import ObjectValidator
from masthead_server.resources.warnings.custom_resources import CUSTOM_RESOURCE_WARNINGS
from masthead_server.wire.failures import StatusFailure, details_of, qualified
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.custom.definition import DefinitionVersion

__all__ = ["behavior_of"]


def behavior_of(version: DefinitionVersion) -> Behavior:
    """Return the behavior of a custom resource in one version."""
    scale = PathScale(version.scale) if version.scale else None
    validator = ObjectValidator(version, scale)
    hooks = StrategyHooks(
        admit_create=functools.partial(_admit_create, version),
        validate_create=validator.create_errors,
        validate_update=validator.update_errors,
        validate_status=validator.status_errors,
        finish_create=functools.partial(_finish_create, version),
    )
    return Behavior(
        defaults=functools.partial(set_defaults, version=version),
        hooks=hooks,
        warnings=CUSTOM_RESOURCE_WARNINGS,
        scale=scale,
    )


def _finish_create(version: DefinitionVersion, found: Plain) -> None:
    """Set the default of the status, which a create drops: kube-apiserver sets it when it reads the object."""
    status = version.schema.properties.get("status")
    if "status" not in found and status is not None and status.has_default:
        set_defaults(found, version)


def _admit_create(version: DefinitionVersion, found: Plain, _allocate: Allocator) -> StatusFailure | None:
    """Refuse new objects of a definition that is being deleted."""
    definition = version.definition
    if not definition.is_terminating:
        return None
    name = text(part(found, "metadata"), "name")
    resource = qualified(definition.group, definition.plural)
    problem = "create not allowed while custom resource definition is terminating"
    return StatusFailure(
        403,
        "Forbidden",
        f"{resource} {quoted(name)} is forbidden: {problem}",
        details=details_of(name, definition.group, definition.plural),
    )
