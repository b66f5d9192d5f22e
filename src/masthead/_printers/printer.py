"""Printers: the columns of a kind, and what turns one object into cells.

A printer is pure. It gets an object as plain data and the current time, and returns a cell for each column, the
wide ones included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._meta.plain import part, text
from masthead._module import set_module
from masthead._printers.ages import age

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead._meta.plain import Plain

__all__ = ["AGE", "CREATED_AT", "NAME", "Cell", "Column", "Printer", "age_of", "name_of", "wide"]

Cell: TypeAlias = str | int | float | bool | None
"""The value of a column for one object; None if it is not set."""


@set_module("masthead.printers")
@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, as its server defines it.

    Attributes:
        name: Its name; kubectl prints it in upper case.
        type: ``string``, ``integer``, ``number``, ``boolean`` or ``date``.
        format: ``name`` for the object's name; mostly empty.
        priority: 0 for a column of every output; others appear in wide output only.
        description: The description of its cells.
    """

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Printer:
    """How objects of a kind appear in a table.

    Attributes:
        columns: The columns.
        cells: Returns the cells of an object at a time.
        conditions: Returns the conditions of an object's row, such as ``Completed``.
        writes_null: Whether a table of no objects has null instead of an empty list of rows.
        repeats_columns: Whether every event of a watch has the columns, and not only the first.
    """

    columns: tuple[Column, ...]
    cells: Callable[[Plain, datetime], list[Cell]]
    conditions: Callable[[Plain], list[Plain]] | None = None
    writes_null: bool = False
    repeats_columns: bool = False


NAME: Final = Column("Name", format="name")
AGE: Final = Column("Age")


def wide(name: str) -> Column:
    """Make a column that only wide output shows."""
    return Column(name, priority=1)


def name_of(obj: Plain) -> str:
    """Return the name of an object."""
    return text(part(obj, "metadata"), "name")


def age_of(obj: Plain, now: datetime) -> str:
    """Return how long ago an object was created."""
    return age(part(obj, "metadata").get("creationTimestamp"), now)


def _name_and_creation(obj: Plain, _: datetime) -> list[Cell]:
    created = text(part(obj, "metadata"), "creationTimestamp")
    # Go's zero time, the timestamp of an object without one.
    return [name_of(obj), created or "0001-01-01T00:00:00Z"]


CREATED_AT: Final = Printer((NAME, Column("Created At", "date")), _name_and_creation, writes_null=True)
"""Name and time of creation: kinds for which kube-apiserver has no printer of their own."""
