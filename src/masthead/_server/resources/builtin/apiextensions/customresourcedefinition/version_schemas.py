"""Validation of one schema of a definition as a whole: structure, defaults, OpenAPI and rules, in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid
from masthead._schema.rule_definitions import expression_problems
from masthead._schema.structural import structural_errors
from masthead._server.resources.builtin.apiextensions.customresourcedefinition.default_values import (
    default_errors,
)
from masthead._server.resources.builtin.apiextensions.customresourcedefinition.internal import (
    children,
    set_fields,
    shown_schema,
    tree_of,
)
from masthead._server.resources.builtin.apiextensions.customresourcedefinition.schemas import (
    SchemaValidation,
    unsupported_problem,
)
from masthead._server.wire.plain import Plain, text

if TYPE_CHECKING:
    from masthead._schema.schema import Schema
    from masthead._server.resources.behavior import Errors
    from masthead._server.resources.builtin.apiextensions.customresourcedefinition.ratchet import Ratchet

__all__ = ["DEEPEST", "schema_errors"]

DEEPEST: Final = 128
"""Levels of a schema. kube-apiserver has no limit but that of JSON, ten thousand."""
_AT_ROOT: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern"
    " MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example"
    " XPreserveUnknownFields XValidations"
)
"""What the schema of a resource with a status may have at its root: the status is validated without it."""


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
        path: Where the validation stands that has the schema.
        ratchet: What an update may leave as it is.
        has_status: Whether the status is a subresource.
        is_structural: Whether the schema must be structural.
        is_unchanged: Whether the schema was there before; the cost of each of its rules is not limited again.
    """
    path = f"{path}.openAPIV3Schema"
    if is_too_deep(schema):
        # differs from kube-apiserver, which takes any depth: every operation on a schema would have to.
        return [invalid(path, "", f"must not be nested more than {DEEPEST} levels deep")]
    errors = _root_errors(schema, path) if has_status else []
    if schema.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    unsupported = unsupported_problem(schema) if is_structural else ""
    tree = tree_of(schema) if is_structural and not unsupported else None
    tree_errors = _tree_errors(tree, path, ratchet) if tree is not None else []
    errors += tree_errors
    validation = SchemaValidation(
        allows_any_type=ratchet.allows_any_type,
        allows_any_set=ratchet.allows_any_set,
        allows_any_keys=ratchet.allows_any_keys,
    )
    validation.check_root(schema, path)
    errors += validation.errors
    # Rules are compiled against the types of a schema that is otherwise right.
    if tree is not None and not tree_errors and validation.sound:
        errors += expression_problems(tree, path, validation.sound, limits_each=not is_unchanged)
    if unsupported and not errors:
        errors.append(invalid(path, "", unsupported))
    return errors


def _tree_errors(schema: Schema, path: str, ratchet: Ratchet) -> Errors:
    if errors := structural_errors(schema, path):
        return errors
    if errors := default_errors(schema, path):
        # What was there before is looked at only if it is needed.
        may_have_unknown = ratchet.allows_unpruned_defaults
        return default_errors(schema, path, may_have_unknown=True) if may_have_unknown else errors
    return []


def is_too_deep(schema: Plain) -> bool:
    """Tell whether schemas stand within each other more than `DEEPEST` times."""
    level = [schema]
    for _ in range(DEEPEST):
        level = [below for each in level for below in children(each)]
        if not level:
            return False
    return True


def _root_errors(schema: Plain, path: str) -> Errors:
    for name in set_fields(schema):
        if name == "Type":
            if schema["type"] != "object":
                why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
                return [invalid(f"{path}.type", text(schema, "type"), why)]
        elif name not in _AT_ROOT.split():
            why = f"only [{_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
            return [invalid(path, shown_schema(schema), why)]
    return []
