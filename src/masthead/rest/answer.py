"""What a call brought back, and how a failure becomes an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar, cast

import msgspec

from masthead.errors import DecodeError, ProtocolError, StatusError, error_from_status, status_error_class
from masthead.meta.v1 import Status

if TYPE_CHECKING:
    from masthead.meta.model import Struct
    from masthead.meta.shape import JSON
    from masthead.rest.call import Call
    from masthead.sansio.warnings import ServerWarning

__all__ = ["Answer", "failure", "refuse_unreadable"]

StructT = TypeVar("StructT", bound="Struct")

_SHOWN: Final = 300
"""How much of an answer that is no Status a message repeats."""
_STATUS_READ: Final = 64 * 1024
"""How long a text may be and still be looked through for a Status."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer, read to its end.

    Attributes:
        status: The HTTP code.
        body: The bytes; left out of the repr, because they may hold secrets.
        content_type: What they are.
        etag: The version of a document, where the server gives one.
        warnings: What the server warned of.
    """

    status: int
    body: bytes = field(repr=False)
    content_type: str = ""
    etag: str = ""
    warnings: tuple[ServerWarning, ...] = ()

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> JSON:
        """The body as plain data.

        Raises:
            DecodeError: if it is not JSON.
        """
        try:
            return cast("JSON", msgspec.json.decode(self.body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(f"the answer is not JSON: {error}") from None

    def into(self, cls: type[StructT]) -> StructT:
        """The body as an object of a type.

        Raises:
            DecodeError: if it is something else.
        """
        read = getattr(cls, "from_wire", None) or cls.from_json
        return cast("StructT", read(self.body))


def failure(call: Call, status: int, content_type: str, body: bytes) -> StatusError:
    """The error for an answer outside 200 to 299: by its Status, or by its code where it has none."""
    found = _status_in(body) if is_json(content_type) or body[:1] == b"{" else None
    subject = call.subject
    if found is not None:
        found.code = found.code or status
        return _error(call, found)
    said = body[:_STATUS_READ].decode("utf-8", "replace").strip()
    message = _shortened(said) or f"HTTP {status} with an empty body"
    return status_error_class(reason="", code=status, verb=subject.verb)(
        message,
        verb=subject.verb,
        resource=subject.resource,
        namespace=subject.namespace,
        name=subject.name,
        code=status,
    )


def refuse_unreadable(call: Call, answer: Answer) -> None:
    """Refuse an answer of 2xx that is not what was asked for.

    Raises:
        ProtocolError: if it is empty, or is no JSON where JSON was asked for.
        StatusError: if it is a Status of failure all the same.
    """
    body, content_type = answer.body, answer.content_type
    if not body or body.isspace():
        problem = "the answer is empty"
    elif not is_json(content_type):
        start = _shortened(body[:_STATUS_READ].decode("utf-8", "replace").strip())
        problem = f"the answer is {content_type or 'of no content type'} instead of JSON: {start}"
    elif len(body) < _STATUS_READ and b'"Failure"' in body and (status := _status_in(body)) is not None:
        raise _error(call, status)
    else:
        return
    raise ProtocolError(
        f"{call.subject}: {problem}. Is a proxy or a login page in front of the API server?",
        verb=call.method,
        url=call.path,
    )


def is_json(content_type: str) -> bool:
    """Whether a content type is JSON, whatever its parameters."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _error(call: Call, status: Status) -> StatusError:
    about = call.subject
    return error_from_status(
        status, verb=about.verb, resource=about.resource, namespace=about.namespace, name=about.name
    )


def _status_in(body: bytes) -> Status | None:
    try:
        found = Status.from_json(body)
    except DecodeError:
        return None
    return found if found.kind == "Status" and found.status == "Failure" else None


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
