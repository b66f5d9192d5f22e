"""Columns of custom resources: ``additionalPrinterColumns`` of a CustomResourceDefinition's version."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta.plain import entries, integer, is_integer, text
from masthead._printers.ages import age, moment
from masthead._printers.jsonpath import JsonPath, JsonPathError, VisitLimit, compile_path
from masthead._printers.numbers import go_float, go_json_float, json_number
from masthead._printers.printer import NAME, Column, Printer, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["CUSTOM_SCALE", "custom_printer", "printer_of_version"]

_MAX_INTEGER: Final = 2**63
_MAX_VALUES: Final = 20_000
"""Values that the paths of all columns may visit in one object."""


def printer_of_version(version: Plain) -> Printer:
    """Return the printer for a version of a CustomResourceDefinition, an element of ``spec.versions``."""
    definitions = entries(version, "additionalPrinterColumns")
    return custom_printer(definitions) if definitions else _NAME_AND_AGE


def custom_printer(definitions: Sequence[Plain]) -> Printer:
    """Return the printer for ``additionalPrinterColumns``.

    A column whose path cannot be parsed is left out, and all behind it, as kube-apiserver does.
    """
    columns: list[_CustomColumn] = []
    for definition in definitions:
        path = text(definition, "jsonPath")
        try:
            columns.append(_CustomColumn(_column(definition, path), compile_path(path)))
        # The server drops an invalid column and all columns behind it.
        except JsonPathError:
            break

    def cells(obj: Plain, now: datetime) -> list[Cell]:
        # One limit for all columns: there may be any number of them.
        limit = VisitLimit(_MAX_VALUES)
        return [name_of(obj), *(column.cell(obj, now, limit) for column in columns)]

    return Printer((NAME, *(column.column for column in columns)), cells)


def _column(definition: Plain, path: str) -> Column:
    return Column(
        text(definition, "name"),
        text(definition, "type"),
        text(definition, "format"),
        integer(definition, "priority"),
        text(definition, "description") or f"Custom resource definition column (in JSONPath format): {path}",
    )


@dataclass(frozen=True, slots=True)
class _CustomColumn:
    column: Column
    path: JsonPath

    def cell(self, obj: Plain, now: datetime, limit: VisitLimit) -> Cell:
        try:
            found = self.path.find(obj, limit=limit)
        except JsonPathError:
            return None
        return _cell(self.column.type, found[0], now) if found else None


def _cell(kind: str, value: object, now: datetime) -> Cell:
    """Return the cell of a value; None if it is not of the column's type."""
    match kind, value:
        case "string", _:
            return _print_value(value)
        # A bool is an int in Python, but not in Go.
        case (("integer" | "number" | "boolean"), bool()):
            return value if kind == "boolean" else None
        case "integer", int() | float():
            return _truncate(value)
        case "number", int() | float():
            return json_number(value)
        case "date", str():
            return _age(value, now)
        case _:
            return None


def _truncate(value: float) -> Cell:
    if abs(value) < _MAX_INTEGER:
        return int(value)
    # What Go's conversion makes of a number that does not fit.
    return -_MAX_INTEGER


def _age(value: str, now: datetime) -> str:
    if value in {"", "null"}:
        return "<unknown>"
    return "<invalid>" if moment(value) is None else age(value, now)


def _print_value(value: object) -> str:
    """Return a value as Go prints it."""
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case float():
            return go_float(value)
        case int():
            return str(value) if is_integer(value) else "<invalid>"
        case dict() | list():
            return _printed_json(cast("object", value))
        case _:
            return str(value)


def _printed_json(value: object) -> str:
    try:
        encoded = msgspec.json.encode(_with_go_numbers(value), order="sorted").decode()
    except (RecursionError, ValueError):  # it nests too deeply, or has a number that is too long
        return "<invalid>"
    # Go's encoder escapes these for HTML.
    for character in "<>&\u2028\u2029":
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return encoded


def _with_go_numbers(value: object) -> object:
    match value:
        case float():
            return msgspec.Raw(go_json_float(value).encode())
        case dict():
            items = cast("dict[str, object]", value).items()
            return {key: _with_go_numbers(item) for key, item in items}
        case list():
            return [_with_go_numbers(item) for item in cast("list[object]", value)]
        case _:
            return value


def _drop_descriptions(*definitions: Plain) -> Printer:
    """Return a printer for columns that are not of a definition, so that no description shows their paths."""
    printer = custom_printer(definitions)
    return replace(printer, columns=tuple(replace(column, description="") for column in printer.columns))


_AGE: Final[Plain] = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_NAME_AND_AGE: Final = _drop_descriptions(_AGE)
"""The printer of a version that has no columns."""
CUSTOM_SCALE: Final = _drop_descriptions(
    {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas"},
    {"name": "Available", "type": "integer", "jsonPath": ".status.replicas"},
    _AGE,
)
"""The printer for scales of custom resources."""
