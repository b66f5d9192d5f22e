"""Go's types of the fields of built-in kinds, where neither the generated classes nor their schemas tell them.

`go_types_table` has a text for each package below `masthead.api`. A row of the text names a type and its unexpected
fields; continuation lines of a row are indented::

    PodSpec activeDeadlineSeconds:* containers! restartPolicy:RestartPolicy
    ConfigMapKeySelector name? optional:* LocalObjectReference(name)

- ``name:type`` is of a type with a name. A type without a package is of the version's own.
- ``name:*`` is a pointer to a scalar, whose zero is preserved, or a pointer that is written as null.
- ``name?`` is left out when it is empty, although its zero is its default.
- ``name!`` is written when it is empty, although it has no default.
- ``name=`` is kept when it is empty, because defaults depend on whether it is there; validation refuses it then.
- ``Embedded(name ...)`` are the fields of an embedded struct, which Go names in errors.

Lists are not in it: no request has one as its body.
"""

from __future__ import annotations

import functools
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.resources.go_types_table import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["GoField", "fields_of"]


class GoField(NamedTuple):
    """Go's facts about a field.

    Attributes:
        type: Its type, without the pointer; empty for the type of the class.
        is_pointer: Whether it is a pointer to a scalar, or a pointer that is written as null.
        is_omitted: Whether it is left out when it is empty; None if that is as its default suggests.
        is_kept: Whether an empty list is kept in a decoded object, rather than dropped.
        embedded: The embedded struct that it is a field of.
    """

    type: str = ""
    is_pointer: bool = False
    is_omitted: bool | None = None
    embedded: str = ""
    is_kept: bool = False


_EMBEDDED: Final = re.compile(r"([\w.]+)\(([^)]*)\)")
_ENTRY: Final = re.compile(r"([\w$-]+)(?::(\*?)([\w.\[\]]*))?([?!=]?)")
_OWN_NAME: Final = re.compile(r"(?<![\w.])([A-Z]\w*)(?![\w.])")
_OMITTED: Final = {"?": True, "!": False}
_NO_FIELDS: Final[Mapping[str, GoField]] = MappingProxyType({})


def fields_of(package: str, name: str) -> Mapping[str, GoField]:
    """Return the unusual fields of a type, by their names in JSON.

    Args:
        package: The package of the type, below `masthead.api`, such as ``core.v1``.
        name: Its name.
    """
    row = _rows(package).get(name)
    return _NO_FIELDS if row is None else _parse(row, package.partition(".")[2])


@functools.cache
def _rows(package: str) -> Mapping[str, str]:
    """Return the rows of a package, by type; none for a package outside Kubernetes."""
    rows = re.split(r"\n(?=\S)", TYPES.get(package, "").strip())
    return {row.partition(" ")[0]: row.partition(" ")[2] for row in rows}


def _parse(row: str, version: str) -> Mapping[str, GoField]:
    parsed = {entry[1]: _field(entry, version) for entry in _entries(_EMBEDDED.sub("", row))}
    for embedded, names in _EMBEDDED.findall(row):
        for name in names.split():
            parsed[name] = parsed.get(name, GoField())._replace(embedded=embedded)
    return parsed


def _entries(text: str) -> Iterator[re.Match[str]]:
    for word in text.split():
        if entry := _ENTRY.fullmatch(word):
            yield entry


def _field(entry: re.Match[str], version: str) -> GoField:
    _, star, written, flag = entry.groups(default="")
    return GoField(
        _OWN_NAME.sub(rf"{version}.\1", written),
        is_pointer=bool(star),
        is_omitted=_OMITTED.get(flag),
        is_kept=flag == "=",
    )
