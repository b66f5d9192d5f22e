"""Structural schemas: the rules that the schema of a custom resource follows, so that every field has one type.

Types, defaults and extensions stand where a value is defined, and nowhere else: ``allOf``, ``anyOf``, ``oneOf`` and
``not`` only restrict values that are defined outside of them. Pruning and defaulting stand on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead._schema.errors import FieldError, forbidden, invalid, required
from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["structural_errors"]

_ROOT: Final = "at the root"
_ITEM: Final = "for specified array items"
_FIELD: Final = "for specified object fields"
_INT_OR_STRING: Final = (Schema(type="integer"), Schema(type="string"))
_MAX_INSTRUCTIONS: Final = 20_000_000
"""How large all patterns of a schema may be together: it takes a microsecond to make ten instructions."""
_REFUSED: Final = 20_000
"""What a pattern counts that is found to be wrong, which may be after so many instructions."""
_NAMES: Final = frozenset({"name", "generateName"})
"""The fields of an object's metadata that a schema may restrict."""


def structural_errors(schema: Schema, path: str) -> list[FieldError]:
    """Return why a schema is not structural; nothing if it is.

    Args:
        schema: The schema of a custom resource.
        path: The path of the schema in its definition.
    """
    errors = _errors(schema, _ROOT, path)
    errors += _undefined_errors(schema, schema, path, path)
    errors += _pattern_errors(schema, path)
    # In an order that does not depend on the order of fields.
    return sorted(errors, key=str)


def _errors(schema: Schema, level: str, path: str) -> list[FieldError]:
    """Check a schema that defines a value, and those of its fields and items."""
    errors: list[FieldError] = []
    if schema.items is not None:
        errors += _errors(schema.items, _ITEM, f"{path}.items")
    # Items of an unspecified type could not be pruned or defaulted.
    elif schema.type == "array":
        errors.append(required(f"{path}.items", "must be specified"))
    for name, field in schema.properties.items():
        errors += _errors(field, _FIELD, f"{path}.properties[{name}]")
    errors += _additional_errors(schema, level, path)
    errors += _extension_errors(schema, path)
    # The two spellings of "integer or string" are allowed at this level only.
    errors += _restriction_errors(schema, path, may_be_int_or_string=True, first_may_be=True)
    errors += _type_errors(schema, level, path)
    if schema.properties:
        errors += _meta_errors(schema, level, path)
    # Otherwise pruning would remove everything but the head of the object.
    elif schema.embedded_resource and not schema.preserve_unknown:
        needs = "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        errors.append(required(f"{path}.properties", f"must not be empty if {needs}"))
    return errors


def _additional_errors(schema: Schema, level: str, path: str) -> list[FieldError]:
    if schema.additional_properties is None:
        return []
    path = f"{path}.additionalProperties"
    errors: list[FieldError] = []
    # A custom resource has apiVersion, kind and metadata, so it cannot be a map.
    if level is _ROOT:
        errors.append(forbidden(path, "must not be used at the root"))
    if isinstance(schema.additional_properties, Schema):
        errors += _errors(schema.additional_properties, _FIELD, path)
    if schema.embedded_resource:
        errors.append(forbidden(path, "must not be used if x-kubernetes-embedded-resource is set"))
    return errors


def _extension_errors(schema: Schema, path: str) -> list[FieldError]:
    # The extensions exclude each other: an integer or string has no fields.
    if not schema.int_or_string:
        return []
    why = "must be false if x-kubernetes-int-or-string is true"
    excluded = {
        "x-kubernetes-preserve-unknown-fields": schema.preserve_unknown,
        "x-kubernetes-embedded-resource": schema.embedded_resource,
    }
    return [invalid(f"{path}.{name}", True, why) for name, is_set in excluded.items() if is_set]


def _type_errors(schema: Schema, level: str, path: str) -> list[FieldError]:
    path = f"{path}.type"
    errors: list[FieldError] = []
    if schema.embedded_resource:
        if schema.type != "object":
            why = "must be object if x-kubernetes-embedded-resource is true"
            errors.append(invalid(path, schema.type, why) if schema.type else required(path, why))
    # Pruning needs one of the three.
    elif not schema.type and not schema.int_or_string and not schema.preserve_unknown:
        errors.append(required(path, f"must not be empty {level}"))
    if level is _ROOT and schema.type and schema.type != "object":
        errors.append(invalid(path, schema.type, "must be object at the root"))
    return errors


