"""Bytes to objects and back: msgspec does the work, `shape` what msgspec cannot.

Decoding tries msgspec's C code with every field known. Only where that refuses (a field of a newer server, a
null where Go has a value type, data that is plainly wrong) the bytes are decoded as plain JSON and built field
by field, which either succeeds or says where the fault is.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead.errors import InvalidValueError
from masthead.meta import shape

if TYPE_CHECKING:
    from collections.abc import Iterator

MALFORMED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_plain_decoder: Final = msgspec.json.Decoder()
_encoder: Final = msgspec.json.Encoder(enc_hook=shape.enc_hook)


@functools.cache
def decoder_for(annotation: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - msgspec takes any annotation
    """The decoder of a type, made once."""
    return msgspec.json.Decoder(annotation, dec_hook=shape.dec_hook)


@functools.cache
def decoder_of(cls: shape.ApiType, attribute: str) -> msgspec.json.Decoder[Any]:
    """The decoder of one field of an API type, made when the field is first looked at."""
    return decoder_for(cast("Any", shape.annotations_of(cls)[attribute]) | None)


def decode_value(
    decoder: msgspec.json.Decoder[Any], target: shape.Shape, data: bytes | str | msgspec.Raw
) -> object:
    """Decode a value, keeping fields that its types do not know.

    Raises:
        Fault: if the bytes are not JSON or do not fit.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        pass  # An unknown field, perhaps; whatever it is, the slow way finds it.
    except MALFORMED as error:
        raise malformed(error) from None
    try:
        return target.build(decode_plain(data), shape.FROM_WIRE)
    except RecursionError as error:
        raise malformed(error) from None


def decode_plain(data: bytes | str | msgspec.Raw) -> Any:  # noqa: ANN401 - any JSON
    """Decode JSON into dicts, lists, strings and numbers.

    Raises:
        Fault: if it is not JSON.
    """
    try:
        return _plain_decoder.decode(data)
    except MALFORMED as error:
        raise malformed(error) from None


def malformed(error: Exception) -> shape.Fault:
    """Put msgspec's complaint about text that is no JSON into our words."""
    if isinstance(error, RecursionError):
        return shape.Fault("nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return shape.Fault(f"not UTF-8 text at byte {error.start}")
    said = str(error)
    if "truncated" in said:
        return shape.Fault("not JSON: the text ends too early")
    return shape.Fault(f"not JSON: {said.removeprefix('JSON is malformed: ')}")


def encode(value: object) -> bytes:
    """Encode compact JSON.

    Raises:
        InvalidValueError: if something in it cannot be written as JSON.
    """
    try:
        return _encoder.encode(value)
    except InvalidValueError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidValueError(f"cannot be written as JSON: {error}", value=value) from None


class _Doubled(dict[str, object]):
    """An object of JSON in which a key stands twice."""

    key: str


def refuse_duplicate_keys(data: bytes | str) -> None:
    """Check that no object in the text has a key twice.

    A server never writes such text, so that only what people may have written is checked.

    Raises:
        Fault: naming the key and where it stands, or if the text is not JSON at all.
    """
    plain = decode_plain(data)
    text = data.encode() if isinstance(data, str) else data
    if msgspec.json.encode(plain) == text:
        return  # It reads and writes back the same, so nothing was lost.
    import json

    try:
        parsed = json.loads(data, object_pairs_hook=_mark_doubled, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        # Python's parser is stricter than msgspec in a corner; what msgspec took is good enough.
        return
    for path, found in _doubled_in(parsed, ()):
        fault = shape.Fault(f'the key "{found.key}" appears twice')
        fault.steps.extend(reversed(path))
        raise fault


def _mark_doubled(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) == len(pairs):
        return unique
    marked = _Doubled(pairs)
    keys = [key for key, _ in pairs]
    marked.key = next(key for key in keys if keys.count(key) > 1)
    return marked


def _doubled_in(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], _Doubled]]:
    if isinstance(value, _Doubled):
        yield path, value
    if isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            yield from _doubled_in(item, (*path, f".{key}"))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _doubled_in(item, (*path, f"[{index}]"))
