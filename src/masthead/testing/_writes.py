"""The write requests of managers."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from masthead._module import set_module
from masthead._webhook.locations import FIELD_MANAGER
from masthead.testing._request_places import content_of, locate, verb_of

if TYPE_CHECKING:
    from masthead._controller.logs import ReconcileFields
    from masthead._transport.contract import TransportRequest

__all__ = ["Write", "WriteLog", "read_write"]

_LEASES: Final = "leases.coordination.k8s.io"
_EVENTS: Final = frozenset({"events", "events.events.k8s.io"})
_MAX_WRITES: Final = 10_000
"""The maximum number of recorded writes; the oldest are dropped."""
_OK: Final = range(200, 300)


@set_module("masthead.testing")
class Write(str):  # noqa: SLOT000 - it has attributes
    """A write request of a manager, as comparable text: ``apply deployments.apps default/web``.

    A failed request ends with its status code, or with ``no response``: ``update pods default/web (409)``.

    Attributes:
        verb: ``create``, ``update``, ``patch``, ``apply``, ``delete`` or ``deletecollection``.
        resource: The resource, such as ``deployments.apps`` or ``websites.example.com/status``.
        key: The object: ``namespace/name``, or the name alone.
        code: The status code of the response; 0 without a response.
        field_manager: The owner of the written fields; empty if the request does not name one.
        replica: The name of the sending replica.
        is_dry_run: Whether the request is a dry run.
        reconcile: The reconcile that sent the request: its controller, object and id; None for other code.
        body: The body; None if it is not JSON.
    """

    verb: str
    resource: str
    key: str
    code: int
    field_manager: str
    replica: str
    is_dry_run: bool
    reconcile: ReconcileFields | None
    _content: bytes

    @property
    def content(self) -> bytes:
        """The bytes of the body."""
        return self._content

    @property
    def body(self) -> Any:  # noqa: ANN401 - it may be any JSON
        """The body; None if it is not JSON."""
        try:
            return json.loads(self._content)
        except ValueError:
            return None

    @property
    def is_upkeep(self) -> bool:
        """Whether the request renews a Lease, or sets up the certificates of webhooks."""
        # Renewals go on for ever, and would hide that nothing else is written. Certificates are set up once.
        return self.resource == _LEASES or self.field_manager == FIELD_MANAGER

    @property
    def is_event(self) -> bool:
        """Whether the request writes an Event."""
        return self.resource in _EVENTS

    @property
    def is_accepted(self) -> bool:
        """Whether the server accepted the request."""
        return self.code in _OK


def read_write(request: TransportRequest, code: int, replica: str, reconcile: ReconcileFields | None = None) -> Write:
    """Describe a write by its request and response code; 0 without a response."""
    query = parse_qs(urlsplit(request.target).query)
    place = locate(request)
    verb = verb_of(request, place)
    outcome = "" if code in _OK else f" ({code or 'no response'})"
    is_dry_run = "dryRun" in query
    write = Write(
        f"{verb} {place.resource}{f' {place.key}' if place.key else ''}{' (dry run)' if is_dry_run else ''}{outcome}"
    )
    write.verb, write.resource, write.key, write.code = verb, place.resource, place.key, code
    write.field_manager = query.get("fieldManager", [""])[0]
    write.replica, write.is_dry_run, write.reconcile = replica, is_dry_run, reconcile
    write._content = content_of(request)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return write


class WriteLog:
    """The writes of all replicas, oldest first, except writes of Leases and of the certificates of webhooks."""

    def __init__(self) -> None:
        self._all: deque[Write] = deque(maxlen=_MAX_WRITES)
        self.counts: Counter[tuple[str, str]] = Counter()
        """The number of writes by object since the last clear of `counts`, except Events."""

    def add(self, write: Write) -> None:
        """Record a write."""
        if write.is_upkeep:
            return
        self._all.append(write)
        if not write.is_event:
            self.counts[write.resource.partition("/")[0], write.key] += 1

    def clear(self) -> None:
        """Forget all writes."""
        self._all.clear()

    @property
    def writes(self) -> list[Write]:
        """All writes except those of Events."""
        return [write for write in self._all if not write.is_event]

    @property
    def events(self) -> list[str]:
        """The created Events, such as ``Normal Deployed default/web: the site is up``."""
        bodies = [write.body for write in self._all if write.is_event and write.verb == "create" and write.is_accepted]
        return [_format_event(cast("dict[str, Any]", body)) for body in bodies if isinstance(body, dict)]

    def about(self, resource: str, key: str, count: int) -> list[Write]:
        """Return the last writes of an object."""
        writes = [write for write in self._all if (write.resource.partition("/")[0], write.key) == (resource, key)]
        return writes[-count:]


def _format_event(body: dict[str, Any]) -> str:
    # The fields of events.k8s.io/v1, or else of core/v1.
    about: dict[str, Any] = body.get("regarding") or body.get("involvedObject") or {}
    key = "/".join(filter(None, (about.get("namespace"), about.get("name"))))
    return f"{body.get('type')} {body.get('reason')} {key}: {body.get('note') or body.get('message') or ''}"
