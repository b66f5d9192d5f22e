"""Content negotiation: from the Accept header to the media type and form of a response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.request import JSON_TYPE, YAML_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MediaTypeOptions", "negotiate"]

_WRITABLE: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMS: Final = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
_MAX_CLAUSES: Final = 1_000
"""How many clauses are read; clients send three."""
_MAX_PARAMETERS: Final = 16
"""How many parameters of a clause are read; clients send three."""
_ANY: Final = frozenset({"*/*", JSON_TYPE})
_META_VERSIONS: Final = frozenset({"v1", "v1beta1"})
_TABLE: Final = "Table"
_METADATA_LIST: Final = "PartialObjectMetadataList"
_METADATA_KINDS: Final = frozenset({"PartialObjectMetadata", _METADATA_LIST})
_CONVERSION: Final = frozenset({"as", "g", "v"})
"""The parameters that name the kind to convert to."""


@dataclass(frozen=True, slots=True)
class MediaTypeOptions:
    """How a response is written, as the client accepts it.

    Attributes:
        content_type: ``application/json`` or ``application/yaml``.
        kind: The kind of meta.k8s.io that objects are converted to: ``Table``, ``PartialObjectMetadata`` or
            ``PartialObjectMetadataList``; empty for whole objects.
        version: The version of that kind.
    """

    content_type: str = JSON_TYPE
    kind: str = ""
    version: str = ""

    @property
    def is_metadata_list(self) -> bool:
        """Whether metadata is accepted as a list, and not as an object."""
        return self.kind == _METADATA_LIST


_DEFAULT: Final = MediaTypeOptions()


def negotiate(
    accept: str,
    *,
    of_collection: bool = False,
    is_watch: bool = False,
    has_table: bool = False,
    is_routed: bool = True,
) -> MediaTypeOptions:
    """Choose the media type that the client prefers and the server can write; the first one of several.

    Protobuf is not among them: clients that ask for it accept JSON as well.

    Args:
        accept: The header.
        of_collection: Whether the path is that of a collection.
        is_watch: Whether the response is a stream.
        has_table: Whether the resource has a table representation.
        is_routed: Whether kube-apiserver's router knows the path, and rejects media types that no path can write.

    Raises:
        StatusFailure: If no accepted media type can be served.
    """
    # The header of nearly all clients, without parsing.
    if not accept or accept == JSON_TYPE:
        return _DEFAULT
    is_understood = False
    for media_type, parameters in sorted(_clauses(accept), key=_preference):
        if media_type not in _ANY and media_type != YAML_TYPE:
            continue
        is_understood = True
        content_type = YAML_TYPE if media_type == YAML_TYPE else JSON_TYPE
        # A watch is never YAML: kube-apiserver has no framing for a stream of YAML documents.
        if content_type == YAML_TYPE and is_watch:
            continue
        if _CONVERSION.isdisjoint(parameters):
            return MediaTypeOptions(content_type)
        if converted := _conversion(content_type, parameters, has_table=has_table):
            return converted
    # Two messages: the handler knows the type but not the conversion; the router does not know the type.
    if is_understood or not is_routed:
        raise _only_plain(_STREAMS if is_watch else _WRITABLE)
    available = f"{_WRITABLE}, {_STREAMS}" if of_collection else _WRITABLE
    message = f"406: Not Acceptable\n\nAvailable representations: {available}"
    raise StatusFailure(406, "NotAcceptable", message, details={})


def _conversion(content_type: str, parameters: dict[str, str], *, has_table: bool) -> MediaTypeOptions | None:
    kind, version = parameters.get("as", ""), parameters.get("v", "")
    if parameters.get("g") != "meta.k8s.io" or version not in _META_VERSIONS:
        return None
    is_known = kind in _METADATA_KINDS or (kind == _TABLE and has_table)
    return MediaTypeOptions(content_type, kind, version) if is_known else None


def _only_plain(types: str) -> StatusFailure:
    return StatusFailure(406, "NotAcceptable", f"only the following media types are accepted: {types}")


def _preference(clause: tuple[str, dict[str, str]]) -> tuple[float, bool]:
    """The order of clauses: by weight, and named types before wildcards."""
    media_type, parameters = clause
    try:
        weight = float(parameters.get("q", "1"))
    except ValueError:
        weight = 0.0
    # NaN would make the sort unstable.
    return (0.0 if math.isnan(weight) else -weight), media_type.endswith("*")


def _clauses(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    for clause in accept.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]:
        media_type, *written = (part.strip() for part in clause.split(";", _MAX_PARAMETERS + 1))
        pairs = (part.partition("=") for part in written[:_MAX_PARAMETERS])
        yield media_type.lower(), {name.strip().lower(): value.strip() for name, _, value in pairs}
