"""JSON encoding and decoding: by msgspec where possible, else by `shape`.

Decoding first tries msgspec's C code, which accepts declared fields only. If that fails (an unknown field of a newer
server, or invalid data), the bytes are decoded as plain JSON and built field by field, which succeeds or locates the
invalid field.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, Union, cast

import msgspec

from masthead._meta import shape, typeinfo
from masthead._meta.annotations import wire_type
from masthead._meta.apitype import UNKNOWN_FIELDS
from masthead._meta.extended_types import extend_annotation
from masthead._meta.locks import fork_safe_lock
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.apitype import ApiType

MALFORMED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_plain_decoder: Final = msgspec.json.Decoder()
_extension_lock: Final = fork_safe_lock()
_encoder: Final = msgspec.json.Encoder(enc_hook=shape.enc_hook)


class Reader:
    """Decodes one type, and adapts to unknown fields.

    msgspec's C code tries first. What it rejects is built field by field, which succeeds if the bytes have unknown
    fields. These are remembered, and the reader continues with a type that declares them.
    """

    __slots__ = ("_annotation", "_known_fields", "_rules", "_shape", "decode")

    def __init__(self, annotation: object, rules: shape.Rules = shape.FROM_WIRE) -> None:
        self._annotation = annotation = wire_type(annotation)
        self._rules = rules
        self._shape = shape.shape_of(annotation)
        self._known_fields = 0
        self.decode = _decoder(annotation)
        """The fast path only; raises msgspec's errors."""

    def read(self, data: bytes | str | msgspec.Raw) -> object:
        """Decode a value; unknown fields are preserved.

        Raises:
            ShapeError: If the bytes are not JSON or do not match the type.
        """
        try:
            return self.decode(data)
        except msgspec.ValidationError:
            # The type may only lack a field. The slower way below preserves unknown fields, or locates the error.
            pass
        except MALFORMED as error:
            raise malformed(error) from None
        try:
            value = self._shape.build(decode_plain(data), self._rules)
        except RecursionError as error:
            raise malformed(error) from None
        # This document had unknown fields; with them in the type, the next one decodes quickly.
        if self._known_fields != UNKNOWN_FIELDS.count:
            self._extend()
        return value

    def _extend(self) -> None:
        with _extension_lock:  # otherwise an older decoder could replace a newer one of another thread
            count = UNKNOWN_FIELDS.count
            self.decode = _decoder(extend_annotation(self._annotation))
            self._known_fields = count


def _decoder(annotation: object) -> Callable[[bytes | str | msgspec.Raw], Any]:
    return typeinfo.json_decoder(annotation, dec_hook=shape.dec_hook).decode


@functools.cache
def reader_for(annotation: object) -> Reader:
    """Return the reader of a type; cached."""
    return Reader(annotation)


@functools.cache
def reader_of(cls: ApiType, attribute: str) -> Reader:
    """Return the reader of one field of a type, which accepts null; cached."""
    rules = shape.fields_by_attribute(cls)[attribute].rules(shape.FROM_WIRE)
    return Reader(Union[cast("Any", shape.annotations_of(cls)[attribute]), None], rules)


def utf8(text: bytes | str) -> bytes:
    """Encode text as UTF-8.

    Raises:
        ShapeError: If it has lone surrogates, which cannot be encoded.
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
    """Convert msgspec's error about malformed JSON to a readable one."""
    if isinstance(error, RecursionError):
        return shape.ShapeError("nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return shape.ShapeError(f"not UTF-8 text at byte {error.start}")
    message = str(error)
    if "truncated" in message:
        return shape.ShapeError("not JSON: the text ends too early")
    problem = message.removeprefix("JSON is malformed: ").partition(" - at ")[0]
    return shape.ShapeError(f"not JSON: {problem[:1].lower()}{problem[1:]}")


def encode(value: object) -> bytes:
    """Encode compact JSON.

    Raises:
        ArgumentError: If a value cannot be encoded as JSON.
    """
    try:
        return _encoder.encode(value)
    except ArgumentError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ArgumentError(f"cannot be encoded as JSON: {error}", value=value) from None


class _DuplicateKeyDict(dict[str, object]):
    """A JSON object with a duplicate key."""

    key: str


def refuse_duplicate_keys(data: bytes) -> None:
    """Check that no object in the text has a duplicate key.

    For text that may be written by hand only: servers never send duplicate keys.

    Raises:
        ShapeError: If a key is duplicated, with its path; or if the text is not JSON.
    """
    if msgspec.json.encode(decode_plain(data)) == data:
        return  # It round-trips unchanged, so no key was dropped.
    import json

    try:  # numbers are not parsed: they do not matter, and Python rejects very long ones
        parsed = json.loads(data, object_pairs_hook=_mark_duplicates, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        # In rare cases Python's parser is stricter than msgspec, which has accepted the text.
        return
    if (doubled := _first_duplicate(parsed)) is not None:
        path, found = doubled
        fault = shape.ShapeError(f'the key "{found.key}" appears twice')
        fault.steps.extend([f".{found.key}", *reversed(path)])
        raise fault


def _mark_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) == len(pairs):
        return unique
    marked = _DuplicateKeyDict(pairs)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            marked.key = key
        seen.add(key)
    return marked


def _first_duplicate(document: object) -> tuple[tuple[str, ...], _DuplicateKeyDict] | None:
    """Find the first object with a duplicate key, and its path.

    Iterative, because documents may exceed the recursion limit.
    """
    waiting: list[tuple[tuple[str, ...], object]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _DuplicateKeyDict):
            return path, value
        if isinstance(value, dict):
            inner = [((*path, f".{key}"), item) for key, item in cast("dict[str, object]", value).items()]
        elif isinstance(value, list):
            inner = [((*path, f"[{index}]"), item) for index, item in enumerate(cast("list[object]", value))]
        else:
            continue
        # Reversed, because the stack is popped from its end: the first in the document is visited first.
        waiting.extend(entry for entry in reversed(inner) if isinstance(entry[1], dict | list))
    return None