def _meta_errors(schema: Schema, level: str, path: str) -> list[FieldError]:
    """Check the schemas of kind, apiVersion and metadata, which are those of every object."""
    is_object = level is _ROOT or schema.embedded_resource
    errors: list[FieldError] = []
    for name in ("kind", "apiVersion"):
        field = schema.properties.get(name)
        if is_object and field is not None and field.type != "string":
            errors.append(invalid(f"{path}.properties[{name}].type", field.type, "must be string"))
    metadata = schema.properties.get("metadata")
    if metadata is None:
        return errors
    path = f"{path}.properties[metadata]"
    if is_object and metadata.type != "object":
        errors.append(invalid(f"{path}.type", metadata.type, "must be object"))
    # The server validates metadata itself; a definition may only restrict names.
    if level is _ROOT and not _restricts_names_only(metadata):
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        errors.append(forbidden(path, why))
    return errors


def _restricts_names_only(metadata: Schema) -> bool:
    properties = {} if metadata.properties.keys() <= _NAMES else metadata.properties
    # A default is refused where the schema as a whole is checked.
    rest = msgspec.structs.replace(metadata, type="", properties=properties, default=msgspec.UNSET)
    return rest == Schema()


def _restriction_errors(
    schema: Schema, path: str, *, may_be_int_or_string: bool = False, first_may_be: bool = False
) -> list[FieldError]:
    """Check ``anyOf`` and so on, which restrict a value beyond its definition.

    Args:
        schema: The schema.
        path: Its path.
        may_be_int_or_string: Whether ``anyOf`` may be integer or string, and have types then.
        first_may_be: Whether ``anyOf`` of the first of ``allOf`` may be that.
    """
    errors: list[FieldError] = []
    # Types inside conditions are forbidden, with the exception of this idiom.
    if not (may_be_int_or_string and _is_int_or_string(schema.any_of)):
        for index, alternative in enumerate(schema.any_of):
            errors += _condition_errors(alternative, f"{path}.anyOf[{index}]")
    for index, alternative in enumerate(schema.all_of):
        may_be = first_may_be and index == 0
        errors += _condition_errors(alternative, f"{path}.allOf[{index}]", may_be_int_or_string=may_be)
    for index, alternative in enumerate(schema.one_of):
        errors += _condition_errors(alternative, f"{path}.oneOf[{index}]")
    if schema.not_ is not None:
        errors += _condition_errors(schema.not_, f"{path}.not")
    return errors


def _is_int_or_string(schemas: tuple[Schema, ...]) -> bool:
    # To allow no further fields is to say nothing, here.
    plain = (
        msgspec.structs.replace(schema, additional_properties=schema.additional_properties or None)
        for schema in schemas
    )
    return len(schemas) == len(_INT_OR_STRING) and tuple(plain) == _INT_OR_STRING


def _condition_errors(schema: Schema, path: str, *, may_be_int_or_string: bool = False) -> list[FieldError]:
    """Check a schema that only restricts a value which is defined elsewhere."""
    errors = _restriction_errors(schema, path, may_be_int_or_string=may_be_int_or_string)
    if schema.items is not None:
        errors += _condition_errors(schema.items, f"{path}.items")
    for name, field in schema.properties.items():
        errors += _condition_errors(field, f"{path}.properties[{name}]")
    errors += [
        forbidden(f"{path}.{name}", f"must be {needs} to be structural") for name, needs in _iter_misplaced(schema)
    ]
    # Conditions on metadata would bypass the rule for names above.
    if "metadata" in schema.properties:
        errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return errors


