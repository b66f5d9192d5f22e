"""The only place where msgspec meets a type for the first time.

msgspec builds what it knows about a type (the decoders of its fields, the lookup of its literals) when the type is
first decoded into, and attaches it to the type *before* it is complete, so that a recursive type finds itself. A second
thread that uses the type in that moment reads fields that are not there yet, and the interpreter crashes. Once the
information is complete, any number of threads may use it.

So every decoder and converter of a type is made here, one at a time. What comes out needs no lock: the types of a
decoder, and all that they refer to, are complete before anybody gets to see it. `tests/repo` checks that no other
module of the package hands msgspec a type to decode into.

Nothing is imported while the lock is held, and no code runs but the evaluation of a type's annotations: a thread that
imports a module, and makes decoders on the way, cannot wait for one that holds the lock and waits for the module.
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
    """A JSON decoder of a type; any number of threads may share it.

    Raises:
        TypeError: The annotation is not something that msgspec can decode into.
    """
    with _building:
        return msgspec.json.Decoder(cast("Any", annotation), dec_hook=dec_hook)


def msgpack_decoder(annotation: type[T]) -> msgspec.msgpack.Decoder[T]:
    """A MessagePack decoder of a type; any number of threads may share it.

    Raises:
        TypeError: The annotation is not something that msgspec can decode into.
    """
    with _building:
        return msgspec.msgpack.Decoder(annotation)


@overload
def converter(annotation: type[T], *, dec_hook: Hook | None = None) -> Callable[[object], T]: ...
@overload
def converter(annotation: object, *, dec_hook: Hook | None = None) -> Callable[[object], Any]: ...
def converter(annotation: object, *, dec_hook: Hook | None = None) -> Callable[[object], Any]:
    """``msgspec.convert`` to one type; made once for each type, and shared by any number of threads.

    Raises:
        TypeError: The annotation is not something that msgspec can convert to.
    """
    return _converter(annotation, dec_hook)


def decode_json(data: bytes | str | msgspec.Raw, annotation: type[T], *, dec_hook: Hook | None = None) -> T:
    """Decode JSON into a type, with a decoder that is made once.

    Raises:
        msgspec.DecodeError: The text is not JSON, or does not fit the type.
        UnicodeDecodeError: It is not UTF-8.
        RecursionError: It is nested too deeply.
    """
    decoder: msgspec.json.Decoder[T] = _kept_decoder(cast("Any", annotation), dec_hook)
    return decoder.decode(data)


@functools.cache
def _kept_decoder(annotation: Any, dec_hook: Hook | None) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a type
    return json_decoder(annotation, dec_hook=dec_hook)


@functools.cache
def _converter(annotation: Any, dec_hook: Hook | None) -> Callable[[object], Any]:  # noqa: ANN401 - a type
    _kept_decoder(annotation, dec_hook)  # leaves the type's information behind, as the first `convert` would
    return functools.partial(msgspec.convert, type=annotation, dec_hook=dec_hook)
