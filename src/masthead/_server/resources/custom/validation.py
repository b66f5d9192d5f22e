"""Validation of custom resources: the schema, lists with keys, embedded objects and the scale."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from msgspec import UNSET

from masthead._schema.errors import FieldError, invalid
from masthead._schema.list_types import list_errors
from masthead._schema.validation import compile_validator
from masthead._server.resources.custom.object_metadata import embedded_errors

if TYPE_CHECKING:
    from msgspec import UnsetType

    from masthead._schema.validation import Validator
    from masthead._server.resources.custom.definition import DefinitionVersion
    from masthead._server.resources.custom.scale import PathScale
    from masthead._server.wire.plain import Plain

__all__ = ["ObjectValidator"]


class ObjectValidator:
    """Validates the objects of a custom resource in one version.

    Objects come as `SchemaCodec` returns them: without kind and apiVersion, unless the kind is another one.

    Args:
        version: The version.
        scale: Where it has its replicas; None if it has no scale.
    """

    def __init__(self, version: DefinitionVersion, scale: PathScale | None) -> None:
        self._version = version
        self._scale = scale
        self._head = {"apiVersion": version.gvk.api_version, "kind": version.gvk.kind}

    @functools.cached_property
    def _validator(self) -> Validator:
        return compile_validator(self._version.schema)

    @functools.cached_property
    def _status_validator(self) -> Validator | None:
        status = self._version.schema.properties.get("status")
        return None if status is None else compile_validator(status)

    def create_errors(self, found: Plain) -> list[FieldError]:
        """Return what is wrong with a new object, besides its metadata."""
        return self._kind_errors(found) or [
            *self._schema_errors(found),
            *self._scale_errors(found),
            *self._embedded_errors(found),
            *list_errors(found, self._version.schema),
        ]

    def update_errors(self, new: Plain, old: Plain) -> list[FieldError]:
        """Return what is wrong with a change; what was wrong before and did not change does not count."""
        return self._kind_errors(new) or [
            *self._schema_errors(new, old),
            *self._scale_errors(new),
            *self._embedded_errors(new),
            *self._new_list_errors(new, old),
        ]

    def status_errors(self, new: Plain, old: Plain) -> list[FieldError]:
        """Return what is wrong with a change of the status."""
        errors: list[FieldError] = []
        if "status" in new and self._status_validator is not None:
            errors += self._status_validator.errors(new["status"], old.get("status"), path="status")
        if self._scale is not None:
            errors += self._scale.status_errors(new)
        return [*errors, *self._new_list_errors(new, old)]

    def _kind_errors(self, found: Plain) -> list[FieldError]:
        """An object of another kind or version has these beside its fields."""
        names = (name for name in ("kind", "apiVersion") if name in found)
        return [invalid(name, found[name], f"must be {self._head[name]}") for name in names]

    def _schema_errors(self, new: Plain, old: Plain | UnsetType = UNSET) -> list[FieldError]:
        head = self._head
        before = UNSET if old is UNSET else {**head, **old}
        return self._validator.errors({**head, **new}, before)

    def _scale_errors(self, found: Plain) -> list[FieldError]:
        scale = self._scale
        return [*scale.spec_errors(found), *scale.status_errors(found)] if scale else []

    def _embedded_errors(self, found: Plain) -> list[FieldError]:
        version = self._version
        return embedded_errors(found, version.schema) if version.has_embedded else []

    def _new_list_errors(self, new: Plain, old: Plain) -> list[FieldError]:
        errors = list_errors(new, self._version.schema)
        # Duplicates anywhere in the stored object excuse those of the new one.
        return errors if errors and not list_errors(old, self._version.schema) else []
