"""URLs, as Go reads them: ``url('https://example.com:8080/path?query')``."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from masthead._cel.declarations import Function, function, method, overload
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.library.network import parse_address
from masthead._cel.types import BOOL, STRING, URL, list_of, map_of
from masthead._cel.values import Opaque, Value
from masthead._meta.quoting import quoted

__all__ = ["FUNCTIONS", "UrlValue", "parse_request_uri"]

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST_ESCAPE: Final = re.compile(r"%([0-7][0-9A-Fa-f])")
_NO_HOST: Final = re.compile(r"[^!\"$&'()*+,\-.0-9:;<=>A-Za-z\[\]_~%\x80-\U0010ffff]")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z")
_PORT: Final = re.compile(r"(?::[0-9]*)?\Z")
_VALID_PATH: Final = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*\Z")
_SAFE_PATH: Final = "-_.~$&+,/:;=@"


class UrlValue(Opaque):
    """A URL.

    Attributes:
        scheme: The scheme, in small letters.
        host: Host and port.
        path: The escaped path.
        query: The unparsed query.
        text: The whole URL, as Go writes it.
    """

    __slots__ = ("host", "path", "query", "scheme", "text")

    type_name = "kubernetes.URL"

    def __init__(self, scheme: str, host: str, path: str, query: str, text: str) -> None:
        self.scheme = scheme
        self.host = host
        self.path = path
        self.query = query
        self.text = text

    def equals(self, other: Value) -> bool:
        """Whether the other is the same URL.

        Raises:
            EvaluationError: If the other is no URL.
        """
        if not isinstance(other, UrlValue):
            raise EvaluationError(NO_OVERLOAD)
        return self.text == other.text

    def __str__(self) -> str:
        return self.text


def parse_request_uri(text: str) -> UrlValue:
    """Parse the target of an HTTP request: an absolute URL or an absolute path.

    Raises:
        ValueError: If it is neither, with Go's message.
    """
    try:
        return _parse(text)
    except ValueError as error:
        raise ValueError(f"parse {quoted(text)}: {error}") from None


def _parse(text: str) -> UrlValue:
    if any(character < " " or character == "\x7f" for character in text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if text == "*":
        return UrlValue("", "", "*", "", "*")
    # Go reports this before it looks for a scheme.
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme = match.group()[:-1].lower() if match else ""
    rest, mark, query = text[match.end() if match else 0 :].partition("?")
    suffix = f"?{query}" if mark else ""
    # Without a slash the rest is opaque, as in ``mailto:``, which only a scheme allows.
    if not rest.startswith("/"):
        if not scheme:
            raise ValueError("invalid URI for request")
        return UrlValue(scheme, "", "", query, f"{scheme}:{rest}{suffix}")
    authority = ""
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        host = _host_of(scheme, authority)
        authority = f"//{authority}"
    path = _path_of(rest)
    prefix = f"{scheme}:" if scheme else ""
    return UrlValue(scheme, host, path, query, f"{prefix}{authority}{path}{suffix}")


def _host_of(scheme: str, authority: str) -> str:
    # The last @ counts: a password may contain one.
    user, at, host = authority.rpartition("@")
    host = _valid_host(scheme, host)
    if at:
        if not _USER.match(user):
            raise ValueError("net/url: invalid userinfo")
        _check_escapes(user)
    return host


def _valid_host(scheme: str, host: str) -> str:
    if "[" in host:
        return _literal_host(host)
    if ":" in host:
        # Only http and https forbid further colons.
        at = host.index(":") if scheme in {"http", "https"} else host.rindex(":")
        _check_port(host[at:])
    return _unescaped_host(host)


def _literal_host(host: str) -> str:
    if host.rindex("[") > 0:
        raise ValueError("invalid IP-literal")
    name, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise ValueError("missing ']' in host")
    _check_port(port)
    # RFC 6874: the percent sign in front of a zone is escaped, and so may be any character of the zone.
    address_text, percent, zone = name.partition("%25")
    _check_escapes(zone)
    decoded_zone = unquote_to_bytes(zone).decode("utf-8", "replace")
    name = _unescaped_host(address_text) + (f"%{decoded_zone}" if percent else "")
    try:
        address, _ = parse_address(name)
    except ValueError as error:
        raise ValueError(f"invalid host: {error}") from None
    if address.version == 4:
        raise ValueError("invalid IP-literal")
    return f"[{name}]{port}"


def _check_port(port: str) -> None:
    if not _PORT.match(port):
        raise ValueError(f"invalid port {quoted(port)} after host")


def _unescaped_host(host: str) -> str:
    _check_escapes(host)
    for match in _HOST_ESCAPE.finditer(host):
        # Go unescapes only the percent sign and non-ASCII bytes in a host.
        if match.group() != "%25":
            raise ValueError(f"invalid URL escape {quoted(match.group())}")
    if wrong := _NO_HOST.search(host):
        raise ValueError(f"invalid character {quoted(wrong.group())} in host name")
    return unquote_to_bytes(host).decode("utf-8", "replace")


def _check_escapes(text: str) -> None:
    if wrong := _BAD_ESCAPE.search(text):
        raise ValueError(f"invalid URL escape {quoted(text[wrong.start() : wrong.start() + 3])}")


def _path_of(path: str) -> str:
    _check_escapes(path)
    # A path that is valid as written is not normalized.
    if _VALID_PATH.match(path):
        return path
    return quote_from_bytes(unquote_to_bytes(path), safe=_SAFE_PATH)


def to_url(text: str) -> UrlValue:
    """Read a URL.

    Raises:
        EvaluationError: If the text is invalid.
    """
    try:
        url = parse_request_uri(text)
        without_fragment = text.partition("#")[0]
        # The second parser knows fragments: text after a ``#`` belongs to none of the parts.
        return url if without_fragment == text or not without_fragment else _parse(without_fragment)
    except ValueError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except ValueError:
        return False
    return True


def _split_host(host: str) -> tuple[str, str]:
    # Of an address in brackets without a port, the last colon is inside.
    name, colon, port = host.rpartition(":")
    if not colon or not _PORT.match(f":{port}"):
        name, port = host, ""
    return (name[1:-1] if name.startswith("[") and name.endswith("]") else name), port


def _query(url: UrlValue) -> dict[Value, Value]:
    values: dict[Value, Value] = {}
    for pair in url.query.split("&"):
        name, _, value = pair.partition("=")
        # Go drops such pairs silently.
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        values.setdefault(_unescape_query(name), []).append(_unescape_query(value))
    return values


def _unescape_query(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


FUNCTIONS: Final[tuple[Function, ...]] = (
    function("url", overload("string_to_url", (STRING,), URL, to_url)),
    function("isURL", overload("is_url_string", (STRING,), BOOL, _is_url)),
    function("getScheme", method("url_get_scheme", (URL,), STRING, lambda url: url.scheme)),
    function("getHost", method("url_get_host", (URL,), STRING, lambda url: url.host)),
    function("getHostname", method("url_get_hostname", (URL,), STRING, lambda url: _split_host(url.host)[0])),
    function("getPort", method("url_get_port", (URL,), STRING, lambda url: _split_host(url.host)[1])),
    function("getEscapedPath", method("url_get_escaped_path", (URL,), STRING, lambda url: url.path)),
    function("getQuery", method("url_get_query", (URL,), map_of(STRING, list_of(STRING)), _query)),
)
