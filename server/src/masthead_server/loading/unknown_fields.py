"""Fields of a dump that this server does not have: misspelt ones, or those of a newer version of Kubernetes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead_server.loading.sources import DumpedObject

__all__ = ["UnknownFields"]

_INDEX: Final = re.compile(r"\[[0-9]+\]")


class _Field(NamedTuple):
    """A field without indices, of a kind."""

    api_version: str
    kind: str
    path: str


class _Finding(NamedTuple):
    first: DumpedObject
    path: str
    objects: int


class UnknownFields:
    """Collects the unknown fields of objects: a dump has hundreds of objects of a kind, all with the same ones."""

    def __init__(self) -> None:
        self._findings: dict[_Field, _Finding] = {}

    def add(self, dumped: DumpedObject, paths: Iterable[str]) -> None:
        """Add the unknown fields of an object."""
        content = dumped.content
        # A list of containers may have a field several times.
        fields = {_Field(content["apiVersion"], content["kind"], _INDEX.sub("", path)): path for path in paths}
        for field, path in fields.items():
            known = self._findings.get(field)
            self._findings[field] = known._replace(objects=known.objects + 1) if known else _Finding(dumped, path, 1)

    def warnings(self) -> Iterator[str]:
        """Yield a message for each field of each kind, with the first of its objects."""
        for dumped, path, objects in self._findings.values():
            others = f", nor those of {objects - 1} more of this kind" if objects > 1 else ""
            yield f'{dumped.place}, {dumped.title}: the unknown field "{path}" is not loaded{others}'
