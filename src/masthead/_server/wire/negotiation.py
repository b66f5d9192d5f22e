"""Content negotiation: from the Accept header to the media type and form of a response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._server.wire.failures import StatusFailure
from masthead._server.wire.request import JSON_TYPE, YAML_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MediaTypeOptions", "negotiate"]

_WRITABLE: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMS: Final = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
_MOST_CLAUSES: Final = 1_000
"""How many clauses are read; clients send three."""
_MOST_PARAMETERS: Final = 16
"""How many parameters of a clause are read; clients send three."""
_ANY: Final = frozenset({"*/*", JSON_TYPE})
_META_VERSIONS: Final = frozenset({"v1", "v1beta1"})


@dataclass(frozen=True, slots=True)
class MediaTypeOptions:
    """How a response is written, as the client accepts it.

    Attributes:
        content_type: ``application/json`` or ``application/yaml``.
        metadata_version: The version of meta.k8s.io, if only metadata is accepted; empty for whole objects.
        is_list: Whether that metadata is accepted as a list.
    """

    content_type: str = JSON_TYPE
    metadata_version: str = ""
    is_list: bool = False


_DEFAULT: Final = MediaTypeOptions()


def negotiate(accept: str, *, of_collection: bool = False, is_watch: bool = False) -> MediaTypeOptions:
    """Choose the first media type that the client accepts and the server can write.

    Protobuf is not among them, and neither are tables: clients that ask for those accept plain JSON as well.

    Args:
        accept: The header.
        of_collection: Whether the path is that of a collection.
        is_watch: Whether the response is a stream.

    Raises:
        StatusFailure: If no accepted media type can be served.
    """
    if not accept or accept == JSON_TYPE:
        return _DEFAULT
    is_understood = False
    for media_type, parameters in _clauses(accept):
        wanted = parameters.get("as", "")
        if media_type in _ANY and not wanted:
            return _DEFAULT
        # A watch is never YAML: kube-apiserver has no framing for a stream of YAML documents.
        if media_type == YAML_TYPE and not wanted and not is_watch:
            return MediaTypeOptions(YAML_TYPE)
        is_understood = is_understood or media_type in _ANY or media_type == YAML_TYPE
        is_meta = parameters.get("g") == "meta.k8s.io" and parameters.get("v") in _META_VERSIONS
        if media_type in _ANY and wanted.startswith("PartialObjectMetadata") and is_meta:
            return MediaTypeOptions(JSON_TYPE, parameters["v"], wanted.endswith("List"))
    if is_understood:
        raise _only_plain()
    available = f"{_WRITABLE}, {_STREAMS}" if of_collection else _WRITABLE
    message = f"406: Not Acceptable\n\nAvailable representations: {available}"
    raise StatusFailure(406, "NotAcceptable", message, details={})


def _only_plain() -> StatusFailure:
    return StatusFailure(406, "NotAcceptable", f"only the following media types are accepted: {_WRITABLE}")


def _clauses(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    for clause in accept.split(",", _MOST_CLAUSES)[:_MOST_CLAUSES]:
        media_type, *written = (each.strip() for each in clause.split(";", _MOST_PARAMETERS + 1))
        pairs = (each.partition("=") for each in written[:_MOST_PARAMETERS])
        yield media_type.lower(), {name.strip().lower(): value.strip() for name, _, value in pairs}
