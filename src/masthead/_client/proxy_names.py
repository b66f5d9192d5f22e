"""Requests to the API server's proxy, checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote, unquote

from masthead._meta import names
from masthead.errors import ArgumentError, NameFormatError

if TYPE_CHECKING:
    from masthead._meta.secret import Secret

__all__ = ["checked_body", "checked_headers", "checked_name", "checked_query", "checked_text", "escaped_path"]

_SCHEMES: Final = ("", "http", "https")
_PORT: Final = re.compile(r"[0-9]{1,5}|[a-z0-9-]*[a-z][a-z0-9-]*|", re.ASCII)
_MAX_PORT: Final = 65535
_NOT_ESCAPED: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SAFE: Final = "/%:@!$&'()*+,;=~-._"
_FORM: Final = 'write "name", "name:port" or "scheme:name:port", where the scheme is http or https'


def checked_name(name: str) -> str:
    """The name of a pod, service or node in the path of its proxy: ``web``, ``web:8080`` or ``https:web:443``.

    Raises:
        NameFormatError: If it has another form.
    """
    parts = name.split(":")
    scheme = parts.pop(0) if len(parts) == 3 else ""
    port = parts.pop() if len(parts) == 2 else ""
    if len(parts) != 1 or not parts[0]:
        raise NameFormatError(f"{names.quote(name)} cannot be proxied: {_FORM}. Nothing was sent.", value=name)
    if scheme not in _SCHEMES:
        problem = f"its scheme is {names.quote(scheme)}"
    elif not _PORT.fullmatch(port) or (port.isdigit() and not 0 < int(port) <= _MAX_PORT):
        problem = f"{names.quote(port)} is neither a port nor the name of one"
    else:
        return name
    raise NameFormatError(f"{names.quote(name)} cannot be proxied: {problem}; {_FORM}. Nothing was sent.", value=name)


def escaped_path(path: str) -> str:
    """The path of a request to a backend, with a leading slash; escapes in it stay unchanged.

    Raises:
        ArgumentError: If a part of it is ``.`` or ``..``, which would lead to another object.
    """
    if any(unquote(part) in {".", ".."} for part in path.split("/")):
        raise ArgumentError(
            f"the path {names.quote(path)} cannot be proxied: a part of it is '.' or '..'. Nothing was sent.",
            value=path,
        )
    return "/" + quote(_NOT_ESCAPED.sub("%25", path), safe=_SAFE).removeprefix("/")


def checked_text(what: str, value: str) -> str:
    """A part of a request that is text.

    Raises:
        ArgumentError: If it is something else.
    """
    if not isinstance(cast("object", value), str):
        raise _of_another_type(what, value, "text")
    return value


def checked_query(query: Mapping[str, str] | None) -> Mapping[str, str]:
    """The query parameters of a request to a backend.

    Raises:
        ArgumentError: If they are no mapping.
    """
    if not isinstance(cast("object", query or {}), Mapping):
        raise _of_another_type("query", query, "a mapping of names to values")
    return query or {}


def checked_headers(headers: Mapping[str, str | Secret] | None) -> Mapping[str, str | Secret]:
    """The additional headers of a request to a backend. Messages repeat no value.

    Raises:
        ArgumentError: If they are no mapping of texts, or one of them is ``Authorization``.
    """
    from masthead._meta.secret import Secret

    if not isinstance(cast("object", headers or {}), Mapping):
        raise _of_another_type("headers", headers, "a mapping of names to values")
    for name, value in (headers or {}).items():
        if checked_text("the name of a header", name).lower() == "authorization":
            raise ArgumentError(
                "the header Authorization cannot be sent through the API server's proxy: the API server would "
                "take it for "
                "the client's own credential, and would not pass it on. If the backend takes no other header, "
                "reach it by port_forward. Nothing was sent.",
                value=name,
            )
        if not isinstance(cast("object", value), str | Secret):
            raise _of_another_type(f"the header {names.quote(name)}", value, "text")
    return headers or {}


def checked_body(body: bytes | None) -> bytes | None:
    """The body of a request to a backend.

    Raises:
        ArgumentError: If it is something other than bytes.
    """
    if body is not None and not isinstance(cast("object", body), bytes | bytearray | memoryview):
        raise _of_another_type("body", body, "bytes, as those of text.encode()")
    return None if body is None else bytes(body)


def _of_another_type(what: str, value: object, wanted: str) -> ArgumentError:
    # Without the value, which may be a credential.
    return ArgumentError(f"{what} is of type {type(value).__name__}; it must be {wanted}. Nothing was sent.")
