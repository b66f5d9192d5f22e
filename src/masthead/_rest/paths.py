"""Request paths of collections, objects and subresources.

A segment that could change the path's meaning is rejected here, before anything is sent.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote, urlencode

from masthead._meta import names
from masthead._meta.gvk import GroupVersion
from masthead.errors import ArgumentError, NameFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.gvk import GroupVersionResource

__all__ = ["encode_target", "format_target", "resource_path", "segment"]

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
"""The API's own parameters, whose values may be logged. Others may hold anything, such as a token."""
_READABLE: Final = "/=,!:()"
"""Characters of selectors that are not escaped in logs, so that they stay readable."""
_LONG: Final = 200
"""How many characters of a value are logged."""


def resource_path(
    resource: GroupVersionResource, *, namespace: str = "", name: str | None = None, subresource: str = ""
) -> str:
    """The escaped path of a collection, an object or a subresource.

    Args:
        resource: Group, version and plural.
        namespace: The namespace; empty for all namespaces and for cluster-scoped resources.
        name: The object's name; None for the collection.
        subresource: The subresource, such as ``status``; its own path follows a slash (``proxy/metrics``).

    Raises:
        NameFormatError: If a part is empty, or not a single path segment.
    """
    # A namespace of a wrong type may not be hashable; _collection raises the error for it.
    can_cache = isinstance(cast("object", namespace), str) and len(namespace) <= _MAX_CACHED
    path = (_cached_collection if can_cache else _collection)(resource, namespace)
    if name is not None:
        path += f"/{segment('name', name)}"
    if subresource:
        # A proxy subresource has a path of its own; each part of it must be a segment.
        parts = "/".join(segment("subresource", part) for part in subresource.split("/"))
        path += f"/{parts}"
    return path


def _collection(resource: GroupVersionResource, namespace: str) -> str:
    group = segment("group", resource.group) if resource.group else ""
    version = GroupVersion(group, segment("version", resource.version))
    inside = f"/namespaces/{segment('namespace', namespace)}" if namespace else ""
    return f"{version.path}{inside}/{segment('resource', resource.resource)}"


_cached_collection: Final = functools.lru_cache(maxsize=1024)(_collection)


def segment(what: str, text: str) -> str:
    """Check and escape one segment of a path.

    Args:
        what: The kind of segment, for messages: ``name``, ``namespace`` ...
        text: The segment.

    Raises:
        NameFormatError: If it is empty, ``.``, ``..``, or holds ``/``, ``%`` or control characters.
        ArgumentError: If it is not a string.
    """
    # The same few names recur; long ones would only fill the cache.
    if isinstance(cast("object", text), str) and len(text) <= _MAX_CACHED:
        return _cached_segment(what, text)
    return _segment(what, text)


_OF_METADATA: Final = frozenset({"name", "namespace"})
_MAX_CACHED: Final = 253
"""The length of the longest segment that is cached: the maximum length of most names."""


@functools.lru_cache(maxsize=4096)
def _cached_segment(what: str, text: str) -> str:
    return _segment(what, text)


def _segment(what: str, text: str) -> str:
    if not isinstance(cast("object", text), str):
        hint = f"; of an object, take obj.metadata.{what}" if what in _OF_METADATA else ""
        raise ArgumentError(
            f"a {what} must be a string, and this is of type {type(text).__name__}{hint}. Nothing was sent.",
            value=text,
        )
    # A name with a slash, or "..", would lead to another resource.
    problem = names.problem_with_path_segment_name(text) if text else "must not be empty"
    if problem is None and not text.isprintable():
        problem = "must not hold control characters"
    if problem:
        raise NameFormatError(
            f"{names.quote(text)} cannot be a {what} in a request: it {problem}. Nothing was sent.",
            value=text,
        )
    return quote(text, safe=":@!$&'()*+,;=~-._")


def encode_target(path: str, query: Sequence[tuple[str, str]]) -> str:
    """The request target: a path with its encoded query.

    Raises:
        ArgumentError: If the query holds a lone surrogate, which cannot be encoded.
    """
    if not query:
        return path
    try:
        return f"{path}?{urlencode(query)}"
    except UnicodeEncodeError as error:
        raise ArgumentError(f"the query of {path} cannot be encoded: {error.reason}. Nothing was sent.") from None


def format_target(path: str, query: Sequence[tuple[str, str]]) -> str:
    """A path and its query for logs: values that may be secret are hidden, long ones truncated."""
    if not query:
        return path
    shown = [(name, _cut(value) if name in _LOGGED else "...") for name, value in query]
    return f"{path}?{urlencode(shown, safe=_READABLE, quote_via=quote)}"


def _cut(value: str) -> str:
    return value if len(value) <= _LONG else f"{value[:_LONG]}..."
