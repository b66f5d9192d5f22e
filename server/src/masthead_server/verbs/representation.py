"""How objects appear in a response: whole, with their metadata alone, or as rows of a table.

The Accept header chooses a `Representation`; the verbs hand it stored objects and never ask which one it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from masthead._meta import typeinfo
from masthead_server.verbs.watch_events import event_line
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from masthead_server.clock import Clock
    from masthead_server.resources.resource import ServedResource
    from masthead_server.verbs.lists import Page
    from masthead_server.wire.negotiation import MediaTypeOptions
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest

__all__ = ["MetadataOnly", "Representation", "WholeObjects", "go_type", "list_metadata", "representation_for"]


class Representation(Protocol):
    """Writes stored objects as JSON, in the form that the client accepts.

    A stored object is the text of its JSON behind ``"apiVersion"``; see `ServedResource`.
    """

    def one(self, value: bytes) -> bytes:
        """Write a stored object."""
        ...

    def encoded(self, body: bytes) -> bytes:
        """Write an object of another kind than the resource's, such as a Scale, given its JSON."""
        ...

    def page(self, page: Page) -> bytes:
        """Write a list.

        Raises:
            StatusFailure: The form is not one of a list.
        """
        ...

    def is_slow(self, page: Page) -> bool:
        """Whether writing a list takes too long for the event loop."""
        ...

    def open_stream(self) -> None:
        """Prepare for the events of a watch.

        Raises:
            StatusFailure: The options of the form are invalid.
        """
        ...

    def event(self, kind: bytes, value: bytes) -> bytes:
        """Write the line of a watch event about a stored object."""
        ...

    def bookmark(self, metadata: Plain) -> bytes:
        """Write the line of a bookmark, whose object has nothing but metadata."""
        ...


def representation_for(
    options: MediaTypeOptions, served: ServedResource, request: ApiRequest, clock: Clock
) -> Representation:
    """Choose the representation that was negotiated for a resource."""
    if options.kind == "Table":
        from masthead_server.verbs.table import TableRepresentation

        return TableRepresentation(served, options.version, include=request.first("includeObject"), clock=clock)
    if options.kind:
        return MetadataOnly(served, options.version, is_list=options.is_metadata_list)
    return WholeObjects(served)


class WholeObjects:
    """Writes objects whole, in the requested version."""

    def __init__(self, served: ServedResource) -> None:
        self._served = served

    def one(self, value: bytes) -> bytes:
        """Write a stored object."""
        return self._served.codec.write(value)

    def encoded(self, body: bytes) -> bytes:
        """Write an object of another kind, given its JSON."""
        return body

    def page(self, page: Page) -> bytes:
        """Write a list of the resource's kind."""
        served = self._served
        items = served.codec.items([record.value for record in page.records])
        head = list_metadata(page)
        if served.is_custom:  # Go's unstructured lists do not leave it out
            head.setdefault("continue", "")
        elif page.shard:  # and they do not have this, nor have tables and lists of metadata
            head["shardInfo"] = {"selector": page.shard}
        return _list(served.list_kind, served.api_version, head, items)

    def is_slow(self, page: Page) -> bool:
        """Whether writing a list takes too long: not if objects are copied, as nearly always."""
        return self._served.codec.is_slow([record.value for record in page.records])

    def open_stream(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def event(self, kind: bytes, value: bytes) -> bytes:
        """Write the line of a watch event about a stored object."""
        return event_line(kind, self._served.codec.write(value))

    def bookmark(self, metadata: Plain) -> bytes:
        """Write the line of a bookmark."""
        return event_line(b"BOOKMARK", self._served.codec.encode(self._served.codec.blank(metadata)))


class _OnlyMetadata(msgspec.Struct):
    metadata: msgspec.Raw


_read_metadata = typeinfo.json_decoder(_OnlyMetadata).decode


class MetadataOnly:
    """Writes objects as PartialObjectMetadata.

    Args:
        served: The resource.
        version: Of meta.k8s.io, ``v1`` or ``v1beta1``.
        is_list: Whether the client accepts a PartialObjectMetadataList.
    """

    def __init__(self, served: ServedResource, version: str, *, is_list: bool) -> None:
        self._served = served
        self._api_version = f"meta.k8s.io/{version}"
        self._is_list = is_list
        self._head = f'{{"kind":"PartialObjectMetadata","apiVersion":"{self._api_version}","metadata":'.encode()

    def one(self, value: bytes) -> bytes:
        """Write a stored object's metadata."""
        return b"%b%b}" % (self._head, bytes(_read_metadata(b"{" + value).metadata))

    def encoded(self, body: bytes) -> bytes:
        """Write the metadata of an object of another kind, given its JSON."""
        return self.one(body[1:])

    def page(self, page: Page) -> bytes:
        """Write a PartialObjectMetadataList.

        Raises:
            StatusFailure: The client accepts a PartialObjectMetadata only.
        """
        if not self._is_list:
            problem = f"the requested object is a list (*{go_type(self._served)}List)"
            raise StatusFailure(406, "NotAcceptable", f"you requested PartialObjectMetadata, but {problem}")
        items = [self.one(record.value) for record in page.records]
        # Go's converter leaves the list of no items nil.
        return _list("PartialObjectMetadataList", self._api_version, list_metadata(page), items, empty=b"null")

    def is_slow(self, page: Page) -> bool:  # noqa: ARG002 - however long it is
        """Whether writing a list takes too long: it does not, as objects are copied."""
        return False

    def open_stream(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def event(self, kind: bytes, value: bytes) -> bytes:
        """Write the line of a watch event about a stored object."""
        return event_line(kind, self.one(value))

    def bookmark(self, metadata: Plain) -> bytes:
        """Write the line of a bookmark."""
        return event_line(b"BOOKMARK", b"%b%b}" % (self._head, msgspec.json.encode(metadata)))


def go_type(served: ServedResource) -> str:
    """The name of a kind's internal Go type, which messages mention."""
    if served.is_custom:
        return "unstructured.Unstructured"
    return f"{served.stored_group.partition('.')[0] or 'core'}.{served.kind}"


def list_metadata(page: Page) -> Plain:
    """The metadata of a list."""
    metadata: Plain = {"resourceVersion": str(page.revision)}
    if page.token:
        metadata["continue"] = page.token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def _list(kind: str, api_version: str, metadata: Plain, items: list[bytes], *, empty: bytes = b"[]") -> bytes:
    head = msgspec.json.encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    if not items:
        return b'%b,"items":%b}' % (head[:-1], empty)
    # All in one join: the copies of a large list take longer than anything else about it.
    items[0] = b'%b,"items":[%b' % (head[:-1], items[0])
    items[-1] += b"]}"
    return b",".join(items)
