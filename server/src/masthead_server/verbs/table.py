"""Objects as rows of a Table, which kubectl prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._printers.kinds import printer_for
from masthead._schema.errors import invalid
from masthead_server.verbs.representation import MetadataOnly, list_metadata
from masthead_server.verbs.watch_events import INITIAL_EVENTS_END, event_line
from masthead_server.wire.failures import bad_request
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._printers.printer import Printer
    from masthead_server.clock import Clock
    from masthead_server.resources.resource import ServedResource
    from masthead_server.verbs.lists import Page
    from masthead_server.wire.plain import Plain

__all__ = ["TableRepresentation"]

_INCLUDES: Final = frozenset({"", "Metadata", "Object", "None"})
_QUICK_ROWS: Final = 250
"""Rows that are written on the event loop; a row takes some 50 µs."""
_QUICK_BYTES: Final = 500_000
"""Bytes of objects that are written on the event loop."""
_encode: Final = msgspec.json.Encoder().encode


class TableRepresentation:
    """Writes objects as a Table of meta.k8s.io.

    Args:
        served: The resource.
        version: Of meta.k8s.io, ``v1`` or ``v1beta1``.
        include: What a row has of its object: ``Metadata``, which is the default, ``Object`` or ``None``.
        clock: The clock that ages refer to.
    """

    def __init__(self, served: ServedResource, version: str, *, include: str, clock: Clock) -> None:
        self._served = served
        self._metadata = MetadataOnly(served, version, is_list=False)
        self._head = f'{{"kind":"Table","apiVersion":"meta.k8s.io/{version}","metadata":'.encode()
        self._include = include
        self._clock = clock
        self._owes_columns = True

    def one(self, value: bytes) -> bytes:
        """Write a stored object.

        Raises:
            StatusFailure: What rows should include is not known.
        """
        self.open_stream()
        return self._table_of_one(value)

    def encoded(self, body: bytes) -> bytes:
        """Write an object of another kind, given its JSON.

        Raises:
            StatusFailure: What rows should include is not known.
        """
        self.open_stream()
        found = cast("Plain", msgspec.json.decode(body))
        printer = self._printer_of(found)
        row = self._row(printer, found, body[1:], lambda: body)
        return self._table(printer, _version_of(found), b"[%b]" % row)

    def _printer_of(self, found: Plain) -> Printer:
        """The printer of an object of another kind: a scale, which custom resources show in another way."""
        if self._served.is_custom:
            from masthead._printers.custom import CUSTOM_SCALE

            return CUSTOM_SCALE
        return printer_for(found["apiVersion"].rpartition("/")[0], found["kind"])

    def page(self, page: Page) -> bytes:
        """Write a list.

        Raises:
            StatusFailure: What rows should include is not known.
        """
        self.open_stream()
        self._served.codec.require(record.value for record in page.records)
        printer = self._served.printer
        rows = b"[%b]" % b",".join([self._row_of(record.value) for record in page.records])
        is_null = printer.writes_null and not page.records
        return self._table(printer, list_metadata(page), b"null" if is_null else rows)

    def is_slow(self, page: Page) -> bool:
        """Whether writing a list takes too long for the event loop, as every object is decoded and printed."""
        # What a webhook converts can be found in the event loop alone.
        return len(page.records) > _QUICK_ROWS and not self._served.converts_by_webhook

    def open_stream(self) -> None:
        """Check what rows should include.

        Raises:
            StatusFailure: It is not known.
        """
        if self._include not in _INCLUDES:
            problem = invalid("includeObject", self._include, "must be 'Metadata', 'Object', 'None', or empty")
            raise bad_request(f"Unable to convert to Table as requested: {problem}")

    def event(self, kind: bytes, value: bytes) -> bytes:
        """Write the line of a watch event about a stored object; only the first has the columns."""
        return event_line(kind, self._table_of_one(value))

    def bookmark(self, metadata: Plain) -> bytes:
        """Write the line of a bookmark, which has a row as any other object."""
        codec = self._served.codec
        blank = codec.blank(metadata)
        body = codec.encode(blank)
        row = self._row(self._served.printer, blank, body[1:], lambda: body)
        return event_line(b"BOOKMARK", self._table(self._served.printer, _version_of(blank), b"[%b]" % row))

    def _table_of_one(self, value: bytes) -> bytes:
        found = self._served.printable(value)
        row = self._row(self._served.printer, found, value, lambda: self._served.codec.write(value))
        return self._table(self._served.printer, _version_of(found), b"[%b]" % row)

    def _table(self, printer: Printer, metadata: Plain, rows: bytes) -> bytes:
        columns = _columns(printer) if self._owes_columns or printer.repeats_columns else b"null"
        self._owes_columns = False
        return b'%b%b,"columnDefinitions":%b,"rows":%b}' % (self._head, _encode(metadata), columns, rows)

    def _row_of(self, value: bytes) -> bytes:
        found = self._served.printable(value)
        return self._row(self._served.printer, found, value, lambda: self._served.codec.write(value))

    def _row(self, printer: Printer, found: Plain, value: bytes, whole: Callable[[], bytes]) -> bytes:
        cells = _encode(printer.cells(found, self._clock.now()))
        conditions = printer.conditions(found) if printer.conditions else []
        shown = b',"conditions":%b' % _encode(conditions) if conditions else b""
        return b'{"cells":%b%b,"object":%b}' % (cells, shown, self._object(found, value, whole))

    def _object(self, found: Plain, value: bytes, whole: Callable[[], bytes]) -> bytes:
        if self._include == "Object":
            return whole()
        # A client needs the bookmark that ends the initial events in any case.
        ends_initial_events = INITIAL_EVENTS_END in part(part(found, "metadata"), "annotations")
        return self._metadata.one(value) if self._include != "None" or ends_initial_events else b"null"


def _version_of(found: Plain) -> Plain:
    """The metadata of a table of one object."""
    version = part(found, "metadata").get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def _columns(printer: Printer) -> bytes:
    return _encode(
        [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            }
            for column in printer.columns
        ]
    )
