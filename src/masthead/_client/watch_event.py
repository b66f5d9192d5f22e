"""The events of a watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar, get_args

import msgspec

from masthead._meta import typeinfo
from masthead._meta.metadata import ObjectMeta
from masthead._meta.object import Object
from masthead._meta.v1 import Status
from masthead._module import set_module
from masthead.errors import DecodeError, StatusError, error_from_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["EVENT_TYPES", "WatchEvent", "WatchEventType", "broken_event", "end_of_initial_events", "read_events"]

T = TypeVar("T", bound=Object)


WatchEventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "BROKEN"]
"""The type of a watch event; plain strings, so that type checkers find misspelt ones.

- ``ADDED``: the object is new, or existed when the watch began.
- ``MODIFIED``: the object changed.
- ``DELETED``: the object was deleted; the event has its last state.
- ``BOOKMARK``: nothing happened. The object has a version alone, from which a watch can resume; delivered on request.
- ``BROKEN``: something happened to an object that could not be decoded; `WatchEvent.error` has the reason.
"""

EVENT_TYPES: Final[tuple[WatchEventType, ...]] = get_args(WatchEventType)
"""Every type that an event can have."""


@set_module("masthead")
class WatchEvent(Generic[T]):
    """One thing that happened.

    Attributes:
        type: What.
        error: Why the object could not be read; None for all but broken ones.
        data: What the server sent for the object.
        server_type: The event type that the server sent; the same as `type`, but for broken ones. None if it sent none.
    """

    __slots__ = ("_object", "data", "error", "server_type", "type")

    def __init__(
        self,
        type: WatchEventType,
        object: T | None,
        *,
        error: DecodeError | None = None,
        data: bytes = b"",
        server_type: WatchEventType | None = None,
    ) -> None:
        self.type: WatchEventType = type
        self.server_type: WatchEventType | None = server_type or (None if type == "BROKEN" else type)
        self._object = object
        self.error: DecodeError | None = error
        self.data: bytes = data

    @property
    def object(self) -> T:
        """The object.

        Raises:
            DecodeError: for a broken one: the same error as `error`.
        """
        if self._object is None:
            raise self.error or DecodeError("the event has no object")
        return self._object

    @property
    def version(self) -> str:
        """The resource version that the event brought; empty for a broken object that has none."""
        if self._object is not None:
            return self._object.metadata.resource_version or ""
        # A broken object still has a version, from which the watch can resume.
        return _version_in(self.data)

    @property
    def ends_initial_events(self) -> bool:
        """Whether this is the bookmark that ends the initial events."""
        return (
            self.type == "BOOKMARK"
            and self._object is not None
            and self._object.metadata.annotations.get(_INITIAL_END) == "true"
        )

    def __repr__(self) -> str:
        about = self._object.key if self._object is not None else str(self.error)
        return f"WatchEvent({self.type}, {about!r}, version={self.version!r})"


_INITIAL_END: Final = "k8s.io/initial-events-end"


class _Line(msgspec.Struct):
    """A line of a watch, its object still bytes."""

    type: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")


class _Meta(msgspec.Struct, rename="camel", frozen=True):
    resource_version: str = ""


class _Versioned(msgspec.Struct):
    metadata: _Meta = _Meta()


_line: Final = typeinfo.json_decoder(_Line)
_versioned: Final = typeinfo.json_decoder(_Versioned)
_TYPES: Final[dict[str, WatchEventType]] = {name: name for name in EVENT_TYPES if name != "BROKEN"}
_USUAL: Final[dict[int, tuple[bytes, WatchEventType]]] = {
    name.encode()[0]: (b'{"type":"%b","object":{' % name.encode(), event_type) for name, event_type in _TYPES.items()
}
"""How servers begin a line, by the first letter of its type, at `_LETTER`."""
_LETTER: Final = len(b'{"type":"')


def read_events(item: type[T], lines: Iterable[bytes]) -> Iterator[WatchEvent[T] | StatusError]:
    """Read the lines of a watch: events, and the errors that the server sent in their place."""
    for line in lines:
        yield _read_quickly(item, line) or _read(item, line)


def _read_quickly(item: type[T], line: bytes) -> WatchEvent[T] | None:
    """Read a line that looks as servers write them; None if it does not.

    What lies between the usual beginning and the last brace is the object: if it is JSON, so is the line, and that is
    its content. So the text is scanned once and not twice, which saves 20 % of the time of an event.
    """
    usual = _USUAL.get(line[_LETTER]) if len(line) > _LETTER else None
    if usual is None or not line.startswith(usual[0]):
        return None
    data = line[len(usual[0]) - 1 : -1]
    try:
        return WatchEvent(usual[1], item.from_wire(data), data=data)
    except DecodeError:
        return None


def _read(item: type[T], line: bytes) -> WatchEvent[T] | StatusError:
    try:
        event = _line.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # An event, not an exception: one bad line must not end the stream.
        return _broken(line, DecodeError(f"a line of a watch is no event: {error}"))
    data = bytes(event.object)
    known = _TYPES.get(event.type)
    if known is not None:
        try:
            return WatchEvent(known, item.from_wire(data), data=data)
        except DecodeError as error:
            return _broken(data, error, known)
    if event.type == "ERROR":
        return _error(data)
    return _broken(data, DecodeError(f"the watch has an event of the unknown type {event.type!r}"))


def end_of_initial_events(item: type[T], version: str) -> WatchEvent[T]:
    """The bookmark that ends initial events, for a server that does not send it; the version is a list's."""
    return WatchEvent(
        "BOOKMARK",
        item(metadata=ObjectMeta(resource_version=version, annotations={_INITIAL_END: "true"})),
    )


def broken_event(error: DecodeError) -> WatchEvent[Any]:
    """The event for an item of a list that could not be read."""
    return _broken(error.value if isinstance(error.value, bytes) else b"", error)


def _broken(data: bytes, error: DecodeError, server_type: WatchEventType | None = None) -> WatchEvent[Any]:
    return WatchEvent("BROKEN", None, error=error, data=data, server_type=server_type)


def _error(data: bytes) -> StatusError:
    try:
        return error_from_status(Status.from_json(data), verb="watch")
    except DecodeError:
        return StatusError(f"the watch failed with {data[:300].decode('utf-8', 'replace')}", verb="watch")


def _version_in(data: bytes) -> str:
    try:
        return _versioned.decode(data).metadata.resource_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
