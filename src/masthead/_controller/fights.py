"""Detects that another client changes back what a controller writes, warns, and slows the controller down."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec

from masthead._meta import typeinfo
from masthead._rest.call import Call, Subject
from masthead._sansio.randomness import random
from masthead._sansio.write_fights import FightDetector
from masthead._schema.field_sets import FieldSet
from masthead._schema.path_elements import path_text
from masthead._schema.schema import is_object
from masthead.errors import DecodeError, MastheadError

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable, Sequence

    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.requests import Request
    from masthead._rest.client import RestClient
    from masthead._rest.response import Response
    from masthead._sansio.own_writes import OwnWrite

__all__ = ["WriteFights"]

_MAX_FIELDS: Final = 5
_JITTER: Final = 0.5
_MAX_ATTEMPTS: Final = 5
"""Reads of an object before the warning names no manager."""
_MAX_SUSPECTS: Final = 100
"""Number of requests whose objects are read for a warning. Other fights are only slowed down."""
_READ_TIMEOUT: Final = 5.0
_PATCH_METHODS: Final = frozenset({"PATCH", "PUT"})
_WRITTEN_METADATA: Final = ("annotations", "finalizers", "labels", "ownerReferences")
"""Metadata that a write changes; versions and managed fields differ in every write."""
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class _Writer(NamedTuple):
    """A written object, and how it was written. Two writers of one controller do not repeat each other.

    Attributes:
        resource: The resource with its subresource.
        key: The object.
        method: The HTTP method and content type.
        field_manager: The owner of the written fields; empty for the client's default.
    """

    resource: str
    key: str
    method: str
    field_manager: str


class WriteFights:
    """The fights of one controller.

    Args:
        controller: The name of the controller.
        reader: Its caches.
        rest: The REST client, for reads of objects that others fight about.
        log: Its logger.
    """

    def __init__(self, controller: str, reader: CacheReader, rest: RestClient, log: logging.Logger) -> None:
        self._controller = controller
        self._reader = reader
        self._rest = rest
        self._log = log
        self._clock = asyncio.get_running_loop().time
        self._detector = FightDetector[_Writer]()
        self._held: dict[Request, float] = {}
        self._suspects: dict[Request, dict[_Writer, _Suspect]] = {}

    @property
    def fought(self) -> set[tuple[str, str]]:
        """The resources and keys of the objects that are fought about."""
        return {(writer.resource.partition("/")[0], writer.key) for writer in self._detector.fights()}

    async def inspect(self, request: Request) -> None:
        """Read the objects of a new fight before a reconcile writes them, to find out who else does.

        A cache may lack the managed fields, as `drop_managed_fields` saves a quarter of its memory.
        """
        for writer, suspect in list(self._suspects.get(request, {}).items()):
            if suspect.attempts == _MAX_ATTEMPTS:
                # The fight has ended: a write after the last read would have been described.
                self._dismiss(request, writer)
                continue
            suspect.attempts += 1
            call = Call("GET", suspect.path, suspect.subject, timeout=_READ_TIMEOUT, attempts=1)
            # A warning without a name is better than none.
            with suppress(MastheadError):
                suspect.before = _entries_of(await self._rest.call(call))

    def observe(self, request: Request, write: OwnWrite, call: Call, response: Response) -> None:
        """Count a write of a reconcile."""
        if call.method not in _PATCH_METHODS or not write.version:
            return
        # Without a version in the request, the response to a patch that changed nothing has the version of another
        # client's write, which the cache shows already.
        if write.replaced is None and self._reader.is_visible(write):
            return
        now = self._clock()
        writer = _Writer(
            call.subject.resource,
            write.key,
            f"{call.method} {call.content_type}",
            next((value for name, value in call.query if name == "fieldManager"), ""),
        )
        if not self._detector.count(writer, write.uid, write.replaced, write.version, now):
            return
        if not (content := _content_of(call)):
            return
        delay = self._detector.compare(writer, content, now)
        if not delay:
            return
        # Requests of objects that were deleted meanwhile are asked about no more.
        self._held = {held: due for held, due in self._held.items() if due > now}
        # With equal delays, two controllers would write at the same moment, and miss each other's state.
        self._held[request] = now + delay * (1 + _JITTER * random())
        if self._detector.is_warning_due(writer, now):
            self._describe(request, writer, call, response)

    def delay(self, request: Request) -> float:
        """Seconds before which a request is not reconciled, because of a fight; 0 for none."""
        # Usually empty, and called with each event.
        if not self._held or (due := self._held.get(request)) is None:
            return 0.0
        delay = due - self._clock()
        if delay > 0:
            return delay
        del self._held[request]
        return 0.0

    def _describe(self, request: Request, writer: _Writer, call: Call, response: Response) -> None:
        suspect = self._suspects.get(request, {}).get(writer)
        if suspect is None:
            if len(self._suspects) >= _MAX_SUSPECTS:
                # The oldest one: its object is no longer reconciled, or the next reconcile starts again.
                del self._suspects[next(iter(self._suspects))]
            subject = Subject("get", call.subject.resource, call.subject.namespace, call.subject.name)
            self._suspects.setdefault(request, {})[writer] = _Suspect(call.path, subject)
            return
        others = _find_others(suspect.before, _entries_of(response), writer.field_manager)
        if not others and suspect.attempts < _MAX_ATTEMPTS:
            return
        self._detector.warned(writer, self._clock())
        self._warn(request, writer, others)
        self._dismiss(request, writer)

    def _dismiss(self, request: Request, writer: _Writer) -> None:
        suspects = self._suspects[request]
        del suspects[writer]
        if not suspects:
            del self._suspects[request]

    def _warn(self, request: Request, writer: _Writer, others: list[_Other]) -> None:
        fields = list(dict.fromkeys(path for other in others for path in other.fields))
        names = " and ".join(dict.fromkeys(f'the field manager "{other.manager}"' for other in others))
        self._log.warning(
            "controller %s: the reconcile of %s has written %s %s again and again with the same content, because %s "
            "changes it back%s; it is slowed down to one write a second. Let only one of the two write the field: "
            "leave it out of what this controller applies, or stop the other; "
            "kubectl get --show-managed-fields -o yaml shows who writes what",
            self._controller,
            request,
            writer.resource,
            writer.key,
            names or f'another client, which may have the same field manager "{writer.field_manager}",',
            f": {', '.join(fields[:_MAX_FIELDS])}{' and more' if len(fields) > _MAX_FIELDS else ''}" if fields else "",
        )


class _Entry(msgspec.Struct, rename="camel"):
    """Managed fields of one manager."""

    manager: str = ""
    time: str = ""
    fields_v1: dict[str, Any] = {}


class _Metadata(msgspec.Struct, rename="camel"):
    managed_fields: list[_Entry] = []


class _Answer(msgspec.Struct):
    """The managed fields in a response."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


