"""Responses, and the errors of failed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from masthead._errors.advice import is_unknown_path
from masthead._errors.base import printable
from masthead._meta.v1 import Status
from masthead._module import set_module
from masthead._rest.call import JSON, RedactedRepr, Subject
from masthead._sansio.warnings import ServerWarning  # noqa: TC001 - help() and inspect read the annotations
from masthead.errors import (
    DecodeError,
    NotFoundError,
    ProtocolError,
    StatusError,
    TransportError,
    error_from_status,
    status_error_class,
)

if TYPE_CHECKING:
    from masthead._meta.model import Struct
    from masthead._rest.call import Call
    from masthead._transport.contract import TransportResponse

__all__ = [
    "Response",
    "decode_json",
    "decode_text",
    "failure",
    "is_json",
    "read_bounded",
    "refuse_other_content",
    "refuse_unreadable",
]

StructT = TypeVar("StructT", bound="Struct")

_NO_CONTENT: Final = 204
_NOT_MODIFIED: Final = 304
_SHOWN: Final = 300
"""How much of a response that is not a Status a message repeats."""
_STATUS_READ: Final = 64 * 1024
"""The maximum size of a 2xx response that is searched for a Status of failure."""
_READ: Final = 1024 * 1024
"""How many bytes of an error response are read. No Status is longer, but the response may be another server's."""

_IN_FRONT: Final = "Is a proxy or a login page in front of the API server?"


@set_module("masthead.rest")
class Response(RedactedRepr, frozen=True):
    """A successful response, read to its end.

    Attributes:
        status: The HTTP status code. 304 only for a request with ``If-None-Match``, and without a body.
        body: The body; left out of the repr, because it may hold secrets.
        content_type: The ``Content-Type`` header.
        etag: The ``ETag`` header.
        warnings: The server's warnings.
        about: The call's subject, for messages.
    """

    HIDDEN = frozenset({"body"})

    status: int
    body: bytes
    content_type: str = ""
    etag: str = ""
    warnings: tuple[ServerWarning, ...] = ()
    about: Subject | None = None

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return decode_text(self.body)

    def json(self) -> Any:  # noqa: ANN401 - plain data
        """The body as plain data.

        Raises:
            DecodeError: If the body is not JSON.
        """
        return decode_json(self.body, f"the response to {self.about}" if self.about else "the response")

    def into(self, cls: type[StructT]) -> StructT:
        """The body decoded into a type.

        Raises:
            DecodeError: If the body does not match the type.
        """
        read = getattr(cls, "from_wire", None) or cls.from_json
        return cast("StructT", read(self.body))


async def read_bounded(response: TransportResponse, limit: int = _READ) -> bytes:
    """Read the body of an error response up to a limit, and close the response.

    A body that is cut short or times out is returned as far as it was read: only the status matters.

    Raises:
        ClosedError: If the client closes during the wait.
    """
    body = bytearray()
    try:
        async for piece in response.chunks():
            body += piece
            # Only a message is wanted from it, and an error page may be of any size.
            if len(body) >= limit:
                break
    # The status is known, and says more than the loss of the body.
    except TransportError:
        pass
    finally:
        response.close()
    return bytes(body[:limit])


def decode_text(body: bytes) -> str:
    """Decode a body as text; bytes that are not UTF-8 are replaced."""
    return body.decode("utf-8", "replace")


def decode_json(body: bytes, subject: str) -> Any:  # noqa: ANN401 - plain data
    """Decode a body as plain data.

    Args:
        body: The body.
        subject: What the message calls the response.

    Raises:
        DecodeError: If the body is not JSON.
    """
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        problem = str(error)
    except (UnicodeDecodeError, RecursionError):
        problem = "it is not UTF-8, or nested too deep"
    # Outside the handlers: a UnicodeDecodeError would carry the whole body.
    raise DecodeError(f"{subject} is not JSON: {problem}")


def failure(call: Call, status: int, content_type: str, body: bytes, location: str = "") -> StatusError:
    """The error for a response outside 200 to 299, from its Status or, without one, from its status code.

    Args:
        call: The call.
        status: The HTTP status code.
        content_type: The ``Content-Type`` of the body.
        body: The body, or the beginning of it.
        location: The ``Location`` header of a redirect.
    """
    # Some servers in front of the API server send a Status without a content type.
    found = _status_in(body) if is_json(content_type) or body[:1] == b"{" else None
    if found is not None and found.status != "Success":
        # A Status may lack its code, or have a senseless one; the class of the error depends on it.
        if not 100 <= (found.code or 0) < 1000:
            found.code = status
        return _error(call, found)
    about = call.subject
    error = status_error_class(reason="", code=status, verb=about.verb)(
        _redirect(location) if 300 <= status < 400 else _message(content_type, body),
        verb=about.verb,
        resource=about.resource,
        namespace=about.namespace,
        name=about.name,
        code=status,
    )
    return _with_advice(error, about)


