"""How a webhook is reached: by a URL, or by a service of the cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import invalid, required
from masthead_server.resources import names

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors

__all__ = ["webhook_service_errors", "webhook_url_errors"]

_FORM: Final = "; desired format: https://host[/path]"
_URL: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?:(?P<user>[^/?#]*)@)?(?P<host>[^/?#]*))?"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_BAD_HOST: Final = re.compile(r'[\s"<>\\^`{|}]')
_MAX_PORTS: Final = 65535


def webhook_url_errors(path: str, url: str) -> Errors:
    """Validate the URL of a webhook."""
    if problem := _parse_problem(url):
        return [required(path, f"url must be a valid URL: parse {quoted(url)}: {problem}{_FORM}")]
    parts = _URL.fullmatch(url)
    found = parts.groupdict() if parts is not None else {}
    errors: Errors = []
    scheme = (found.get("scheme") or "").lower()
    if scheme != "https":
        errors.append(invalid(path, scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not found.get("host"):
        errors.append(invalid(path, "", f"host must be specified{_FORM}"))
    if found.get("user") is not None:
        errors.append(invalid(path, found["user"], "user information is not permitted in the URL"))
    if found.get("fragment"):
        errors.append(invalid(path, found["fragment"], "fragments are not permitted in the URL"))
    if found.get("query"):
        errors.append(invalid(path, found["query"], "query parameters are not permitted in the URL"))
    return errors


def _parse_problem(url: str) -> str:
    """Return why Go cannot parse a URL; empty if it can."""
    if _CONTROL.search(url):
        return "net/url: invalid control character in URL"
    if url.startswith(":"):
        return "missing protocol scheme"
    if escape := _BAD_ESCAPE.search(url.partition("?")[0]):
        return f"invalid URL escape {quoted(escape[0])}"
    parts = _URL.fullmatch(url)
    if parts is None:
        return ""
    host: str | None = parts["host"]
    if host is None:
        first = parts["path"].partition("/")[0]
        is_colon = not parts["scheme"] and ":" in first
        return "first path segment in URL cannot contain colon" if is_colon else ""
    if bad := _BAD_HOST.search(host):
        return f"invalid character {quoted(bad[0])} in host name"
    name, colon, port = host.rpartition(":")
    if colon and not name.count("[") > name.count("]") and port and not port.isdigit():
        return f"invalid port {quoted(f':{port}')} after host"
    return ""


def webhook_service_errors(path: str, *, name: str, namespace: str, url_path: str | None, port: int) -> Errors:
    """Validate the service of a webhook."""
    errors = [] if name else [required(f"{path}.name")]
    if not namespace:
        errors.append(required(f"{path}.namespace"))
    if not 1 <= port <= _MAX_PORTS:
        errors.append(invalid(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    if not url_path or url_path == "/":
        return errors
    return errors + _path_errors(f"{path}.path", url_path)


def _path_errors(path: str, url_path: str) -> Errors:
    if url_path == "//":
        return [invalid(path, url_path, "segment[0] may not be empty")]
    errors = [] if url_path.startswith("/") else [invalid(path, url_path, "must start with a '/'")]
    for index, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        problems = names.SUBDOMAIN(step) if step else []
        if not step:
            errors.append(invalid(path, url_path, f"segment[{index}] may not be empty"))
        errors += [invalid(path, url_path, f"segment[{index}]: {problem}") for problem in problems]
    return errors
