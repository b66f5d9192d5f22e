"""Validation of one schema of a definition as a whole, and of what the definition asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.internal import (
    InternalSpec,
    set_fields,
    shown_schema,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.schema_reports import (
    MAX_SCHEMA_DEPTH,
    RatchetingRules,
    SchemaReport,
    make_report,
    report_on,
)
from masthead_server.wire.plain import Plain, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.resources.builtin.apiextensions.customresourcedefinition.ratchet import Ratchet

__all__ = ["reports_on", "review_schemas", "schema_errors", "spec_reports"]

_AT_ROOT: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern"
    " MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example"
    " XPreserveUnknownFields XValidations"
)
"""What the schema of a resource with a status may have at its root: the status is validated without it."""
_FIELD: Final = "openAPIV3Schema"


def review_schemas(sent: Plain) -> None:
    """Make the reports on the schemas of a definition, or of a merge patch of one; safe in any thread."""
    reports_on(sent)


def reports_on(definition: Plain) -> list[SchemaReport]:
    """Return the reports on the schemas of a definition."""
    return spec_reports(InternalSpec.of(definition))


def spec_reports(spec: InternalSpec) -> list[SchemaReport]:
    """Return the reports on the schema that all versions share, and on those of the versions."""
    schemas = [(f"spec.versions[{index}].schema", version.schema) for index, version in enumerate(spec.versions)]
    schemas.insert(0, ("spec.validation", spec.shared.schema))
    return [report_on(schema, f"{path}.{_FIELD}") for path, schema in schemas if schema is not None]


def schema_errors(
    schema: Plain,
    path: str,
    ratchet: Ratchet,
    *,
    has_status: bool,
    is_structural: bool,
    is_unchanged: bool,
) -> Errors:
    """Return the errors of a schema.

    Args:
        schema: The schema of an object.
        path: The path of the validation with the schema.
        ratchet: The violations that an update may leave unchanged.
        has_status: Whether the status is a subresource.
        is_structural: Whether the schema must be structural.
        is_unchanged: Whether the schema was there before; the cost of each of its rules is not limited again.
    """
    path = f"{path}.{_FIELD}"
    report = report_on(schema, path)
    if report.is_too_deep:
        # differs from kube-apiserver, which takes any depth: every operation on a schema would have to.
        return [invalid(path, "", f"must not be nested more than {MAX_SCHEMA_DEPTH} levels deep")]
    if not report.is_clean:
        # Only now, because checking the stored schemas takes as long as checking this one.
        ratcheting = ratchet.ratcheting(is_structural=is_structural, is_unchanged=is_unchanged)
        if ratcheting != RatchetingRules():
            report = make_report(schema, path, ratcheting)
    errors = _root_errors(schema, path) if has_status else []
    if schema.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    errors += [*report.tree, *report.openapi, *report.rules]
    # Only if nothing else explains the failure; the other errors name the unsupported field with its path.
    if report.unsupported and not errors:
        errors.append(invalid(path, "", report.unsupported))
    return errors


def _root_errors(schema: Plain, path: str) -> Errors:
    # The first field that is not allowed ends the check, in the order of Go's struct.
    for name in set_fields(schema):
        if name == "Type":
            if schema["type"] != "object":
                why = (
                    'only "object" is allowed as the type at the root of the schema '
                    "if the status subresource is enabled"
                )
                return [invalid(f"{path}.type", text(schema, "type"), why)]
        elif name not in _AT_ROOT.split():
            why = f"only [{_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
            return [invalid(path, shown_schema(schema), why)]
    return []
