"""Bytes to objects and back: msgspec does the work, `shape` what msgspec cannot.

Decoding tries msgspec's C code with every field known. Only where that refuses (a field of a newer server, data
that is plainly wrong) the bytes are decoded as plain JSON and built field by field, which either succeeds or says
where the fault is.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, Union, cast

import msgspec

from masthead._meta import shape, typeinfo
from masthead._meta.apitype import UNKNOWN_FIELDS
from masthead._meta.extended_types import extend_annotation
from masthead._meta.locks import fork_safe_lock
from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.apitype import ApiType

MALFORMED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_plain_decoder: Final = msgspec.json.Decoder()
_widening: Final = fork_safe_lock()
_encoder: Final = msgspec.json.Encoder(enc_hook=shape.enc_hook)


class Reader:
    """Decodes one type, and gets better at what it could not do at first.

    msgspec's C code tries first. What it refuses is built field by field, which succeeds where the bytes have
    fields that the type does not know. Those are remembered, and the reader goes on with a type that has them.
    """

    __slots__ = ("_annotation", "_lessons", "_rules", "_shape", "decode")

    def __init__(self, annotation: object, rules: shape.Rules = shape.FROM_WIRE) -> None:
        self._annotation = annotation
        self._rules = rules
        self._shape = shape.shape_of(annotation)
        self._lessons = 0
        self.decode = _decoder(annotation)
        """The fast way alone; raises msgspec's errors."""

    def read(self, data: bytes | str | msgspec.Raw) -> object:
        """Decode a value, keeping fields that its types do not know.

        Raises:
            ShapeError: If the bytes are not JSON or do not fit.
        """
        try:
            return self.decode(data)
        except msgspec.ValidationError:
            pass
        except MALFORMED as error:
            raise malformed(error) from None
        try:
            value = self._shape.build(decode_plain(data), self._rules)
        except RecursionError as error:
            raise malformed(error) from None
        if self._lessons != UNKNOWN_FIELDS.count:
            self._widen()
        return value

    def _widen(self) -> None:
        with _widening:  # or a decoder that knows less could replace one that another thread has just made
            count = UNKNOWN_FIELDS.count
            self.decode = _decoder(extend_annotation(self._annotation))
            self._lessons = count


def _decoder(annotation: object) -> Callable[[bytes | str | msgspec.Raw], Any]:
    return typeinfo.json_decoder(annotation, dec_hook=shape.dec_hook).decode


@functools.cache
def reader_for(annotation: object) -> Reader:
    """The reader of a type, made once."""
    return Reader(annotation)


@functools.cache
def reader_of(cls: ApiType, attribute: str) -> Reader:
    """The reader of one field of a type; null is let through."""
    rules = shape.fields_by_attribute(cls)[attribute].rules(shape.FROM_WIRE)
    return Reader(Union[cast("Any", shape.annotations_of(cls)[attribute]), None], rules)


def utf8(text: bytes | str) -> bytes:
    """Text as bytes.

    Raises:
        ShapeError: If it has lone surrogates, which no encoding can say.
    """
    try:
        return text.encode() if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError:
        raise shape.ShapeError("not text: it has lone surrogates") from None


def decode_plain(data: bytes | str | msgspec.Raw) -> Any:  # noqa: ANN401 - any JSON
    """Decode JSON into dicts, lists, strings and numbers.

    Raises:
        ShapeError: If it is not JSON.
    """
    try:
        return _plain_decoder.decode(data)
    except MALFORMED as error:
        raise malformed(error) from None


def malformed(error: Exception) -> shape.ShapeError:
    """Put msgspec's complaint about text that is no JSON into our words."""
    if isinstance(error, RecursionError):
        return shape.ShapeError("nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return shape.ShapeError(f"not UTF-8 text at byte {error.start}")
    said = str(error)
    if "truncated" in said:
        return shape.ShapeError("not JSON: the text ends too early")
    problem = said.removeprefix("JSON is malformed: ").partition(" - at ")[0]
    return shape.ShapeError(f"not JSON: {problem[:1].lower()}{problem[1:]}")


def encode(value: object) -> bytes:
    """Encode compact JSON.

    Raises:
        InvalidValueError: If something in it cannot be written as JSON.
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


def refuse_duplicate_keys(data: bytes) -> None:
    """Check that no object in the text has a key twice.

    A server never writes such text, so that only what people may have written is checked.

    Raises:
        ShapeError: Naming the key and where it stands, or if the text is not JSON at all.
    """
    if msgspec.json.encode(decode_plain(data)) == data:
        return  # It reads and writes back the same, so nothing was lost.
    import json

    try:  # numbers are of no interest, and Python refuses to read very long ones
        parsed = json.loads(data, object_pairs_hook=_mark_doubled, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        # Python's parser is stricter than msgspec in a corner; what msgspec took is good enough.
        return
    if (doubled := _first_doubled(parsed)) is not None:
        path, found = doubled
        fault = shape.ShapeError(f'the key "{found.key}" appears twice')
        fault.steps.extend([f".{found.key}", *reversed(path)])
        raise fault


def _mark_doubled(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) == len(pairs):
        return unique
    marked = _Doubled(pairs)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            marked.key = key
        seen.add(key)
    return marked


def _first_doubled(document: object) -> tuple[tuple[str, ...], _Doubled] | None:
    """The first object that has a key twice, and where it stands. A loop, because documents nest deeper than calls."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _Doubled):
            return path, value
        if isinstance(value, dict):
            inner = [((*path, f".{key}"), item) for key, item in cast("dict[str, object]", value).items()]
        elif isinstance(value, list):
            inner = [((*path, f"[{index}]"), item) for index, item in enumerate(cast("list[object]", value))]
        else:
            continue
        waiting.extend(each for each in reversed(inner) if isinstance(each[1], dict | list))
    return None
