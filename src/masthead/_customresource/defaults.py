"""The defaults of a class as defaults of its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET

from masthead._customresource.rendering import with_integers
from masthead._meta import shape, wire
from masthead._meta.apitype import ApiType, defaults_in
from masthead._meta.implicit import Factory
from masthead._meta.walk import to_encode
from masthead.errors import CustomResourceError, InvalidValueError

if TYPE_CHECKING:
    from masthead._schema.schema import Json, Schema

__all__ = ["MISSING", "declared_default", "schema_default"]

MISSING: Final = msgspec.NODEFAULT
"""The default of a field that has none: it is required."""


def declared_default(cls: ApiType, attribute: str) -> object:
    """Return the default of a field as its class body gives it, or MISSING."""
    for base in cls.__mro__:
        if isinstance(base, ApiType) and attribute in base.declared:
            return defaults_in(base).get(attribute, MISSING)
    return MISSING


def schema_default(cls: ApiType, attribute: str, schema: Schema, path: str) -> Json:
    """Return the default that the server sets for a field, as plain JSON; UNSET if it sets none.

    A field whose default is an empty list or map is optional, and reads as empty: the server need not write that. The same
    holds for an empty type, unless fields of it have defaults, which apply only where the type itself is present.

    Raises:
        CustomResourceError: If the default is not a value of the field.
    """
    given = declared_default(cls, attribute)
    if given is MISSING or given is None:
        return UNSET
    if isinstance(given, Factory):
        return _empty(schema) if isinstance(given.make, ApiType) else UNSET
    if given in ([], {}):
        return UNSET
    plain = plain_default(cls, attribute, given, path)
    return _empty(schema) if plain == {} and schema.properties else plain


def plain_default(cls: ApiType, attribute: str, given: object, path: str) -> Json:
    """Return a default as plain JSON.

    Raises:
        CustomResourceError: If it is not a value of the field.
    """
    try:
        built = shape.fields_by_attribute(cls)[attribute].build(given, shape.FROM_CODE)
        return with_integers(wire.decode_plain(wire.encode(to_encode(built))))
    except shape.ShapeError as fault:
        where = fault.path.partition(".")[2]
        raise CustomResourceError(
            f"the default is invalid: {f'{where}: ' if where else ''}{fault.problem}", path=path
        ) from None
    except InvalidValueError as error:
        raise CustomResourceError(f"the default is invalid: {error}", path=path) from None


def _empty(schema: Schema) -> Json:
    has_defaults = any(each.has_default for each in schema.properties.values())
    return {} if has_defaults and not schema.required else UNSET
