"""What a call brought back, and how a failure becomes an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from masthead._errors.advice import is_unknown_path
from masthead._errors.base import printable
from masthead._meta.v1 import Status
from masthead._rest.call import Shown
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
    from masthead._rest.call import Call, Subject
    from masthead._sansio.warnings import ServerWarning
    from masthead._transport.contract import TransportResponse

__all__ = ["Response", "failure", "is_json", "read_bounded", "refuse_other_content", "refuse_unreadable"]

StructT = TypeVar("StructT", bound="Struct")

_SHOWN: Final = 300
"""How much of an answer that is no Status a message repeats."""
_STATUS_READ: Final = 64 * 1024
"""How long a good answer may be and still be looked through for a Status of failure."""
_READ: Final = 1024 * 1024
"""How many bytes of a refusal are read. No Status is longer, but what answers need not be an API server."""

_IN_FRONT: Final = "Is a proxy or a login page in front of the API server?"


class Response(Shown, frozen=True):
    """A successful answer, read to its end.

    Attributes:
        status: The HTTP code. 304 comes only to whoever sent ``If-None-Match``, and without a body.
        body: The bytes; left out of the repr, because they may hold secrets.
        content_type: What they are.
        etag: The version of a document, where the server gives one.
        warnings: What the server warned of.
        about: What was asked, for messages.
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
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:  # noqa: ANN401 - plain data
        """The body as plain data.

        Raises:
            DecodeError: if it is not JSON.
        """
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # Unicode's error would bring the whole text along.
            why = (
                str(error)
                if isinstance(error, msgspec.DecodeError)
                else "it is not UTF-8, or nested too deep"
            )
            what = f"the answer to {self.about}" if self.about else "the answer"
            raise DecodeError(f"{what} is not JSON: {why}") from None

    def into(self, cls: type[StructT]) -> StructT:
        """The body as an object of a type.

        Raises:
            DecodeError: if it is something else.
        """
        read = getattr(cls, "from_wire", None) or cls.from_json
        return cast("StructT", read(self.body))


async def read_bounded(response: TransportResponse, limit: int = _READ) -> bytes:
    """What came of a body, but no more than so many bytes; the response is closed if that is not all.

    A body that breaks off, or does not come to its end in time, is what came of it: the head has said what counts.

    Raises:
        ClosedError: if the client is closed meanwhile.
    """
    body = bytearray()
    try:
        async for piece in response.chunks():
            body += piece
            if len(body) >= limit:
                break
    except TransportError:
        pass
    finally:
        response.close()
    return bytes(body[:limit])


def failure(call: Call, status: int, content_type: str, body: bytes, location: str = "") -> StatusError:
    """The error for an answer outside 200 to 299: by its Status, or by its code where it has none.

    Args:
        call: What was asked.
        status: The HTTP code.
        content_type: What the body is.
        body: The answer, or the beginning of it.
        location: Where a redirect leads.
    """
    found = _status_in(body) if is_json(content_type) or body[:1] == b"{" else None
    if found is not None and found.status != "Success":
        if not 100 <= (found.code or 0) < 1000:
            found.code = status
        return _error(call, found)
    about = call.subject
    error = status_error_class(reason="", code=status, verb=about.verb)(
        _redirect(location) if 300 <= status < 400 else _said(content_type, body),
        verb=about.verb,
        resource=about.resource,
        namespace=about.namespace,
        name=about.name,
        code=status,
    )
    return _with_advice(error, about)


def refuse_unreadable(call: Call, answer: Response) -> None:
    """Refuse an answer of 2xx that is not the JSON that was asked for.

    Raises:
        ProtocolError: if it is empty, or something else.
        StatusError: if it is a Status of failure all the same.
    """
    body = answer.body
    if not body or body.isspace():
        raise _unexpected(call, f"the answer is empty (HTTP {answer.status})")
    refuse_other_content(call, answer.content_type, body)
    if len(body) < _STATUS_READ and b'"Failure"' in body:
        status = _status_in(body)
        if status is not None and status.status == "Failure":
            raise _error(call, status)


def refuse_other_content(call: Call, content_type: str, body: bytes | None) -> None:
    """Refuse what is not JSON by its content type or, without one, by its first byte.

    Args:
        call: What was asked.
        content_type: What the server calls it.
        body: The answer; None if it is still to come.

    Raises:
        ProtocolError: if it is something else.
    """
    if is_json(content_type):
        return
    start = (body or b"")[:_STATUS_READ].lstrip()
    if not content_type and (body is None or start[:1] in {b"{", b"["}):
        return
    # Anything but a page for people may be an object, and hold secrets: its bytes are not repeated.
    found = _page(content_type, start) or _shortened(_line(content_type)) or "of no content type"
    advice = f'{_IN_FRONT} What is not meant to be JSON is asked for with another accept, such as "*/*".'
    raise _unexpected(call, f"the answer is {found} instead of JSON. {advice}")


def is_json(content_type: str) -> bool:
    """Whether a content type is JSON, whatever its parameters."""
    if content_type == "application/json":  # as nearly all are
        return True
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _unexpected(call: Call, problem: str) -> ProtocolError:
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


def _said(content_type: str, body: bytes) -> str:
    if page := _page(content_type, body):
        return f"the answer is {page}. {_IN_FRONT}"
    text = _line(body.decode("utf-8", "replace"))
    return _shortened(text) or "the answer is empty"


def _redirect(location: str) -> str:
    """Where it leads, without what may be secret there."""
    try:
        parts = urlsplit(location)
        where = f"{parts.scheme}://{parts.hostname}{parts.path}" if parts.hostname else parts.path
    except ValueError:
        where = ""
    to = f" to {_shortened(_line(where))}" if where else ""
    return (
        f"the answer is a redirect{to}, and those are not followed: credentials would go along. {_IN_FRONT}"
    )


def _page(content_type: str, body: bytes) -> str:
    """What to call a page that is meant for people; empty if it is none."""
    if "html" not in content_type.lower() and body[:1] != b"<":
        return ""
    title = _title(body[:_STATUS_READ])
    return f'an HTML page titled "{_shortened(title)}"' if title else "an HTML page"


def _title(page: bytes) -> str:
    """What stands between the first ``<title ...>`` and its end. Each byte is looked at once, whatever the page is."""
    lower = page.lower()
    start = lower.find(b"<title")
    begin = lower.find(b">", start) + 1 if start >= 0 else 0
    end = lower.find(b"</title", begin) if begin else -1
    return _line(page[begin:end].decode("utf-8", "replace")) if end >= 0 else ""


def _line(text: str) -> str:
    """Text on one line, without what could play tricks on a terminal."""
    return " ".join(printable(text[:_STATUS_READ]).split())


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
