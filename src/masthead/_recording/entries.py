"""The lines of a recording: JSON objects with a type, ``entry``.

Times are microseconds since 1970, in UTC. A kind has a number, which its changes refer to.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from masthead._meta.typeinfo import json_decoder

__all__ = [
    "Change",
    "Entry",
    "Head",
    "KindLine",
    "Listed",
    "Mark",
    "Operation",
    "Reconcile",
    "decode_line",
    "encode_line",
]

Operation: TypeAlias = Literal["STATE", "ADDED", "MODIFIED", "DELETED"]
"""What happened to an object; STATE for an object from before the recording."""

Microseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=253_402_300_800_000_000)]
"""A time until the year 9999, the last one of Python."""


class _Line(msgspec.Struct, tag_field="entry", rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """A line."""

    time: Microseconds


class Head(_Line, tag="head", kw_only=True):
    """The first line of a file.

    Attributes:
        time: When the file was begun.
        version: The version of the format.
        writer: The program that wrote it.
        server: The address of the server, without credentials.
        server_version: The version of the server, as ``v1.36.4``.
        redacted: The rules by which values were redacted; empty if nothing was.
        part: The number of the file in a rotation, from 1.
        labels: Labels of the recording, by the user.
    """

    version: int
    writer: str = ""
    server: str = ""
    server_version: str = ""
    redacted: list[str] = []
    part: int = 1
    labels: dict[str, str] = {}


class KindLine(_Line, tag="kind", kw_only=True):
    """A kind that is recorded from here on.

    Attributes:
        number: Its number in the file, from 0.
        group: The API group; empty for core.
        version: The version of the group.
        kind: The kind.
        plural: The resource, as in paths.
        namespaced: Whether its objects have namespaces.
        namespaces: The namespaces that are recorded; empty for all.
        label_selector: The label selector.
        field_selector: The field selector.
        short_names: The short names.
    """

    number: int
    group: str = ""
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    namespaces: list[str] = []
    label_selector: str = ""
    field_selector: str = ""
    short_names: list[str] = []


class Listed(_Line, tag="listed", kw_only=True):
    """A list of a kind: the changes before it with ``listed`` were found by comparing it with the state before.

    Attributes:
        kind: The number of the kind.
        scope: The namespace of the watch; empty for a single one.
        version: The version of the list.
        since: The version until which every change is recorded; empty for the first list.
        is_gap: Whether changes between the two versions are missing.
        count: The number of objects.
        why: Why the kind was listed again.
    """

    kind: int
    scope: str = ""
    version: str = ""
    since: str = ""
    is_gap: bool = False
    count: int = 0
    why: str = ""


class Change(_Line, tag="change", kw_only=True):
    """A change of an object.

    Attributes:
        kind: The number of the kind.
        op: What happened.
        namespace: The object's namespace; empty for a cluster-scoped one.
        name: Its name.
        uid: Its uid.
        version: Its resource version.
        listed: Whether a list showed it, not a watch: the time is that of the list, and states before may be missing.
        object: The object after the change; for a deletion, its last known state.
    """

    kind: int
    op: Operation
    namespace: str = ""
    name: str
    uid: str = ""
    version: str = ""
    listed: bool = False
    object: msgspec.Raw


class Reconcile(_Line, tag="reconcile", kw_only=True):
    """A reconcile of a controller, written when it has ended.

    Attributes:
        time: When it ended.
        controller: The controller.
        namespace: The namespace of the request.
        name: The name of the request.
        id: Its id, as in the logs.
        began: When it began.
        queued: When its key was added to the queue; 0 if that is unknown.
        trigger: Why it ran: ``kind``, ``namespace``, ``name``, ``version``, ``op`` and the changed ``fields`` of an
            event; or ``why``.
        reads: What it read: ``verb``, ``kind``, ``namespace``, ``name``, ``from`` (``cache`` or ``server``).
        writes: What it wrote: ``verb``, ``kind``, ``namespace``, ``name``, ``subresource``, ``code``, ``version``.
        outcome: ``done``, ``requeued``, ``failed`` or ``cancelled``.
        requeue_after: Seconds until the next one; below 0 for none.
        error: The exception, with its traceback.
        dropped: The number of further reads and writes.
    """

    controller: str
    namespace: str = ""
    name: str
    id: str = ""
    began: Microseconds
    queued: Microseconds = 0
    trigger: dict[str, Any] = {}
    reads: list[dict[str, Any]] = []
    writes: list[dict[str, Any]] = []
    outcome: str = "done"
    requeue_after: float = -1.0
    error: str = ""
    dropped: int = 0


class Mark(_Line, tag="mark", kw_only=True):
    """A remark of the recorder, such as its stop.

    Attributes:
        text: The remark.
        dropped: The number of changes that were lost before it, because the disk was too slow.
    """

    text: str
    dropped: int = 0


Entry: TypeAlias = Head | KindLine | Listed | Change | Reconcile | Mark

_decoder: Final[msgspec.json.Decoder[Entry]] = json_decoder(Entry)
_encoder: Final = msgspec.json.Encoder()


def encode_line(entry: Entry) -> bytes:
    """Return an entry as a line."""
    return _encoder.encode(entry) + b"\n"


def decode_line(line: bytes | memoryview) -> Entry:
    """Return the entry of a line.

    Raises:
        msgspec.DecodeError: If it is no entry.
    """
    return _decoder.decode(line)
