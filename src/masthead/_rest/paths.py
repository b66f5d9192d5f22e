"""Where things are: the path of a resource, an object or a part of one.

A segment that could lead somewhere else is refused here, before anything is sent.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote, urlencode

from masthead._meta import names
from masthead._meta.gvk import GroupVersion
from masthead.errors import InvalidValueError, NameFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.gvk import GroupVersionResource

__all__ = ["encoded", "logged", "resource_path", "segment"]

_LOGGED: Final = frozenset(
    {
        *(
            "allowWatchBookmarks",
            "continue",
            "dryRun",
            "fieldManager",
            "fieldSelector",
            "fieldValidation",
            "force",
        ),
        *("gracePeriodSeconds", "labelSelector", "limit", "propagationPolicy", "resourceVersion"),
        *("resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeout", "timeoutSeconds", "watch"),
        *(
            "container",
            "follow",
            "limitBytes",
            "previous",
            "sinceSeconds",
            "sinceTime",
            "stream",
            "tailLines",
        ),
        *("timestamps", "insecureSkipTLSVerifyBackend", "pretty", "orphanDependents"),
    }
)
"""The API's own parameters, whose values logs repeat. Others may be anything, a token among them."""
_READABLE: Final = "/=,!:()"
"""What selectors are made of: as it is, nobody needs to decode them."""
_LONG: Final = 200
"""How many characters of a value logs repeat."""


def resource_path(
    resource: GroupVersionResource, *, namespace: str = "", name: str | None = None, subresource: str = ""
) -> str:
    """The path of a collection, an object, or a part of one, escaped.

    Args:
        resource: Group, version and plural.
        namespace: In which namespace; empty for all, or for what lives in none.
        name: The object; None for the collection.
        subresource: A part of the object, such as ``status``; parts of parts with a slash between (``proxy/metrics``).

    Raises:
        NameFormatError: if something is empty, or is not one segment of a path.
    """
    inside = segment("namespace", namespace) if namespace else ""
    path = (_kept_collection if len(inside) <= _LONGEST_KEPT else _collection)(resource, inside)
    if name is not None:
        path += f"/{segment('name', name)}"
    if subresource:
        parts = "/".join(segment("subresource", part) for part in subresource.split("/"))
        path += f"/{parts}"
    return path


def _collection(resource: GroupVersionResource, namespace: str) -> str:
    group = segment("group", resource.group) if resource.group else ""
    version = GroupVersion(group, segment("version", resource.version))
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{version.path}{inside}/{segment('resource', resource.resource)}"


_kept_collection: Final = functools.lru_cache(maxsize=1024)(_collection)


def segment(what: str, text: str) -> str:
    """Check and escape one segment of a path.

    Args:
        what: What it is, for the message: ``name``, ``namespace`` ...
        text: The segment.

    Raises:
        NameFormatError: if it is empty, ``.``, ``..``, or holds ``/``, ``%`` or control characters.
        InvalidValueError: if it is no text.
    """
    if isinstance(cast("object", text), str) and len(text) <= _LONGEST_KEPT:
        return _kept_segment(what, text)
    return _segment(what, text)


_OF_METADATA: Final = frozenset({"name", "namespace"})
_LONGEST_KEPT: Final = 253
"""Characters of the longest segment that is remembered: those of the longest name that most kinds allow."""


@functools.lru_cache(maxsize=4096)
def _kept_segment(what: str, text: str) -> str:
    return _segment(what, text)


def _segment(what: str, text: str) -> str:
    if not isinstance(cast("object", text), str):
        hint = f"; of an object, take obj.metadata.{what}" if what in _OF_METADATA else ""
        raise InvalidValueError(
            f"a {what} is text, and this is of type {type(text).__name__}{hint}. Nothing was sent.",
            value=text,
        )
    problem = names.problem_with_path_segment_name(text) if text else "must not be empty"
    if problem is None and not text.isprintable():
        problem = "must not hold control characters"
    if problem:
        raise NameFormatError(
            f"{names.quote(text)} cannot be a {what} in a request: it {problem}. Nothing was sent.",
            value=text,
        )
    return quote(text, safe=":@!$&'()*+,;=~-._")


def encoded(path: str, query: Sequence[tuple[str, str]]) -> str:
    """Put a path and its query together, as they go over the wire.

    Raises:
        InvalidValueError: if the query holds half a character, which cannot be sent.
    """
    if not query:
        return path
    try:
        return f"{path}?{urlencode(query)}"
    except UnicodeEncodeError as error:
        raise InvalidValueError(
            f"the query of {path} is not text: {error.reason}. Nothing was sent."
        ) from None


def logged(path: str, query: Sequence[tuple[str, str]]) -> str:
    """A path and its query as logs have it: values that may be secret are left out, long ones cut."""
    if not query:
        return path
    shown = [(name, _cut(value) if name in _LOGGED else "...") for name, value in query]
    return f"{path}?{urlencode(shown, safe=_READABLE, quote_via=quote)}"


def _cut(value: str) -> str:
    return value if len(value) <= _LONG else f"{value[:_LONG]}..."
