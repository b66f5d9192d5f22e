"""One call of the API, as a value: what to send, and what it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead.errors import InvalidValueError
from masthead.meta.names import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["JSON", "Call", "Subject"]

JSON: Final = "application/json"

_PATH: Final = re.compile(r"/[!-~]*", re.ASCII)
"""Behind the server's address, a path that does not begin with a slash could name another server."""
_NOT_IN_PATHS: Final = frozenset("?#")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call is about, for its errors.

    Attributes:
        verb: The API's word for it: ``get``, ``create``, ``deletecollection`` ...
        resource: Such as ``pods`` or ``deployments.apps``, with ``/status`` where it is a part.
        namespace: Empty for none.
        name: Empty for a collection.
    """

    verb: str
    resource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        subject = "/".join(part for part in (self.namespace, self.name) if part)
        return " ".join(part for part in (self.verb, self.resource, subject) if part)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the API.

    Attributes:
        method: ``GET`` and so on.
        path: Where, escaped already; see `masthead.rest.paths`.
        subject: What it is about.
        query: Pairs that are not escaped yet, in the order in which they are sent.
        body: What to send; left out of the repr, because it may hold secrets.
        content_type: What the body is.
        accept: What the answer may be.
        headers: Further headers; they go before the client's own of the same name, credentials included.
        timeout: Seconds for the whole call, its repetitions included; None for the client's own, ``math.inf`` for no
            limit. Finding credentials is not counted: somebody may be logging in, and that has a limit of its own.
        silence: Seconds without a byte after which a stream counts as dead; None for the client's own, ``math.inf``
            for no limit.

    Raises:
        InvalidValueError: if the path is not one, or not escaped.
    """

    method: str
    path: str
    subject: Subject
    query: Sequence[tuple[str, str]] = field(default=(), repr=False)
    body: bytes | None = field(default=None, repr=False)
    content_type: str = JSON
    accept: str = JSON
    headers: Sequence[tuple[str, str]] = field(default=(), repr=False)
    timeout: float | None = None
    silence: float | None = None

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path) or not _NOT_IN_PATHS.isdisjoint(self.path):
            raise InvalidValueError(
                f"{shown(self.path)} is no path of a request: it begins with a slash, is percent-encoded, and its "
                "query is given apart. Nothing was sent.",
                value=self.path,
            )

    @property
    def wants_json(self) -> bool:
        """Whether the answer is to be JSON, in whatever shape."""
        return self.accept.startswith(JSON)
