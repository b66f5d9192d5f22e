"""Plain data, read into the fields of a kind as kube-apiserver does it after a strategic merge patch.

It does not decode JSON then, but converts one value after the other. So the errors have other words, whole
floats are integers, integers that are too large wrap around, and unknown fields are reported in the order of
their names.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, cast

from masthead_server.resources.go_decoder import GoList, GoMap, GoStruct, decoder_of
from masthead_server.resources.go_values import (
    ByteString,
    Decoding,
    Integer,
    IntOrString,
    Mismatch,
    QuantityText,
    Scalar,
    TimeText,
)
from masthead_server.wire.go_base64 import decode_base64
from masthead_server.wire.go_json import type_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.apitype import ApiType
    from masthead_server.resources.go_values import GoValue
    from masthead_server.wire.plain import Plain

__all__ = ["restore"]

_KINDS: Final[Mapping[type, str]] = {
    dict: "map",
    list: "slice",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}
_BITS: Final[Mapping[str, int]] = {"int32": 32, "int64": 64, "uint8": 8}
_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)


def restore(content: Plain, cls: ApiType) -> tuple[Plain, list[str]]:
    """Convert the values of an object to those of its kind, and drop fields that it does not have.

    Returns:
        The object, and the paths of the fields that were dropped, sorted.

    Raises:
        Mismatch: If a value has the wrong type.
        StatusFailure: If its lists have too many items.
    """
    decoding = Decoding()
    return _struct(content, decoder_of(cls).root, "", decoding), sorted(decoding.unknown)


def _value(value: object, wanted: GoValue, path: str, decoding: Decoding) -> object:
    if value is None:
        return {} if isinstance(wanted, GoStruct) else wanted.zero
    match wanted:
        case GoStruct():
            if not isinstance(value, dict):
                raise Mismatch(f"cannot restore struct from: {_KINDS[type(value)]}")
            return _struct(cast("Plain", value), wanted, path, decoding)
        case GoList():
            if not isinstance(value, list):
                raise Mismatch(f"cannot restore slice from {_KINDS[type(value)]}")
            items = cast("list[object]", value)
            decoding.add_items(len(items), are_structs=isinstance(wanted.item, GoStruct))
            return [_value(item, wanted.item, f"{path}[{index}]", decoding) for index, item in enumerate(items)]
        case GoMap():
            if not isinstance(value, dict):
                raise Mismatch(f"cannot restore map from {_KINDS[type(value)]}")
            # The path has no key, because the server forgets it.
            fields = cast("Plain", value).items()
            return {key: _value(field, wanted.item, path, decoding) for key, field in fields}
        case _:
            return _scalar(value, wanted)


def _struct(value: Plain, wanted: GoStruct, path: str, decoding: Decoding) -> Plain:
    prefix = f"{path}." if path else ""
    fields = wanted.fields
    decoding.unknown += [prefix + key for key in value if key not in fields]
    restored = {
        key: _value(value[key], field, prefix + key, decoding)
        for key, field in fields.items()
        if value.get(key) is not None
    }
    # Converted in the order of the fields, as the first error counts; written in the order in which they came.
    return {key: restored[key] for key in value if key in restored}


def _scalar(value: object, wanted: GoValue) -> object:
    match wanted:
        case Integer():
            return _integer(value, "int64" if wanted.go_type == "int64" else "int32")
        case Scalar():
            return _plain(value, wanted)
        case ByteString():
            return _bytes(value)
        case TimeText():
            # Their own decoders report errors, in the order of the fields.
            return wanted.clean(_check_json(value, str, "string"), Decoding(), "")
        case IntOrString():
            return value if isinstance(value, str) else _check_int32(_whole(value))
        case QuantityText():
            return wanted.clean(_whole(value), Decoding(), "")
        case _:  # free-form JSON, and schemas of definitions, which have a decoder of their own
            return value


def _plain(value: object, wanted: Scalar) -> object:
    kind = _KINDS[type(wanted.zero)] if isinstance(wanted.zero, str | bool) else "float64"
    found = _KINDS[type(value)]
    if found == kind or (kind == "float64" and found == "int64"):
        return value
    # Go converts integers to strings, as code points, so it calls the types convertible.
    if (found, kind) == ("int64", "string"):
        raise Mismatch(f"cannot convert int64 to {wanted.go_type}")
    raise Mismatch(f"unrecognized type: {kind}")


def _check_json(value: object, wanted: type, name: str) -> object:
    """Check a value that has its own JSON decoder."""
    if type(value) is not wanted:
        found = type_name(value)
        shown = f"number {value}" if found == "number" and wanted is int else found
        raise Mismatch(f"json: cannot unmarshal {shown} into Go value of type {name}")
    return value


def _check_int32(value: object) -> object:
    """Check an integer that has its own JSON decoder."""
    whole = cast("int", _check_json(value, int, "int32"))
    if whole not in _INT32:
        raise Mismatch(f"json: cannot unmarshal number {whole} into Go value of type int32")
    return whole


def _whole(value: object) -> object:
    """Go writes a whole float as an integer before it decodes it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _bytes(value: object) -> object:
    if isinstance(value, str):
        try:
            decode_base64(value)
        except ValueError as error:
            raise Mismatch(f"error decoding from json: {error}") from None
        return value
    if isinstance(value, list):
        items = cast("list[object]", value)
        octets = bytes(0 if item is None else _integer(item, "uint8") for item in items)
        return base64.b64encode(octets).decode()
    raise Mismatch(f"cannot restore slice from {_KINDS[type(value)]}")


def _integer(value: Any, name: str) -> int:  # noqa: ANN401 - plain data
    if type(value) is float:
        if not value.is_integer():
            raise Mismatch(f"cannot convert float64 to {name}")
        value = int(value)
    if type(value) is not int:
        raise Mismatch(f"unrecognized type: {name}")
    # What a processor makes of a float that is too large.
    whole = value if value in _INT64 else _INT64.start
    bits = _BITS[name]
    half = 0 if name == "uint8" else 1 << (bits - 1)
    return (whole + half) % (1 << bits) - half
