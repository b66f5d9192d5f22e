"""Validation of the defaults in a schema: each is a value that its schema accepts, without unknown fields."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from msgspec import structs

from masthead._schema.defaulting import copy_json
from masthead._schema.errors import FieldError, gather, invalid
from masthead._schema.prune import META_FIELDS, prune
from masthead._schema.rules import compile_rules
from masthead._schema.schema import Schema
from masthead._schema.validation import compile_validator
from masthead_server.resources.custom.object_metadata import embedded_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._schema.schema import Json
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["default_errors", "has_unpruned_default"]

_TYPE: Final = {"kind": "Validation", "apiVersion": "validation/v1"}
"""The type of an object that has no other."""


class _Place(NamedTuple):
    """The position of a schema within the object.

    Attributes:
        root: The schema of the whole object.
        steps: The fields on the way; None for an item of a list.
        is_meta: Whether it is part of the object's type or metadata.
    """

    root: Schema
    steps: tuple[str | None, ...] = ()
    is_meta: bool = False

    def item(self) -> _Place:
        return self._replace(steps=(*self.steps, None))

    def field(self, name: str, *, is_meta: bool) -> _Place:
        return self._replace(steps=(*self.steps, name), is_meta=self.is_meta or is_meta)

    def around(self, value: Json) -> Plain:
        """Return a whole object that has a value in this place."""
        for step in reversed(self.steps):
            value = [value] if step is None else {step: value}
        return _TYPE | cast("Plain", value)


def default_errors(schema: Schema, path: str, *, may_have_unknown: bool = False) -> Errors:
    """Return the errors of the defaults in a structural schema.

    Args:
        schema: The schema of a custom resource.
        path: Its path in the definition.
        may_have_unknown: Whether defaults may have unknown fields, because they had before.
    """
    # The root is an object with kind, apiVersion and metadata, whatever the schema declares.
    root = structs.replace(schema, embedded_resource=True)
    return _errors(root, path, _Place(root), may_have_unknown=may_have_unknown)


def has_unpruned_default(schema: Schema) -> bool:
    """Tell whether a default has unknown fields."""
    return any(entry.has_default and _is_unpruned(entry) for entry in _all_below(schema))


def _errors(schema: Schema, path: str, place: _Place, *, may_have_unknown: bool) -> Errors:
    # The metadata of an embedded object is validated within that object, not within the outer one.
    if schema.embedded_resource:
        place = _Place(schema)
    errors: Errors = []
    # A null default means no default.
    if schema.has_default and schema.default is not None:
        if place.is_meta:
            errors += _meta_errors(schema, f"{path}.default", place)
        else:
            errors += _value_errors(schema, f"{path}.default", may_have_unknown=may_have_unknown)
    # Defaults of a map's values have no place of their own, and are not checked.
    if schema.items is not None:
        errors += _errors(schema.items, f"{path}.items", place.item(), may_have_unknown=may_have_unknown)
    for name, field in schema.properties.items():
        below = place.field(name, is_meta=schema.embedded_resource and name in META_FIELDS)
        errors += _errors(field, f"{path}.properties[{name}]", below, may_have_unknown=may_have_unknown)
    return errors


def _meta_errors(schema: Schema, path: str, place: _Place) -> Errors:
    """Check a default within the metadata of an object, which must be valid as a whole."""
    found = gather(lambda: embedded_errors(place.around(copy_json(schema.default)), place.root))
    if found:
        # Go's aggregate prints a single error bare, and several in brackets, without repetitions.
        texts = list(dict.fromkeys(map(str, found)))
        problem = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return [invalid(path, schema.default, f"must result in valid metadata: {problem}")]
    return _type_errors(schema, path)


def _value_errors(schema: Schema, path: str, *, may_have_unknown: bool) -> Errors:
    errors: Errors = []
    if not may_have_unknown and _is_unpruned(schema):
        errors.append(invalid(path, schema.default, "must not have unknown fields"))
    embedded = gather(lambda: embedded_errors(schema.default, schema))
    # kube-apiserver stops here: a value with malformed metadata is not compared with its schema.
    if embedded:
        return errors + [_prefix_path(entry, path) for entry in embedded]
    return errors + _type_errors(schema, path)


def _type_errors(schema: Schema, path: str) -> Errors:
    """Check a default against its schema, and by the rules of that."""
    if errors := compile_validator(_of_any_type(schema)).errors(schema.default, path=path):
        return errors
    if not any(entry.rules for entry in _all_below(schema)):
        return []
    rules = compile_rules(schema, is_root=schema.embedded_resource)
    # As a value that does not change, and as a new one: a rule may use the old value if there is one.
    unchanged = rules.errors(schema.default, schema.default, path=path, ratchets=False)
    return unchanged or rules.errors(schema.default, path=path)


def _of_any_type(schema: Schema) -> Schema:
    """Return a schema in which an integer or string is any value: kube-apiserver checks defaults without this."""
    if not any(entry.int_or_string for entry in _all_below(schema)):
        return schema
    values, items = schema.additional_properties, schema.items
    return structs.replace(
        schema,
        int_or_string=False,
        properties={name: _of_any_type(value) for name, value in schema.properties.items()},
        additional_properties=_of_any_type(values) if isinstance(values, Schema) else values,
        items=_of_any_type(items) if items is not None else None,
    )


def _all_below(schema: Schema) -> Iterator[Schema]:
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += found.children()


def _is_unpruned(schema: Schema) -> bool:
    value = copy_json(schema.default)
    # Pruning changes the copy; a difference shows fields that it dropped without a report.
    return bool(prune(value, schema, is_object=schema.embedded_resource)) or value != schema.default


def _prefix_path(error: FieldError, path: str) -> FieldError:
    """Return an error of a part of the value at a path."""
    dot = "" if error.field.startswith("[") or not error.field else "."
    return replace(error, field=f"{path}{dot}{error.field}")
