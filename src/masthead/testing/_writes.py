"""What managers write, recorded where their requests leave the client."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import parse_qs, unquote, urlsplit

from masthead._meta.secret import SecretValue
from masthead._module import set_module
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from masthead._transport.contract import Transport, TransportRequest, TransportResponse
    from masthead.testing._permissions import PermissionCheck

__all__ = ["RecordingTransport", "Write", "WriteLog"]

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_APPLY: Final = "application/apply-patch"
_NAMESPACE_SUBRESOURCES: Final = frozenset({"finalize", "status"})
_LEASES: Final = "leases.coordination.k8s.io"
_EVENTS: Final = frozenset({"events", "events.events.k8s.io"})
_MOST: Final = 10_000
"""How many writes are kept; the oldest are dropped."""
_OK: Final = range(200, 300)


@set_module("masthead.testing")
class Write(str):  # noqa: SLOT000 - it has attributes
    """A write request of a manager. It is a text that can be compared, such as ``apply deployments.apps default/web``.

    A request that failed ends with its status code, or with ``no response``: ``update pods default/web (409)``.

    Attributes:
        verb: ``create``, ``update``, ``patch``, ``apply``, ``delete`` or ``deletecollection``.
        resource: The resource, such as ``deployments.apps`` or ``websites.example.com/status``.
        key: The object: ``namespace/name``, or the name alone.
        code: The status code of the response; 0 if there was none.
        field_manager: Who owns the fields that were written; empty if the request does not say.
        replica: The name of the replica that sent it.
        is_dry_run: Whether nothing was to be stored.
        body: What was sent; None if it is not JSON.
    """

    verb: str
    resource: str
    key: str
    code: int
    field_manager: str
    replica: str
    is_dry_run: bool
    _content: bytes

    @property
    def body(self) -> Any:  # noqa: ANN401 - it may be any JSON
        """What was sent; None if it is not JSON."""
        try:
            return json.loads(self._content)
        except ValueError:
            return None

    @property
    def is_accepted(self) -> bool:
        """Whether the server has accepted it."""
        return self.code in _OK


def read_write(request: TransportRequest, code: int, replica: str) -> Write:
    """Describe the write of a request that was answered with a code; 0 for no answer."""
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
    write.replica, write.is_dry_run = replica, is_dry_run
    write._content = content  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return write


class _Place(NamedTuple):
    resource: str
    key: str
    is_collection: bool


def _content_of(request: TransportRequest) -> bytes:
    body = request.body
    if isinstance(body, SecretValue):
        body = body.reveal()
    return body or b""


def _verb_of(request: TransportRequest, where: _Place) -> str:
    verb = _VERBS.get(request.method, request.method.lower())
    if verb == "delete" and where.is_collection:
        return "deletecollection"
    types = [value for name, value in request.headers if name.lower() == "content-type"]
    return "apply" if verb == "patch" and any(str(each).startswith(_APPLY) for each in types) else verb


def _parse(path: str, content: bytes) -> _Place:
    """What a path names; the name of an object that is created stands in the body."""
    parts = [unquote(each) for each in path.strip("/").split("/")]
    match parts:
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case _:
            return _Place(path, "", is_collection=False)
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "", "")[:3]
    resource = ".".join(filter(None, (plural, group))) + (f"/{subresource}" if subresource else "")
    named = name or _name_in(content)
    return _Place(resource, "/".join(filter(None, (namespace, named))), is_collection=not name)


def _name_in(content: bytes) -> str:
    try:
        metadata = json.loads(content)["metadata"]
        return str(metadata.get("name") or f"{metadata['generateName']}*")
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


class WriteLog:
    """The writes of all replicas, oldest first, without those of Leases."""

    def __init__(self) -> None:
        self._all: deque[Write] = deque(maxlen=_MOST)
        self.counts: Counter[tuple[str, str]] = Counter()
        """How often each object was written since `counts` was last cleared, Events left out."""

    def add(self, write: Write) -> None:
        """Add a write."""
        if write.resource == _LEASES:
            return
        self._all.append(write)
        if write.resource not in _EVENTS:
            self.counts[write.resource.partition("/")[0], write.key] += 1

    def clear(self) -> None:
        """Forget the writes until now."""
        self._all.clear()

    @property
    def writes(self) -> list[Write]:
        """All but those of Events."""
        return [each for each in self._all if each.resource not in _EVENTS]

    @property
    def events(self) -> list[str]:
        """The Events that were created, such as ``Normal Deployed default/web: the site is up``."""
        bodies = [
            each.body for each in self._all if each.resource in _EVENTS and each.verb == "create" and each.is_accepted
        ]
        return [_event_text(cast("dict[str, Any]", each)) for each in bodies if isinstance(each, dict)]

    def about(self, resource: str, key: str, count: int) -> list[Write]:
        """The last writes of an object."""
        found = [each for each in self._all if (each.resource.partition("/")[0], each.key) == (resource, key)]
        return found[-count:]


def _event_text(body: dict[str, Any]) -> str:
    about: dict[str, Any] = body.get("regarding") or body.get("involvedObject") or {}
    key = "/".join(filter(None, (about.get("namespace"), about.get("name"))))
    return f"{body.get('type')} {body.get('reason')} {key}: {body.get('note') or body.get('message') or ''}"


class RecordingTransport:
    """Passes requests on, and records the writes among them.

    Args:
        log: Where writes go.
        replica: Who writes.
        permissions: What it may do.
    """

    _transport: Transport

    def __init__(self, log: WriteLog, replica: str, permissions: PermissionCheck) -> None:
        self._log = log
        self._replica = replica
        self._permissions = permissions
        self._is_severed = False

    def around(self, transport: Transport) -> RecordingTransport:
        """Pass requests on to a transport."""
        self._transport = transport
        return self

    def sever(self) -> None:
        """Send nothing any more: the process is dead."""
        self._is_severed = True

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Send a request and wait for the head of its response.

        Raises:
            ClosedError: If nothing is sent any more.
            TransportError: As the transport.
        """
        if self._is_severed:
            raise ClosedError(f"replica {self._replica} has crashed")
        if request.method in {"GET", "HEAD"}:
            self._permissions.observe(request, 0)
            return await self._transport.send(request)
        code = 0
        try:
            response = await self._transport.send(request)
            code = response.status
        finally:
            self._log.add(read_write(request, code, self._replica))
            self._permissions.observe(request, code)
        return response

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()
