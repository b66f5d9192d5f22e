"""The behavior of a custom resource: defaults, admission and validation, as its definition has them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from masthead._schema.errors import FieldError, invalid, quoted
from masthead._server.resources.behavior import Behavior, StrategyHooks
from masthead._server.resources.custom.codec import set_defaults
from masthead._server.resources.custom.object_metadata import embedded_errors
from masthead._server.resources.custom.scale import PathScale
from masthead._server.resources.warnings.custom_resources import CUSTOM_RESOURCE_WARNINGS
from masthead._server.wire.failures import StatusFailure, details_of, qualified
from masthead._server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead._server.resources.allocator import Allocator
    from masthead._server.resources.custom.definition import DefinitionVersion

__all__ = ["behavior_of"]


def behavior_of(version: DefinitionVersion) -> Behavior:
    """Return the behavior of a custom resource in one version."""
    scale = PathScale(version.scale) if version.scale else None
    strategy = _CustomStrategy(version, scale)
    hooks = StrategyHooks(
        admit_create=strategy.admit_create,
        validate_create=strategy.validate_create,
        validate_update=strategy.validate_update,
        validate_status=strategy.validate_status,
    )
    return Behavior(
        defaults=functools.partial(set_defaults, version=version),
        hooks=hooks,
        warnings=CUSTOM_RESOURCE_WARNINGS,
        scale=scale,
    )


class _CustomStrategy:
    """The registry strategy of a custom resource in one version."""

    def __init__(self, version: DefinitionVersion, scale: PathScale | None) -> None:
        self._version = version
        self._scale = scale

    def admit_create(self, found: Plain, _allocate: Allocator) -> StatusFailure | None:
        definition = self._version.definition
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

    def validate_create(self, found: Plain) -> list[FieldError]:
        if errors := self._kind_errors(found):
            return errors
        return [*self._scale_errors(found), *self._embedded_errors(found)]

    def validate_update(self, new: Plain, old: Plain) -> list[FieldError]:
        del old
        if errors := self._kind_errors(new):
            return errors
        return [*self._scale_errors(new), *self._embedded_errors(new)]

    def validate_status(self, new: Plain, old: Plain) -> list[FieldError]:
        del old
        return self._scale.status_errors(new) if self._scale else []

    def _kind_errors(self, found: Plain) -> list[FieldError]:
        """An object of another kind has it beside its fields; see `SchemaCodec.decode`."""
        kind = self._version.definition.kind
        return [invalid("kind", found["kind"], f"must be {kind}")] if "kind" in found else []

    def _scale_errors(self, found: Plain) -> list[FieldError]:
        scale = self._scale
        return [*scale.spec_errors(found), *scale.status_errors(found)] if scale else []

    def _embedded_errors(self, found: Plain) -> list[FieldError]:
        version = self._version
        return embedded_errors(found, version.schema) if version.has_embedded else []
