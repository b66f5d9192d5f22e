"""Names and paths of the API server's proxy, checked before anything is sent."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote

from masthead._meta import names
from masthead.errors import InvalidValueError, NameFormatError

__all__ = ["checked_name", "escaped_path"]

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
        raise NameFormatError(
            f"{names.quote(name)} cannot be proxied: {_FORM}. Nothing was sent.", value=name
        )
    if scheme not in _SCHEMES:
        problem = f"its scheme is {names.quote(scheme)}"
    elif not _PORT.fullmatch(port) or (port.isdigit() and not 0 < int(port) <= _MAX_PORT):
        problem = f"{names.quote(port)} is neither a port nor the name of one"
    else:
        return name
    raise NameFormatError(
        f"{names.quote(name)} cannot be proxied: {problem}; {_FORM}. Nothing was sent.", value=name
    )


def escaped_path(path: str) -> str:
    """The path of a request to a backend, with a leading slash; what is escaped already stays as it is.

    Raises:
        InvalidValueError: If a part of it is ``.`` or ``..``, which would lead to another object.
    """
    if any(unquote(part) in {".", ".."} for part in path.split("/")):
        raise InvalidValueError(
            f"the path {names.quote(path)} cannot be proxied: a part of it is '.' or '..'. Nothing was sent.",
            value=path,
        )
    return "/" + quote(_NOT_ESCAPED.sub("%25", path), safe=_SAFE).removeprefix("/")
