"""The encoders of responses: JSON as the verbs write it, indented JSON, and YAML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.wire.request import JSON_TYPE, YAML_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.wire.request import ApiRequest

__all__ = ["COMPACT_JSON", "Encoder", "encoder_for"]

_MAX_REENCODED: Final = 64 * 1024
"""Bytes of JSON that are indented, or written as YAML: where it nests deeply, either makes hundreds of
each."""
_BROWSERS: Final = ("curl", "Wget", "Mozilla/5.0")


@dataclass(frozen=True, slots=True)
class Encoder:
    """Writes the body of a response, which is compact JSON, in the media type that was negotiated.

    Attributes:
        content_type: The media type.
        encode: Turns compact JSON into it.
    """

    content_type: str
    encode: Callable[[bytes], bytes]


def encoder_for(content_type: str, request: ApiRequest) -> Encoder:
    """Choose the encoder for a media type; JSON is indented where a person reads it."""
    if content_type == YAML_TYPE:
        return _YAML
    return _INDENTED_JSON if _wants_indentation(request) else COMPACT_JSON


def _wants_indentation(request: ApiRequest) -> bool:
    """Whether the request asks for it, or comes from a tool that prints the response for a person."""
    pretty = request.first("pretty")
    if pretty:
        return pretty not in {"0", "false"}
    return request.headers.get("user-agent", "").startswith(_BROWSERS)


def _end_line(body: bytes) -> bytes:
    """Compact JSON ends with a line feed, which Go's encoder writes; indented JSON does not."""
    return body if body.endswith(b"\n") else body + b"\n"


def _indent(body: bytes) -> bytes:
    return body if len(body) > _MAX_REENCODED else msgspec.json.format(body, indent=2)


def _to_yaml(body: bytes) -> bytes:
    """Encode YAML with sorted keys, as kube-apiserver does; long or deep JSON is not converted."""
    if len(body) > _MAX_REENCODED:
        return body
    from masthead._meta import yaml

    ordered = msgspec.json.encode(msgspec.json.decode(body), order="sorted")
    try:
        return yaml.dump(msgspec.json.decode(ordered)).encode()
    except RecursionError:
        return body


COMPACT_JSON: Final = Encoder(JSON_TYPE, _end_line)
"""The encoder of bodies as they are, in one line."""
_INDENTED_JSON: Final = Encoder(JSON_TYPE, _indent)
_YAML: Final = Encoder(YAML_TYPE, _to_yaml)
