"""Writes recordings of embedded servers, from their change logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from masthead._recording.entries import Change, KindLine, Listed, Reconcile
from masthead._recording.writer import RecordingWriter

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from typing import Self

    from masthead._recording.entries import Entry, Operation
    from masthead.server import Server

START = datetime(2026, 3, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))


class Recorder:
    """Writes a recording whose changes are a second apart.

    Args:
        path: The file.
        skew: Lets changes of different kinds be seen in another order.
    """

    def __init__(self, path: Path, skew: random.Random | None = None) -> None:
        self._now = micros(START)
        self._skew = skew
        self._writer = RecordingWriter(path, now=lambda: self._now)
        self._kinds: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def begin(self, server: Server, revision: int) -> None:
        """Write the objects of a revision."""
        for resource, objects in server.dump(revision).items():
            for found in objects.values():
                self._change(resource, "STATE", found)
            if objects:
                self._write(Listed(time=self._now, kind=self._kinds[resource], version=str(revision)))

    def follow(self, server: Server, since: int = 0, *, keep: Callable[[Any], bool] = lambda _: True) -> None:
        """Write the changes after a revision."""
        waiting = [change for change in server.changes(since) if keep(change)]
        while waiting:
            # Each kind in its order, as its watch sends it.
            heads = list({change.resource: change for change in reversed(waiting[:4])}.values())
            change = self._skew.choice(heads) if self._skew else waiting[0]
            waiting.remove(change)
            self._now += 1_000_000
            self._change(change.resource, change.type, change.object)

    def write(self, resource: str, op: Operation, found: Any, *, listed: bool = False, version: str = "") -> None:
        """Write one change.

        Args:
            resource: The resource, such as ``deployments.apps``.
            op: What happened.
            found: The object.
            listed: Whether a list has shown it.
            version: Makes a kind of its own for a further version of the resource.
        """
        self._now += 1_000_000
        self._change(resource, op, found, listed=listed, version=version)

    def reconcile(self, controller: str, name: str, *writes: dict[str, Any]) -> None:
        """Write a reconcile that began two seconds ago."""
        began = self._now - 2_000_000
        self._write(Reconcile(time=self._now, controller=controller, name=name, began=began, writes=list(writes)))

    def _change(self, resource: str, op: Any, found: Any, *, listed: bool = False, version: str = "") -> None:
        plural, _, group = resource.partition(".")
        resource += version
        if resource not in self._kinds:
            self._kinds[resource] = len(self._kinds)
            self._write(
                KindLine(
                    time=self._now,
                    number=self._kinds[resource],
                    group=group,
                    version=found["apiVersion"].rpartition("/")[2],
                    kind=found["kind"],
                    plural=plural,
                    namespaced="namespace" in found["metadata"],
                )
            )
        meta = found["metadata"]
        self._write(
            Change(
                time=self._now,
                kind=self._kinds[resource],
                op=op,
                namespace=meta.get("namespace", ""),
                name=meta["name"],
                uid=meta.get("uid", ""),
                version=meta.get("resourceVersion", ""),
                listed=listed,
                object=msgspec.Raw(msgspec.json.encode(found)),
            )
        )

    def _write(self, entry: Entry) -> None:
        self._writer.write(entry)


def record(server: Server, path: Path, *, since: int = 0, skew: random.Random | None = None) -> Path:
    """Record a server: its objects at a revision, and all changes after it."""
    with Recorder(path, skew) as recorder:
        if since:
            recorder.begin(server, since)
        recorder.follow(server, since)
    return path


def config_map(name: str, version: int, **fields: Any) -> dict[str, Any]:
    """A ConfigMap as a server has it."""
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-02-01T00:00:00Z",
            **fields.pop("metadata", {}),
        },
        **fields,
    }


def maps(path: Path, changes: Iterable[tuple[Any, Any]]) -> Path:
    """Write a recording of ConfigMaps."""
    with Recorder(path) as recorder:
        for op, found in changes:
            recorder.write("configmaps", op, found)
    return path
