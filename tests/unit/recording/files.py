"""Recordings for tests, written line by line."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import msgspec

from masthead._recording.entries import Change, KindLine, Listed
from masthead._recording.writer import RecordingWriter

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from masthead._recording.entries import Entry, Head, Operation

BEGIN = 1_700_000_000_000_000
SECOND = 1_000_000


class Film:
    """Writes a recording of config maps, a second between two lines.

    Args:
        path: The file.
        begin: The time of the first line, in microseconds.
        head: Makes the head; None for a usual one.
    """

    def __init__(self, path: Path, *, begin: int = BEGIN, head: Any = None) -> None:
        self._clock = itertools.count(begin, SECOND)
        self.path = path
        self.writer = RecordingWriter(path, now=self.now, head=head)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.writer.close()

    def now(self) -> int:
        """The time of the next line."""
        return next(self._clock)

    def write(self, entry: Entry) -> None:
        """Write a line."""
        self.writer.write(entry)

    def kind(self, number: int = 0, **fields: Any) -> None:
        """Write a kind; config maps by default."""
        usual: dict[str, Any] = {"version": "v1", "kind": "ConfigMap", "plural": "configmaps", "short_names": ["cm"]}
        self.write(KindLine(time=self.now(), number=number, **{**usual, **fields}))

    def listed(self, version: int, **fields: Any) -> None:
        """Write the end of a list."""
        self.write(Listed(time=self.now(), kind=0, version=str(version), **fields))

    def change(
        self, op: Operation, name: str, version: int, *, uid: str = "", listed: bool = False, kind: int = 0, **data: str
    ) -> None:
        """Write a change of an object in the namespace ``shop``."""
        uid = uid or f"uid-{name}"
        self.write(
            Change(
                time=self.now(),
                kind=kind,
                op=op,
                namespace="shop",
                name=name,
                uid=uid,
                version=str(version),
                listed=listed,
                object=msgspec.Raw(msgspec.json.encode(config_map(name, version, uid, data))),
            )
        )


def config_map(name: str, version: int, uid: str, data: dict[str, str], *managers: dict[str, Any]) -> dict[str, Any]:
    """A config map as plain data."""
    metadata: dict[str, Any] = {"name": name, "namespace": "shop", "uid": uid, "resourceVersion": str(version)}
    if managers:
        metadata["managedFields"] = list(managers)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def head_of(**fields: Any) -> Any:
    """A function that makes a head."""
    from masthead._recording.entries import Head as HeadLine

    def make(time: int) -> Head:
        return HeadLine(time=time, version=1, **fields)

    return make
