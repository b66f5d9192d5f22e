"""A resource that is followed: an informer's copy of it, its changes, and the rows that the server would print."""

from __future__ import annotations

import queue
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from masthead._cli.fetching import ObjectSelection, fetch_table
from masthead._cli.references import missing
from masthead._printers.ages import human_duration
from masthead._printers.kinds import printer_for
from masthead._printers.table import PrintedRow
from masthead.errors import MastheadError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Self

    import masthead
    from masthead._cli.references import Selected
    from masthead._discovery.model import ServedResource
    from masthead._meta.unstructured import Unstructured
    from masthead._printers.printer import Column, Printer
    from masthead._printers.table import PrintedTable

__all__ = ["Key", "Mirror", "RowChange", "row_of", "with_name"]

Key: TypeAlias = tuple[str, str]
"""Namespace and name of an object."""

_START_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of an object.

    Attributes:
        type: The type of the change.
        obj: The object after the change, or its last state if it was deleted.
    """

    type: Literal["added", "changed", "deleted"]
    obj: Unstructured

    @property
    def key(self) -> Key:
        """Namespace and name of the object."""
        return self.obj.metadata.namespace, self.obj.metadata.name


class Mirror:
    """Follows a resource across dropped connections; to be used in ``with``.

    It begins with the table of the server, whose rows are not announced as changes. Later rows are made here if this
    version of the library knows the columns that the server has, else the server is asked for them.

    One thread reads it.
    """

    def __init__(self, client: masthead.Client, selected: Selected, selection: ObjectSelection) -> None:
        """Describe what to follow; nothing is sent before the ``with`` block.

        Args:
            client: The client.
            selected: The resource, with at most one name.
            selection: The selectors.
        """
        self._client = client
        self._selected = selected
        self._selection = with_name(selection, selected.names)
        self._changes: queue.SimpleQueue[RowChange] = queue.SimpleQueue()
        self._known: dict[Key, PrintedRow] = {}

    def __enter__(self) -> Self:
        """Get the table, and follow from there.

        Raises:
            CommandError: If one object is meant, and it does not exist.
            MastheadError: As any call.
        """
        from masthead._sync.informer import SharedInformer

        # By field selector instead of by name, so that table and informer have the same scope.
        everything = replace(self._selected, names=())
        found = fetch_table(self._client, everything, selection=self._selection).table
        assert found is not None
        if self._selected.names and not found.rows:
            raise missing(self._client, self._selected, self._selected.names[0])
        self.first: PrintedTable = found
        self._printer = _printer_with(found.columns, self._client, self._selected.resource)
        self._known = {(row.namespace, row.name): row for row in found.rows}
        resource = self._client.dynamic(self._selected.resource.gvr, namespace=self._selected.namespace)
        self._informer = SharedInformer(
            resource, label_selector=self._selection.labels, field_selector=self._selection.fields
        )
        self._informer.add_event_handler(
            on_add=lambda obj: self._changes.put(RowChange("added", obj)),
            on_update=lambda _, obj: self._changes.put(RowChange("changed", obj)),
            on_delete=lambda obj: self._changes.put(RowChange("deleted", obj)),
        )
        self._informer.start()
        # `as_of` reads the indexer as soon as the block begins.
        self._informer.wait_for_cache_sync(timeout=_START_TIMEOUT)
        return self

    def __exit__(self, *exc: object) -> None:
        self._informer.stop()

    @property
    def health(self) -> masthead.cache.InformerHealth:
        """How the informer is doing."""
        return self._informer.health

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the rows, as the server has them."""
        return self.first.columns

    def next(self, timeout: float) -> RowChange | None:
        """Wait for the next change; return None after the timeout.

        Args:
            timeout: Seconds to wait; 0 to return without waiting.
        """
        try:
            change = self._changes.get(timeout=timeout) if timeout > 0 else self._changes.get_nowait()
        except queue.Empty:
            return None
        known = self._known.get(change.key)
        # The informer's first list announces all objects; only those newer than the table are changes.
        if change.type == "added" and known is not None and _version(known) == _version_of(change.obj):
            return self.next(0)  # it was in the table
        return change

    def row(self, change: RowChange, now: datetime) -> PrintedRow:
        """Return the row of a changed object.

        Args:
            change: The change.
            now: The time that ages refer to.
        """
        if self._printer is not None:
            return row_of(self._printer, change.obj, now)
        # The server prints no row for an object that no longer exists.
        if change.type != "deleted":
            self._known[change.key] = self._fetch_row(change)
        return self._known.get(change.key) or PrintedRow((change.obj.metadata.name,), change.obj)

    def as_of(self, row: PrintedRow, now: datetime) -> PrintedRow:
        """Return the row with the ages at another time.

        Args:
            row: The row.
            now: The time that ages refer to.
        """
        key = f"{row.namespace}/{row.name}" if row.namespace else row.name
        # Without a printer here, only the age of the server's row can be updated.
        obj = self._informer.indexer.get_by_key(key) if self._printer is not None else None
        if self._printer is not None and obj is not None:
            return row_of(self._printer, obj, now)
        return _update_ages(row, self.columns, now)

    def _fetch_row(self, change: RowChange) -> PrintedRow:
        """The row as the server makes it; its last one if it cannot be asked now."""
        namespace = change.obj.metadata.namespace or None
        one = replace(self._selected, names=(change.obj.metadata.name,), namespace=namespace)
        try:
            table = fetch_table(self._client, one).table
        # A row that is out of date is better than none; the connection's problem is reported elsewhere.
        except MastheadError:
            table = None
        if table is not None and table.rows:
            return table.rows[0]
        return self._known.get(change.key) or PrintedRow((change.obj.metadata.name,), change.obj)


