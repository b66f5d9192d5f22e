"""Tables that a server makes: how to ask for them, and how to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead._client.pagination import name_kinds
from masthead._meta import typeinfo
from masthead._meta.metadata import ListMeta
from masthead._meta.v1 import PartialObjectMetadata
from masthead._printers.printer import Column
from masthead._printers.table import PrintedRow, PrintedTable, table
from masthead._rest.call import JSON
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from masthead._client.resource_target import ResourceTarget
    from masthead._meta.object import Object

__all__ = ["ACCEPT_TABLE", "TablePage", "read_page"]

_AS_TABLE: Final = f"{JSON};as=Table;v={{}};g=meta.k8s.io"
ACCEPT_TABLE: Final = f"{_AS_TABLE.format('v1')},{_AS_TABLE.format('v1beta1')},{JSON}"
"""The ``Accept`` header of kubectl: a table, or objects of a server that makes none."""


class _WireColumn(msgspec.Struct):
    name: str = ""
    type: str = ""
    format: str = ""
    priority: int = 0
    description: str = ""


class _WireRow(msgspec.Struct):
    cells: list[Any] | None = None
    object: msgspec.Raw = msgspec.Raw(b"null")


class _WireTable(msgspec.Struct, rename={"columns": "columnDefinitions"}):
    kind: str = ""
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    columns: list[_WireColumn] | None = None
    rows: list[_WireRow] | None = None


class TablePage(msgspec.Struct):
    """A page of a table.

    Attributes:
        metadata: Of the list.
        columns: The columns.
        items: The rows.
    """

    metadata: ListMeta
    columns: tuple[Column, ...]
    items: list[PrintedRow]

    def table(self, *, wide: bool, namespaces: bool) -> PrintedTable:
        """Return the table of this page, and of all that were joined to it."""
        return PrintedTable(
            self.columns,
            tuple(self.items),
            wide=wide,
            namespaces=namespaces,
            resource_version=self.metadata.resource_version,
            continue_=self.metadata.continue_,
        )


def read_page(body: bytes, target: ResourceTarget[Any], *, has_objects: bool) -> TablePage:
    """Read a Table, or a list of objects of a server that does not make tables.

    Args:
        body: The body of the response.
        target: The resource.
        has_objects: Whether rows have whole objects instead of their metadata.

    Raises:
        DecodeError: If it is neither.
    """
    try:
        found = typeinfo.decode_json(body, _WireTable)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"the response is not a table: {error}", kind="Table") from None
    # Aggregated API servers may not know tables, and return the objects.
    if found.kind != "Table":
        return _page_of_objects(body, target)
    item: type[Object] = target.item if has_objects else PartialObjectMetadata
    columns = [
        Column(column.name, column.type, column.format, column.priority, column.description)
        for column in found.columns or ()
    ]
    rows = [PrintedRow(tuple(row.cells or ()), _object_of(row, item)) for row in found.rows or ()]
    return TablePage(ListMeta.from_json(bytes(found.metadata)), tuple(columns), rows)


def _object_of(row: _WireRow, item: type[Object]) -> Object | None:
    data = bytes(row.object)
    return None if data == b"null" else item.from_wire(data)


def _page_of_objects(body: bytes, target: ResourceTarget[Any]) -> TablePage:
    listed = target.items.from_wire(body)
    name_kinds(listed)
    made = table(listed.items)
    return TablePage(listed.metadata, made.columns, list(made.rows))