def refuse_unreadable(call: Call, response: Response) -> None:
    """Reject a response that is not JSON, though JSON was requested and the response has a body.

    Raises:
        ProtocolError: If the response is empty or not JSON. Only a delete may have an empty one, with 204.
        StatusError: If the response is a Status of failure in spite of its status code.
    """
    # These have no body, or the caller asked for something other than JSON.
    if response.status == _NOT_MODIFIED or call.method == "HEAD" or not call.accept.startswith(JSON):
        return
    body = response.body
    if not body or body.isspace():
        # The object is deleted: an error would have the caller delete it again.
        if call.method == "DELETE" and response.status == _NO_CONTENT:
            return
        raise _protocol_error(call, f"the response is empty (HTTP {response.status})")
    if response.content_type != JSON:
        refuse_other_content(call, response.content_type, body)
    # Searched for first: to decode every response as a Status would cost too much.
    if len(body) < _STATUS_READ and b'"Failure"' in body:
        status = _status_in(body)
        if status is not None and status.status == "Failure":
            raise _error(call, status)


def refuse_other_content(call: Call, content_type: str, body: bytes | None) -> None:
    """Reject a response that is not JSON by its content type or, without one, by its first byte.

    Args:
        call: The call.
        content_type: The ``Content-Type`` header.
        body: The body; None if it has not been read yet.

    Raises:
        ProtocolError: If the response is not JSON.
    """
    if is_json(content_type):
        return
    start = (body or b"")[:_STATUS_READ].lstrip()
    if not content_type and (body is None or start[:1] in {b"{", b"["}):
        return
    # Anything but an HTML page may be an object with secrets: its bytes are not repeated in the message.
    found = _page(content_type, start) or _shorten(_line(content_type)) or "of no content type"
    advice = f'{_IN_FRONT} To request something other than JSON, set another accept, such as "*/*".'
    raise _protocol_error(call, f"the response is {found} instead of JSON. {advice}")


def is_json(content_type: str) -> bool:
    """Whether a content type is JSON, ignoring its parameters."""
    if content_type == "application/json":  # the usual case
        return True
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _protocol_error(call: Call, problem: str) -> ProtocolError:
    return ProtocolError(f"{call.subject}: {problem}", verb=call.method, url=call.path)


def _error(call: Call, status: Status) -> StatusError:
    about = call.subject
    error = error_from_status(
        status, verb=about.verb, resource=about.resource, namespace=about.namespace, name=about.name
    )
    return _with_advice(error, about)


def _with_advice(error: StatusError, about: Subject) -> StatusError:
    """Name the replacement of a resource that the server does not have because Kubernetes no longer serves it."""
    # It must be the path that is unknown, and not an object that is missing.
    if about.removal and isinstance(error, NotFoundError) and is_unknown_path(error.message):
        vars(error)["advice"] = about.removal
    return error


def _status_in(body: bytes) -> Status | None:
    try:
        found = Status.from_json(body)
    except DecodeError:
        return None
    return found if found.kind == "Status" else None


def _message(content_type: str, body: bytes) -> str:
    if page := _page(content_type, body):
        return f"the response is {page}. {_IN_FRONT}"
    text = _line(body.decode("utf-8", "replace"))
    return _shorten(text) or "the response is empty"


def _redirect(location: str) -> str:
    """The message for a redirect, without the parts of its target that may hold secrets."""
    try:
        parts = urlsplit(location)
        where = f"{parts.scheme}://{parts.hostname}{parts.path}" if parts.hostname else parts.path
    except ValueError:
        where = ""
    to = f" to {_shorten(_line(where))}" if where else ""
    return f"the response is a redirect{to}; redirects are not followed, since they would leak credentials. {_IN_FRONT}"


def _page(content_type: str, body: bytes) -> str:
    """The description of an HTML page; empty for other content."""
    if "html" not in content_type.lower() and body[:1] != b"<":
        return ""
    title = _title(body[:_STATUS_READ])
    return f'an HTML page titled "{_shorten(title)}"' if title else "an HTML page"


def _title(page: bytes) -> str:
    """The text of the first ``<title>`` element, in one linear scan, whatever the page."""
    lower = page.lower()
    start = lower.find(b"<title")
    begin = lower.find(b">", start) + 1 if start >= 0 else 0
    end = lower.find(b"</title", begin) if begin else -1
    return _line(page[begin:end].decode("utf-8", "replace")) if end >= 0 else ""


def _line(text: str) -> str:
    """Text on one line, without control characters."""
    return " ".join(printable(text[:_STATUS_READ]).split())


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
