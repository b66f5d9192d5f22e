"""The schemas that pydantic asks for: how values of our types are validated, serialized and described.

Nested types have no schemas here, because our decoder and encoder handle whole values. Only a JSON schema visits nested
types.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast, get_args

from pydantic_core import PydanticSerializationUnexpectedValue, SchemaSerializer, core_schema, to_jsonable_python

from masthead._meta.model import Struct
from masthead._meta.object import Object, ObjectList
from masthead._meta.quantity import Quantity
from masthead._meta.time import MicroTime, format_micro_time
from masthead._pydantic.json_schemas import QUANTITY, TIME, describe_type, reference_of
from masthead._pydantic.validation import build_list, build_micro_time, build_quantity, build_struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core.core_schema import (
        CoreSchema,
        SerializationInfo,
        SerSchema,
        ValidatorFunctionWrapHandler,
    )

    from masthead._meta.apitype import ApiType

__all__ = ["micro_time_schema", "quantity_schema", "quantity_serializer", "struct_schema", "struct_serializer"]


def struct_schema(cls: type[Struct], source: object) -> CoreSchema:
    """Return the schema of an API type.

    Args:
        cls: The class.
        source: The annotation: the class, or ``ObjectList[Pod]``.
    """
    declared = cast("type[Struct]", cast("ApiType", cls).api_type)
    item = next(iter(get_args(source)), None)
    if isinstance(item, type) and issubclass(item, Object):
        return _list_schema(cast("type[ObjectList[Any]]", declared), item)

    def build(value: object, _: ValidatorFunctionWrapHandler) -> object:
        return build_struct(declared, value)

    return _schema(build, declared, ())


def _list_schema(cls: type[ObjectList[Any]], item: type[Object]) -> CoreSchema:
    def build(value: object, _: ValidatorFunctionWrapHandler) -> object:
        return build_list(item, value)

    return _schema(build, cls, (cast("ApiType", item),))


def _schema(
    build: Callable[[object, ValidatorFunctionWrapHandler], object], cls: type[Struct], arguments: tuple[ApiType, ...]
) -> CoreSchema:
    # pydantic names the members of a union after their functions, in the place of an error.
    build.__name__ = cls.__name__
    api_type = cast("ApiType", cls)
    return core_schema.no_info_wrap_validator_function(
        build,
        _head_schema(cls),
        ref=reference_of(api_type, arguments),
        serialization=_serialization(cls),
        metadata={"pydantic_js_functions": [functools.partial(describe_type, api_type, arguments)]},
    )


def _head_schema(cls: type[Struct]) -> CoreSchema:
    """Return a schema of apiVersion and kind: no value is validated with it, but a union is discriminated by it."""
    gvk = getattr(cls, "GVK", None)
    if gvk is None or not gvk.kind:
        return core_schema.any_schema()
    fixed = {"apiVersion": gvk.api_version, "kind": gvk.kind}
    return core_schema.typed_dict_schema(
        {name: core_schema.typed_dict_field(core_schema.literal_schema([value])) for name, value in fixed.items()}
    )


def _serialization(cls: type[Struct]) -> SerSchema:
    def dump(value: object, info: SerializationInfo[Any]) -> object:
        # The value of a field may have been replaced without validation; pydantic then warns, and tries other types.
        if not isinstance(value, cls):
            raise PydanticSerializationUnexpectedValue(f"expected {cls.__name__}, got {type(value).__name__}")
        data = value.to_dict()
        if info.include is None and info.exclude is None:
            return data
        # pydantic does not apply these to the result of a function, and a field that was excluded must not leak.
        return to_jsonable_python(data, include=cast("Any", info.include), exclude=cast("Any", info.exclude))

    return core_schema.plain_serializer_function_ser_schema(dump, info_arg=True)


@functools.cache
def struct_serializer() -> SchemaSerializer:
    """Return the serializer of all API types, for values in fields that are annotated as anything."""
    return SchemaSerializer(core_schema.any_schema(serialization=_serialization(Struct)))


@functools.cache
def quantity_serializer() -> SchemaSerializer:
    """Return the serializer of quantities, for values in fields that are annotated as anything."""
    return SchemaSerializer(quantity_schema())


def quantity_schema() -> CoreSchema:
    """Return the schema of a quantity: text or a number, serialized as text."""
    return _scalar_schema(build_quantity, str, Quantity, QUANTITY)


def micro_time_schema() -> CoreSchema:
    """Return the schema of a MicroTime: RFC 3339 text, serialized with six digits."""
    return _scalar_schema(build_micro_time, format_micro_time, MicroTime, TIME)


def _scalar_schema(
    build: Callable[[object], object], dump: Callable[[Any], str], cls: type, json_schema: dict[str, Any]
) -> CoreSchema:
    def dump_checked(value: object) -> str:
        if not isinstance(value, cls):
            raise PydanticSerializationUnexpectedValue(f"expected {cls.__name__}, got {type(value).__name__}")
        return dump(value)

    def describe(_: object, __: object) -> dict[str, Any]:
        # A copy, because pydantic changes what it gets.
        return dict(json_schema)

    return core_schema.no_info_plain_validator_function(
        build,
        serialization=core_schema.plain_serializer_function_ser_schema(dump_checked),
        metadata={"pydantic_js_functions": [describe]},
    )