def row_of(printer: Printer, obj: Unstructured, now: datetime) -> PrintedRow:
    """Make the row of an object here."""
    return PrintedRow(tuple(printer.cells(obj.to_dict(), now)), obj)


def _update_ages(row: PrintedRow, columns: Sequence[Column], now: datetime) -> PrintedRow:
    """Return the row with its current age, and otherwise unchanged."""
    created = getattr(getattr(row.object, "metadata", None), "creation_timestamp", None)
    if created is None:
        return row
    seconds = (now - created).total_seconds()
    cells = [
        human_duration(seconds) if column.name == "Age" else cell
        for cell, column in zip(row.cells, columns, strict=False)
    ]
    return replace(row, cells=tuple(cells))


def with_name(selection: ObjectSelection, names: Sequence[str]) -> ObjectSelection:
    """The selection of one object by its name; unchanged without one."""
    if not names:
        return selection
    terms = [term for term in (selection.fields, f"metadata.name={names[0]}") if term]
    return replace(selection, fields=",".join(terms))


def _printer_with(columns: Sequence[Column], client: masthead.Client, resource: ServedResource) -> Printer | None:
    """What makes the same columns as the server here; None if nothing does."""
    # Compared by name: a newer server or another CRD version has columns that would be mislabelled here.
    wanted = [column.name for column in columns]
    for printer in (printer_for(resource.gvk.group, resource.kind), _custom_printer(client, resource)):
        if printer is not None and [column.name for column in printer.columns] == wanted:
            return printer
    return None


def _custom_printer(client: masthead.Client, resource: ServedResource) -> Printer | None:
    """The printer of a custom resource, if its definition may be read."""
    from masthead._printers.custom import printer_of_version

    definitions = client.dynamic("apiextensions.k8s.io/v1", "customresourcedefinitions")
    try:
        # Not a custom resource, or not readable: the server is then asked for each row.
        found = definitions.get(resource.gvr.group_resource).to_dict()
    except MastheadError:
        return None
    versions = cast("list[dict[str, object]]", cast("dict[str, object]", found["spec"])["versions"])
    return next(
        (printer_of_version(version) for version in versions if version.get("name") == resource.gvr.version),
        None,
    )


def _version(row: PrintedRow) -> str:
    return _version_of(row.object)


def _version_of(obj: object) -> str:
    metadata = getattr(obj, "metadata", None)
    return str(getattr(metadata, "resource_version", ""))
