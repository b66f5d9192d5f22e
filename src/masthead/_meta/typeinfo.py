"""The only module that creates msgspec decoders and converters.

msgspec builds its information about a type (the decoders of its fields, the lookup of its literals) when the type is
first decoded into, and attaches it to the type *before* it is complete, so that recursive types work. A second thread
that uses the type at that moment reads uninitialized fields, and the interpreter crashes. Once the information is
complete, any number of threads may use it.

So all decoders and converters are created here, one at a time. They need no lock afterwards: the types of a decoder,
and all types that they refer to, are complete before the decoder is returned. `tests/repo` checks that no other module
passes a type to msgspec.

Nothing is imported while the lock is held, and no code runs but the evaluation of annotations. So a thread that imports
a module and creates decoders cannot deadlock with a thread that holds the lock and waits for that module.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, overload

import msgspec

from masthead._meta.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    Hook = Callable[[type, Any], object]

T = TypeVar("T")

_building: Final = fork_safe_lock()  # reentrant: a finalizer may run, and decode, while a type is built


@overload
def json_decoder(annotation: type[T], *, dec_hook: Hook | None = None) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(annotation: object, *, dec_hook: Hook | None = None) -> msgspec.json.Decoder[Any]: ...
def json_decoder(annotation: object, *, dec_hook: Hook | None = None) -> msgspec.json.Decoder[Any]:
    """Create a JSON decoder of a type; it may be shared by any number of threads.

    Raises:
        TypeError: If msgspec does not support the annotation.
    """
    with _building:
        return msgspec.json.Decoder(cast("Any", annotation), dec_hook=dec_hook)


def msgpack_decoder(annotation: type[T]) -> msgspec.msgpack.Decoder[T]:
    """Create a MessagePack decoder of a type; it may be shared by any number of threads.

    Raises:
        TypeError: If msgspec does not support the annotation.
    """
    with _building:
        return msgspec.msgpack.Decoder(annotation)


@overload
def converter(annotation: type[T], *, dec_hook: Hook | None = None) -> Callable[[object], T]: ...
@overload
def converter(annotation: object, *, dec_hook: Hook | None = None) -> Callable[[object], Any]: ...
def converter(annotation: object, *, dec_hook: Hook | None = None) -> Callable[[object], Any]:
    """Return a converter (``msgspec.convert``) to a type; cached, and safe to share between threads.

    Raises:
        TypeError: If msgspec does not support the annotation.
    """
    return _converter(annotation, dec_hook)


def decode_json(data: bytes | str | msgspec.Raw, annotation: type[T], *, dec_hook: Hook | None = None) -> T:
    """Decode JSON into a type; the decoder is cached.

    Raises:
        msgspec.DecodeError: If the text is not JSON, or does not match the type.
        UnicodeDecodeError: If it is not UTF-8.
        RecursionError: If it is nested too deeply.
    """
    decoder: msgspec.json.Decoder[T] = _kept_decoder(cast("Any", annotation), dec_hook)
    return decoder.decode(data)


@functools.cache
def _kept_decoder(annotation: Any, dec_hook: Hook | None) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a type
    return json_decoder(annotation, dec_hook=dec_hook)


@functools.cache
def _converter(annotation: Any, dec_hook: Hook | None) -> Callable[[object], Any]:  # noqa: ANN401 - a type
    _kept_decoder(annotation, dec_hook)  # builds the type's information, which `convert` then uses
    return functools.partial(msgspec.convert, type=annotation, dec_hook=dec_hook)
