"""Validation of what a version of a definition has besides its schema: subresources, columns, selectable fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, invalid, required, too_many
from masthead._schema.rule_paths import FieldPathError, resolve_field_path
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead._schema.schema import Schema
    from masthead_server.resources.behavior import Errors

__all__ = ["column_errors", "deprecation_errors", "selectable_errors", "subresource_errors"]

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES: Final = frozenset({"string", "boolean", "integer"})
_MAX_SELECTABLE: Final = 8
_MAX_WARNING_LENGTH: Final = 256


def deprecation_errors(version: Plain, path: str) -> Errors:
    """Return the errors of the warning that users of a deprecated version get."""
    warning = version.get("deprecationWarning")
    if not isinstance(warning, str):
        return []
    path = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        return [invalid(path, warning, "can only be set for deprecated versions")]
    errors: Errors = []
    # Bytes, although the message says characters: Go's len counts bytes.
    if len(warning.encode()) > _MAX_WARNING_LENGTH:
        errors.append(invalid(path, warning, f"must be <= {_MAX_WARNING_LENGTH} characters long"))
    if not warning:
        errors.append(invalid(path, warning, "must not be an empty string"))
    at = next((index for index, item in enumerate(warning) if not item.isprintable()), None)
    if at is not None:
        # The index counts bytes, too.
        index = len(warning[:at].encode())
        why = f"must only contain printable UTF-8 characters; non-printable character found at index {index}"
        errors.append(invalid(path, warning, why))
    return errors


def subresource_errors(subresources: Plain | None, path: str) -> Errors:
    """Return the errors of subresources: of the paths that scale reads and writes."""
    if subresources is None or subresources.get("scale") is None:
        return []
    scale, path = part(subresources, "scale"), f"{path}.scale"
    errors: Errors = []
    for name, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        # The trailing dot in the root asks for a field below spec or status, not for the whole.
        if not text(scale, name):
            errors.append(required(f"{path}.{name}"))
        else:
            why = f"should be a json path under {root[:-1]}"
            errors += _scale_path_errors(text(scale, name), f"{path}.{name}", (root,), why)
    if selector := text(scale, "labelSelectorPath"):
        why = "should be a json path under either .spec or .status"
        errors += _scale_path_errors(selector, f"{path}.labelSelectorPath", (".spec.", ".status."), why)
    return errors


def _scale_path_errors(value: str, path: str, roots: tuple[str, ...], why: str) -> Errors:
    if errors := _json_path_errors(value, path):
        return errors
    return [] if value.startswith(roots) else [invalid(path, value, why)]


def _json_path_errors(value: str, path: str) -> Errors:
    return [] if value.startswith(".") else [invalid(path, value, "must be a simple json path starting with .")]


def column_errors(columns: list[Plain], path: str) -> Errors:
    """Return the errors of printer columns."""
    errors: Errors = []
    for index, column in enumerate(columns):
        at = f"{path}.additionalPrinterColumns[{index}]"
        kind, form, json_path = text(column, "type"), text(column, "format"), text(column, "jsonPath")
        if not text(column, "name"):
            errors.append(required(f"{at}.name"))
        if not kind:
            errors.append(required(f"{at}.type", f"must be one of {','.join(_COLUMN_TYPES)}"))
        elif kind not in _COLUMN_TYPES:
            errors.append(invalid(f"{at}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}"))
        if form and form not in _COLUMN_FORMATS:
            errors.append(invalid(f"{at}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
        if not json_path:
            # kube-apiserver writes this path in capitals.
            errors.append(required(f"{at}.JSONPath"))
        else:
            errors += _json_path_errors(json_path, f"{at}.JSONPath")
    return errors


def selectable_errors(fields: list[Plain], schema: Schema, path: str, *, may_be_many: bool = False) -> Errors:
    """Return the errors of selectable fields.

    Args:
        fields: The fields.
        schema: The schema that has them.
        path: The path of the list.
        may_be_many: Whether there may be more than the limit, because there were before.
    """
    errors: Errors = []
    seen: set[str] = set()
    for index, selectable in enumerate(fields):
        at, json_path = f"{path}[{index}].jsonPath", text(selectable, "jsonPath")
        if not json_path:
            errors.append(required(at))
            continue
        try:
            found, field = resolve_field_path(json_path, schema, allow_brackets=False)
        except FieldPathError as error:
            errors.append(invalid(at, json_path, f"is an invalid path: {error}"))
            continue
        if found.partition(".")[0] == "metadata":
            errors.append(invalid(at, json_path, "must not point to fields in metadata"))
        if field.type not in _SELECTABLE_TYPES:
            types = "must point to a field of type string, boolean or integer."
            why = f"{types} Enum string fields and strings with formats are allowed."
            errors.append(invalid(at, json_path, why))
        # Two spellings of one path are duplicates, so that the resolved path is compared.
        if found in seen:
            errors.append(duplicate(at, json_path))
        seen.add(found)
    # Only resolved paths count, as in kube-apiserver.
    if len(seen) > _MAX_SELECTABLE and not may_be_many:
        errors.append(too_many(path, len(seen), _MAX_SELECTABLE))
    return errors