@dataclass(slots=True)
class _Suspect:
    """An object of a fight that no warning has described yet.

    Attributes:
        path: Its path.
        subject: The read of it.
        before: Its managed fields before the next write; empty if they could not be read.
        attempts: The number of reads.
    """

    path: str
    subject: Subject
    before: list[_Entry] = field(default_factory=list["_Entry"])
    attempts: int = 0


class _Other(NamedTuple):
    """A field manager, and the fields that a write took from it."""

    manager: str
    fields: list[str]


def _content_of(call: Call) -> bytes:
    """Return a digest of the content of a write, without versions and times; empty for a write without a body."""
    if call.body is None:
        return b""
    try:
        plain: object = typeinfo.decode_json(call.body, object)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Such as YAML, whose text is equal as well if nothing differs.
        return hashlib.blake2b(call.body, digest_size=16).digest()
    if is_object(plain):
        plain = _scrub(plain, has_status=call.method != "PUT" or "/" in call.subject.resource)
    elif isinstance(plain, list):
        # The test operations of a JSON patch name the version.
        operations = cast("list[object]", plain)
        plain = [item for item in operations if not (is_object(item) and item.get("op") == "test")]
    return hashlib.blake2b(_encode(plain), digest_size=16).digest()


def _scrub(body: dict[str, Any], *, has_status: bool) -> dict[str, Any]:
    metadata, status = body.get("metadata"), body.get("status")
    if is_object(metadata):
        body["metadata"] = {name: metadata[name] for name in _WRITTEN_METADATA if metadata.get(name)}
    # The server ignores the status in an update of the object itself.
    if not has_status:
        body.pop("status", None)
    elif is_object(status) and isinstance(status.get("conditions"), list):
        for condition in status["conditions"]:
            # The transition is now, in each of the writes.
            if is_object(condition):
                condition.pop("lastTransitionTime", None)
    return body


def _entries_of(response: Response) -> list[_Entry]:
    try:
        return typeinfo.decode_json(response.body, _Answer).metadata.managed_fields
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _find_others(before: Iterable[_Entry], after: Sequence[_Entry], field_manager: str) -> list[_Other]:
    """Return the managers that owned, before a write, fields that its manager owns now."""
    own = field_manager or max(after, key=lambda entry: entry.time, default=_Entry()).manager
    taken = _fields_of(entry for entry in after if entry.manager == own)
    found: list[_Other] = []
    for entry in before:
        if entry.manager == own:
            continue
        # Only fields that changed hands: those of both managers have the same value.
        kept = _fields_of(item for item in after if item.manager == entry.manager)
        lost = (_fields_of([entry]) - kept) & taken
        if lost:
            found.append(_Other(entry.manager, [path_text(path) for path in lost.paths()]))
    return found


def _fields_of(entries: Iterable[_Entry]) -> FieldSet:
    found = FieldSet()
    for entry in entries:
        try:
            found |= FieldSet.from_fields_v1(entry.fields_v1)
        except DecodeError:
            continue
    return found
