"""Requests and responses, independent of the HTTP library."""

from __future__ import annotations

import re
from binascii import a2b_qp
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.wire.user_info import ADMIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead_server.wire.failures import StatusFailure
    from masthead_server.wire.go_yaml import YamlDocument
    from masthead_server.wire.user_info import UserInfo

__all__ = [
    "APPLY_PATCH_TYPE",
    "BAD_ESCAPE",
    "JSON_PATCH_TYPE",
    "JSON_TYPE",
    "MERGE_PATCH_TYPE",
    "PROTOBUF_TYPE",
    "STRATEGIC_MERGE_PATCH_TYPE",
    "YAML_TYPE",
    "ApiRequest",
    "ApiResponse",
    "json_response",
    "parse_query",
    "status_response",
    "unescape",
    "warning_header",
]

JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"
PROTOBUF_TYPE: Final = "application/vnd.kubernetes.protobuf"
JSON_PATCH_TYPE: Final = "application/json-patch+json"
MERGE_PATCH_TYPE: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH_TYPE: Final = "application/strategic-merge-patch+json"
APPLY_PATCH_TYPE: Final = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request.

    Attributes:
        method: ``GET`` and so on.
        path: Percent-encoded, without the query.
        query: Every value of every parameter, in order.
        headers: By lower-case name.
        body: The body; empty before it has been read.
        user: Who sends it.
        warnings: Warnings about its credentials.
        document: Returns the document of a body that was parsed ahead, or raises its error; None if it was
            not.
    """

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = field(default_factory=dict[str, list[str]])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    user: UserInfo = ADMIN
    warnings: tuple[str, ...] = ()
    document: Callable[[], YamlDocument] | None = field(default=None, compare=False, repr=False)

    def first(self, name: str) -> str:
        """Return the first value of a parameter, as Go does; empty if it is missing."""
        values = self.query.get(name)
        return values[0] if values else ""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A response."""

    code: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()


def json_response(code: int, body: object, *, headers: tuple[tuple[str, str], ...] = ()) -> ApiResponse:
    """Make a response with a JSON body, which ends with a line feed, as Go's encoder writes it."""
    return ApiResponse(code, msgspec.json.encode(body) + b"\n", headers=headers)


def status_response(failure: StatusFailure, warnings: Sequence[str] = ()) -> ApiResponse:
    """Make the response of a failure."""
    headers = [warning_header(warning) for warning in warnings]
    if failure.retry_after is not None:
        headers.append(("Retry-After", str(failure.retry_after)))
    return json_response(failure.code, failure.status(), headers=tuple(headers))


def warning_header(text: str) -> tuple[str, str]:
    """Make a Warning header."""
    # A quoted string of RFC 9110: backslash first, or its escapes would be escaped again.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return "Warning", f'299 - "{escaped}"'


BAD_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")


def parse_query(text: str) -> dict[str, list[str]]:
    """Parse a query as Go does: a pair that cannot be decoded is skipped."""
    found: dict[str, list[str]] = {}
    for pair in text.split("&"):
        # Go's url.ParseQuery refuses semicolons; they used to separate pairs.
        if not pair or ";" in pair or BAD_ESCAPE.search(pair):
            continue
        name, _, value = pair.partition("=")
        found.setdefault(unescape(name.replace("+", " ")), []).append(unescape(value.replace("+", " ")))
    return found


def unescape(text: str) -> str:
    """Decode percent escapes, all of which must be valid.

    The standard library's function takes eighty times the memory of a text that is nothing but escapes.
    Quoted-printable is decoded in C, and differs only in the escape character.
    """
    if "%" not in text and text.isascii():
        return text
    quoted = text.encode("utf-8", "surrogateescape").replace(b"=", b"=3D").replace(b"%", b"=")
    return a2b_qp(quoted).decode("utf-8", "replace")
