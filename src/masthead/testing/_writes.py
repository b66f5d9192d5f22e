"""The write requests of managers."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import parse_qs, unquote, urlsplit

from masthead._meta.secret import SecretValue
from masthead._module import set_module
from masthead._webhook.locations import FIELD_MANAGER

if TYPE_CHECKING:
    from masthead._controller.logs import ReconcileFields
    from masthead._transport.contract import TransportRequest

__all__ = ["Write", "WriteLog", "read_write"]

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_APPLY: Final = "application/apply-patch"
_NAMESPACE_SUBRESOURCES: Final = frozenset({"finalize", "status"})
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
    def is_accepted(self) -> bool:
        """Whether the server accepted the request."""
        return self.code in _OK


def read_write(request: TransportRequest, code: int, replica: str, reconcile: ReconcileFields | None = None) -> Write:
    """Describe a write by its request and response code; 0 without a response."""
    address = urlsplit(request.target)
    query = parse_qs(address.query)
    content = _content_of(request)
    place = _parse(address.path, content)
    verb = _verb_of(request, place)
    outcome = "" if code in _OK else f" ({code or 'no response'})"
    is_dry_run = "dryRun" in query
    write = Write(
        f"{verb} {place.resource}{f' {place.key}' if place.key else ''}{' (dry run)' if is_dry_run else ''}{outcome}"
    )
    write.verb, write.resource, write.key, write.code = verb, place.resource, place.key, code
    write.field_manager = query.get("fieldManager", [""])[0]
    write.replica, write.is_dry_run, write.reconcile = replica, is_dry_run, reconcile
    write._content = content  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return write


class _Place(NamedTuple):
    resource: str
    key: str
    is_collection: bool


def _content_of(request: TransportRequest) -> bytes:
    body = request.body
    if isinstance(body, SecretValue):
        # Bodies of Secrets are wrapped against logging; the test may see them.
        body = body.reveal()
    return body or b""


def _verb_of(request: TransportRequest, where: _Place) -> str:
    verb = _VERBS.get(request.method, request.method.lower())
    if verb == "delete" and where.is_collection:
        return "deletecollection"
    types = [value for name, value in request.headers if name.lower() == "content-type"]
    return "apply" if verb == "patch" and any(str(media_type).startswith(_APPLY) for media_type in types) else verb


def _parse(path: str, content: bytes) -> _Place:
    """Parse the path of a request; the name of a created object is in the body."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case _:
            return _Place(path, "", is_collection=False)
    namespace = ""
    # /namespaces/x/pods names pods in x; /namespaces/x/status, a subresource of x.
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "", "")[:3]
    resource = ".".join(filter(None, (plural, group))) + (f"/{subresource}" if subresource else "")
    object_name = name or _name_in(content)
    return _Place(resource, "/".join(filter(None, (namespace, object_name))), is_collection=not name)


def _name_in(content: bytes) -> str:
    try:
        metadata = json.loads(content)["metadata"]
        # The server chooses the suffix, which the request does not know.
        return str(metadata.get("name") or f"{metadata['generateName']}*")
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


class WriteLog:
    """The writes of all replicas, oldest first, except writes of Leases and of the certificates of webhooks."""

    def __init__(self) -> None:
        self._all: deque[Write] = deque(maxlen=_MAX_WRITES)
        self.counts: Counter[tuple[str, str]] = Counter()
        """The number of writes by object since the last clear of `counts`, except Events."""

    def add(self, write: Write) -> None:
        """Record a write."""
        # Renewals go on for ever, and would hide that nothing else is written. Certificates are set up once.
        if write.resource == _LEASES or write.field_manager == FIELD_MANAGER:
            return
        self._all.append(write)
        if write.resource not in _EVENTS:
            self.counts[write.resource.partition("/")[0], write.key] += 1

    def clear(self) -> None:
        """Forget all writes."""
        self._all.clear()

    @property
    def writes(self) -> list[Write]:
        """All writes except those of Events."""
        return [write for write in self._all if write.resource not in _EVENTS]

    @property
    def events(self) -> list[str]:
        """The created Events, such as ``Normal Deployed default/web: the site is up``."""
        bodies = [
            write.body
            for write in self._all
            if write.resource in _EVENTS and write.verb == "create" and write.is_accepted
        ]
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
