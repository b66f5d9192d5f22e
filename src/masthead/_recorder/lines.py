"""Encodes objects for a recording: the bytes that the server sent, on one line, with their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead.errors import RecordingError

if TYPE_CHECKING:
    from masthead._meta.object import Object

__all__ = ["EncodedObject", "encode_object"]

_MAX_DEPTH_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Identity(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class EncodedObject(NamedTuple):
    """An object on one line.

    Attributes:
        text: Its JSON.
        uid: Its uid.
        version: Its resource version.
    """

    text: bytes
    uid: str
    version: str


_decoder: Final = msgspec.json.Decoder(_Identity)


def encode_object(obj: Object) -> EncodedObject:
    """Return the bytes of an object, with its kind, and without line breaks.

    Raises:
        RecordingError: If it cannot be encoded.
    """
    text = obj.wire_bytes
    try:
        if text is None:
            text = obj.to_json()
        if b"\n" in text:
            # A line break would end the line of the recording. Only servers that indent their responses send some.
            text = msgspec.json.encode(msgspec.json.decode(text))
        identity = _decoder.decode(text)
    except _MAX_DEPTH_ERRORS as error:
        raise RecordingError(f"{obj.key} cannot be recorded: {error}") from None
    # The items of a list lack both.
    if not identity.kind:
        text = _with_type(text.lstrip(), identity, obj)
    return EncodedObject(text, identity.metadata.uid, identity.metadata.resource_version)


def _with_type(text: bytes, identity: _Identity, obj: Object) -> bytes:
    fields: dict[str, str] = (
        {} if identity.api_version else {"apiVersion": obj.api_version or str(obj.gvk.group_version)}
    )
    fields["kind"] = obj.kind or obj.gvk.kind
    head = msgspec.json.encode(fields)[:-1]
    rest = text[1:].lstrip()
    return head + (b"" if rest.startswith(b"}") else b",") + rest
