"""An API call as a value: the request, and its subject for messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from masthead._meta.names import quote
from masthead._meta.secret import Secret
from masthead._module import set_module
from masthead.errors import ArgumentError

__all__ = ["JSON", "Call", "RedactedRepr", "Subject"]

JSON: Final = "application/json"

_PATH: Final = re.compile(r'/[!"$->@-~]*', re.ASCII)
"""Appended to the server's address, a path without a leading slash could name another server. It may hold printable
ASCII without blanks; ``?`` and ``#`` would end the path."""


# Structs, because each call creates three of these: 0.1 µs each, where frozen dataclasses take 0.5 to 1.0.
class RedactedRepr(msgspec.Struct, frozen=True):
    """A value whose repr hides secret fields."""

    HIDDEN: ClassVar[frozenset[str]] = frozenset()
    """The fields that the repr leaves out, because they may hold secrets."""

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.HIDDEN]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"


@set_module("masthead.rest")
class Subject(msgspec.Struct, frozen=True):
    """The verb and object of a call, for error messages.

    Attributes:
        verb: The API verb: ``get``, ``create``, ``deletecollection`` ...
        resource: Such as ``pods`` or ``deployments.apps``, with ``/status`` for a subresource.
        namespace: Empty for none.
        name: Empty for a collection.
        removal: Since when Kubernetes does not serve the resource, as a sentence; empty if it does.
    """

    verb: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    removal: str = ""

    def __str__(self) -> str:
        subject = "/".join(part for part in (self.namespace, self.name) if part)
        return " ".join(part for part in (self.verb, self.resource, subject) if part)


@set_module("masthead.rest")
class Call(RedactedRepr, frozen=True):
    """One API call.

    Attributes:
        method: The HTTP method.
        path: The path, already escaped; see `masthead._rest.paths`.
        subject: The verb and object, for error messages.
        query: Query parameters, not escaped, in the order in which they are sent.
        body: The request body; left out of the repr, because it may hold secrets.
        content_type: The ``Content-Type`` of the body.
        accept: The ``Accept`` header.
        headers: Additional headers; they replace the client's headers of the same name, credentials included.
            A secret value can be a `Secret`, which is hidden in tracebacks.
        timeout: Timeout of the whole call, in seconds, retries included; None for the client's default,
            ``math.inf`` for no limit. Obtaining credentials is not counted: an interactive login has a
            timeout itself.
        read_timeout: Seconds without a byte after which a stream is considered dead; None for the client's
            default, ``math.inf`` for no limit.
        attempts: The maximum number of attempts, the first included; None for the client's default.
        is_proxied: Whether the response comes through the API server's proxy: then every status is a response, unless
            the API server itself refuses.

    Raises:
        ArgumentError: If the path is invalid or not escaped.
    """

    HIDDEN = frozenset({"query", "body", "headers"})

    method: str
    path: str
    subject: Subject
    query: Sequence[tuple[str, str]] = ()
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    headers: Sequence[tuple[str, str | Secret]] = ()
    timeout: float | None = None
    read_timeout: float | None = None
    attempts: int | None = None
    is_proxied: bool = False

    def __post_init__(self) -> None:
        # Checked for every call, since a path with a query or without a slash changes the request.
        if not _PATH.fullmatch(self.path):
            raise ArgumentError(
                f"{quote(self.path)} is not a request path: it must begin with a slash, be percent-encoded, and have "
                "its query passed separately. Nothing was sent.",
                value=self.path,
            )

    @property
    def wants_json(self) -> bool:
        """Whether JSON is requested, in any representation."""
        return self.accept.startswith(JSON)
