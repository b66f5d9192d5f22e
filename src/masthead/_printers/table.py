"""Tables that users see: made from objects here, or by a server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import msgspec

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import Object
from masthead._meta.plain import entries, labels, part, text
from masthead._module import set_module
from masthead._printers.formats import format_labels
from masthead._printers.kinds import printer_for
from masthead._printers.layout import as_html, cell_text, lay_out
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell, Column, Printer

__all__ = ["Printable", "PrintedRow", "PrintedTable", "table"]

Printable: TypeAlias = "Object | Mapping[str, object]"
"""An object, or its plain data."""

_MAX_HTML_ROWS: Final = 200
"""How many rows a notebook shows; ``print`` shows all."""


@set_module("masthead.printers")
@dataclass(frozen=True, slots=True)
class PrintedRow:
    """One object in a table.

    Attributes:
        cells: A value for each column, the wide ones included.
        object: The object; of a server's table its metadata, unless whole objects were requested.
    """

    cells: tuple[Cell, ...]
    object: Object | Mapping[str, object] | None = None

    @property
    def name(self) -> str:
        """The name of the object."""
        return text(self._metadata(), "name")

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty if it has none."""
        return text(self._metadata(), "namespace")

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the object."""
        return labels(self._metadata(), "labels")

    def _metadata(self) -> Plain:
        found = self.object
        if isinstance(found, Object):
            metadata = found.metadata
            return {"name": metadata.name, "namespace": metadata.namespace, "labels": dict(metadata.labels)}
        return part(cast("Plain", found), "metadata") if isinstance(found, dict) else {}


@set_module("masthead.printers")
@dataclass(frozen=True, slots=True)
class PrintedTable:
    """Objects of one kind as rows and columns. Its text is what ``kubectl get`` prints.

    Attributes:
        columns: The columns, the wide ones included.
        rows: The rows, in the order of the objects.
        wide: Whether its text has the wide columns, as with ``-o wide``.
        namespaces: Whether its text has the namespaces, as with ``-A``.
        resource_version: The resource version of the list; empty if it was made from single objects.
        continue_: The token of the next page, if only one page was requested.
    """

    columns: tuple[Column, ...]
    rows: tuple[PrintedRow, ...]
    wide: bool = False
    namespaces: bool = False
    resource_version: str = ""
    continue_: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[PrintedRow]:
        return iter(self.rows)

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """The table as text, with the defaults of `format`; empty if it has no rows."""
        return self.format()

    def format(
        self,
        *,
        wide: bool | None = None,
        namespaces: bool | None = None,
        labels: bool = False,
        headers: bool = True,
    ) -> str:
        """Return the table as text; empty if it has no rows.

        Args:
            wide: Whether to show the wide columns; None for the table's setting.
            namespaces: Whether to show namespaces; None for the table's setting.
            labels: Whether to show labels.
            headers: Whether to show the names of the columns.
        """
        if not self.rows:
            return ""
        return lay_out(
            self._lines(
                self.rows,
                wide=self.wide if wide is None else wide,
                namespaces=self.namespaces if namespaces is None else namespaces,
                labels=labels,
                headers=headers,
            )
        )

    def _repr_html_(self) -> str:
        """The table as notebooks show it: at most 200 rows."""
        # A notebook would become slow with more.
        shown = self.rows[:_MAX_HTML_ROWS]
        header, *lines = self._lines(shown, wide=self.wide, namespaces=self.namespaces, labels=False, headers=True)
        rest = len(self.rows) - len(shown)
        caption = f"{rest} more rows" if rest else "" if shown else "no rows"
        return as_html(header, lines, caption)

    def _lines(
        self, rows: Sequence[PrintedRow], *, wide: bool, namespaces: bool, labels: bool, headers: bool
    ) -> list[list[str]]:
        """The texts of the cells, line by line."""
        shown = [index for index, column in enumerate(self.columns) if wide or column.priority == 0]
        lines = [self._header(shown, has_namespaces=namespaces, has_labels=labels)] if headers else []
        for row in rows:
            # A server may send fewer cells than columns.
            line = [cell_text(row.cells[index]) for index in shown if index < len(row.cells)]
            if namespaces:
                line.insert(0, cell_text(row.namespace))
            if labels:
                line.append(cell_text(format_labels(row.labels)))
            lines.append(line)
        return lines

    def _header(self, shown: Sequence[int], *, has_namespaces: bool, has_labels: bool) -> list[str]:
        names = [self.columns[index].name.upper() for index in shown]
        return [
            *(["NAMESPACE"] if has_namespaces else []),
            *names,
            *(["LABELS"] if has_labels else []),
        ]

    def records(self) -> list[dict[str, Cell]]:
        """Return a dict for each row, from the names of the columns to the values."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row.cells, strict=False)) for row in self.rows]


@set_module("masthead.printers")
def table(
    objects: Iterable[Printable],
    *,
    wide: bool = False,
    namespaces: bool = False,
    now: datetime | None = None,
    definition: Printable | None = None,
) -> PrintedTable:
    """Make a table of objects of one kind, with the columns and cells that a server would send.

    ::

        print(table(pods.list()))
        print(table(informer.lister.list(), wide=True, namespaces=True))

    Args:
        objects: Typed or unstructured objects, or plain data: from a cache, a list or a manifest.
        wide: Whether its text has the wide columns.
        namespaces: Whether its text has the namespaces.
        now: The time that ages refer to; None for the current time.
        definition: The CustomResourceDefinition of the objects, which has their columns. Without it, custom
            resources have a name and an age.

    Raises:
        ArgumentError: If the objects are of several kinds, or the definition has no such version.
        DecodeError: If an object was changed so that it cannot be encoded.
    """
    moment = now or datetime.now(UTC)
    printer: Printer | None = None
    first = GroupVersionKind("", "", "")
    rows: list[PrintedRow] = []
    for obj in objects:
        kind = _kind_of(obj)
        # The first object decides about the columns.
        if printer is None:
            first, printer = kind, _printer_of(kind, definition)
        elif (kind.group, kind.kind) != (first.group, first.kind):
            raise ArgumentError(
                f"a table has objects of one kind, and these are of {first.kind} and {kind.kind}; make a table of each",
                value=kind.kind,
            )
        rows.append(PrintedRow(tuple(printer.cells(_plain(obj), moment)), obj))
    columns = printer.columns if printer is not None else ()
    return PrintedTable(columns, tuple(rows), wide=wide, namespaces=namespaces)


def _printer_of(kind: GroupVersionKind, definition: Printable | None) -> Printer:
    if definition is None:
        return printer_for(kind.group, kind.kind)
    from masthead._printers.custom import printer_of_version

    # The columns are those of one version.
    for version in entries(part(_plain(definition), "spec"), "versions"):
        if text(version, "name") == kind.version:
            return printer_of_version(version)
    raise ArgumentError(f"the definition has no version {kind.version!r}", value=kind.version)


def _kind_of(obj: Printable) -> GroupVersionKind:
    if isinstance(obj, Object):
        return obj.gvk
    data = cast("Plain", obj)
    return GroupVersionKind.of(text(data, "apiVersion"), text(data, "kind"))


def _plain(obj: Printable) -> Plain:
    """Return an object as plain data."""
    if isinstance(obj, Object):
        # Sections that were not read are copied as bytes.
        return cast("Plain", msgspec.json.decode(obj.to_json()))
    return obj if isinstance(obj, dict) else dict(cast("Mapping[str, Any]", obj))