def _iter_misplaced(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the fields that may stand only where a value is defined, and what they must be instead."""
    found = (
        ("type", "empty", schema.type),
        ("additionalProperties", "undefined", schema.additional_properties),
        ("default", "undefined", schema.has_default),
        ("title", "empty", schema.title),
        ("description", "empty", schema.description),
        ("nullable", "false", schema.nullable),
        ("x-kubernetes-preserve-unknown-fields", "false", schema.preserve_unknown),
        ("x-kubernetes-embedded-resource", "false", schema.embedded_resource),
        ("x-kubernetes-int-or-string", "false", schema.int_or_string),
        ("x-kubernetes-list-map-keys", "empty", schema.list_map_keys),
        ("x-kubernetes-list-type", "undefined", schema.list_type is not None),
        ("x-kubernetes-map-type", "undefined", schema.map_type is not None),
        ("x-kubernetes-validations", "empty", schema.rules),
    )
    return ((name, needs) for name, needs, is_set in found if is_set)


def _undefined_errors(restricts: Schema, defines: Schema, path: str, restricts_path: str) -> list[FieldError]:
    """Find fields and items that are restricted without being defined.

    Args:
        restricts: A schema, whose ``allOf`` and so on restrict values.
        defines: The schema that defines them.
        path: The path of `defines`.
        restricts_path: The path of `restricts`.
    """
    nested: list[tuple[Schema, str]] = []
    if restricts.not_ is not None:
        nested.append((restricts.not_, f"{restricts_path}.not"))
    for name, schemas in (
        ("allOf", restricts.all_of),
        ("anyOf", restricts.any_of),
        ("oneOf", restricts.one_of),
    ):
        nested += [(alternative, f"{restricts_path}.{name}[{index}]") for index, alternative in enumerate(schemas)]
    errors: list[FieldError] = []
    for restriction, at in nested:
        errors += _undefined_below(restriction, defines, path, at)
    return errors


def _undefined_below(restricts: Schema, defines: Schema, path: str, at: str) -> list[FieldError]:
    errors = _undefined_errors(restricts, defines, path, at)
    if restricts.items is not None:
        # A condition cannot introduce items or fields: pruning only knows the definition.
        if defines.items is None:
            errors.append(required(f"{path}.items", f"because it is defined in {at}.items"))
        else:
            errors += _undefined_below(restricts.items, defines.items, f"{path}.items", f"{at}.items")
    for name, field in restricts.properties.items():
        below, field_at = f"{path}.properties[{name}]", f"{at}.properties[{name}]"
        if (defined := defines.properties.get(name)) is None:
            errors.append(required(below, f"because it is defined in {field_at}"))
        else:
            errors += _undefined_below(field, defined, below, field_at)
    return errors


def _pattern_errors(schema: Schema, path: str) -> list[FieldError]:
    """Find patterns that are not regular expressions, anywhere in a schema."""
    patterns = list(_patterns(schema, path))
    if not patterns:
        return []
    from masthead._regexp.syntax import PatternError, parse

    problems: dict[str, str] = {}
    left = _MAX_INSTRUCTIONS
    for pattern in dict.fromkeys(text for text, _ in patterns):
        try:
            # differs from kube-apiserver, which takes any number of patterns, each up to 3.3 million instructions.
            left -= len(parse(pattern)) if left > 0 else 0
            problems[pattern] = "" if left > 0 else str(PatternError("expression too large", pattern))
        except PatternError as error:
            problems[pattern] = str(error)
            # Refusing a pattern costs time, too.
            left -= _REFUSED
    return [
        invalid(at, pattern, f"must be a valid regular expression, but isn't: {problems[pattern]}")
        for pattern, at in patterns
        if problems[pattern]
    ]


def _patterns(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    # Iterative, because definitions may nest deeply.
    waiting = [(schema, path)]
    while waiting:
        found, at = waiting.pop()
        if found.pattern:
            yield found.pattern, f"{at}.pattern"
        for name, schemas in (("allOf", found.all_of), ("anyOf", found.any_of), ("oneOf", found.one_of)):
            waiting += [(alternative, f"{at}.{name}[{index}]") for index, alternative in enumerate(schemas)]
        waiting += [(nested, f"{at}.properties[{name}]") for name, nested in found.properties.items()]
        single = (
            ("not", found.not_),
            ("items", found.items),
            ("additionalProperties", found.additional_properties),
        )
        waiting += [(inner, f"{at}.{name}") for name, inner in single if isinstance(inner, Schema)]
