"""Whether a recording has every change that the server made, while watches break, expire, and the recorder restarts.

The server's own change log is the judge. Where a change is missing, the next state of the object must be marked as seen
by a list; the state at the end must be the server's.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, NamedTuple

import masthead
import masthead.server
from masthead.api.core.v1 import ConfigMap
from masthead.recording import Recorder, Recording

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from masthead.server import Server

__all__ = ["Completeness", "measure_completeness"]

_OBJECTS: Final = 200
_ROUNDS: Final = 4
_PATIENCE: Final = 60.0


class Completeness(NamedTuple):
    """What a recording has of the server's changes.

    Attributes:
        changes: The changes that the server made while a recorder ran.
        lost: Those that are missing without a mark.
        in_gaps: Those that are missing in a gap.
        gaps: The number of gaps.
        differs: The number of objects that differ at the end.
    """

    changes: int
    lost: int
    in_gaps: int
    gaps: int
    differs: int


def measure_completeness(folder: Path, changes: int) -> Completeness:
    """Record a server in which faults come every few hundred changes, and compare.

    Args:
        folder: Where to write the recording.
        changes: How many changes to make.
    """
    path, rng = folder / "complete.mhr", random.Random(3)
    with (
        masthead.server.run(bootstrap=False, record_changes=True) as server,
        masthead.Client(kubeconfig=server.kubeconfig(), field_manager="bench") as client,
    ):
        last = _change(client, rng)
        for turn in range(_ROUNDS):
            # Each round is another recorder: what happens in between is in a gap as well.
            factory = masthead.SharedInformerFactory(client)
            informer = factory.core_v1.config_maps.informer
            with Recorder(factory, path), factory:
                factory.wait_for_cache_sync(timeout=_PATIENCE)
                for number in range(changes // _ROUNDS):
                    if number % 300 == 150:
                        _break_watch(server, turn)
                    last = _change(client, rng)
                informer.wait_for_version(last, timeout=_PATIENCE)
            if turn < _ROUNDS - 1:
                _change(client, rng)
        return _compare(server, path)


def _break_watch(server: Server, turn: int) -> None:
    where = {"resource": "configmaps", "after": 1}
    if turn % 2:
        server.faults.expire_watch(**where)  # type: ignore[arg-type]
    else:
        server.faults.drop_watch(**where)  # type: ignore[arg-type]


def _change(client: masthead.Client, rng: random.Random) -> ConfigMap:
    maps = client.core_v1.config_maps("default")
    name = f"map-{rng.randrange(_OBJECTS)}"
    if rng.random() < 0.1:
        maps.delete(name, ignore_not_found=True)
    return maps.apply(ConfigMap.new(name, data={"value": str(rng.random())}))


def _compare(server: Server, path: Path) -> Completeness:
    made = [
        (change.revision, change.type, change.key) for change in server.changes() if change.resource == "configmaps"
    ]
    with Recording(path) as recording:
        seen = {(int(change.version), change.key): change.is_listed for change in recording.changes()}
        gaps = len(recording.gaps)
        at_end = {change.key: int(change.version) for change in recording.at(len(recording) - 1).changes()}
    # Not by type: a list cannot tell whether an object was deleted and created again.
    missing = [(version, key) for version, _, key in made if (version, key) not in seen]
    in_gaps = sum(_is_in_gap(version, key, seen) for version, key in missing)
    last = {key: 0 if kind == "DELETED" else version for version, kind, key in made}
    differs = {key for key in {*last, *at_end} if last.get(key, 0) != at_end.get(key, 0)}
    return Completeness(len(made), len(missing) - in_gaps, in_gaps, gaps, len(differs))


def _is_in_gap(version: int, key: str, seen: Mapping[tuple[int, str], bool]) -> bool:
    """Whether the next recorded state of the object is marked: a list showed it, and states before may be missing."""
    later = [(other, is_listed) for (other, name), is_listed in seen.items() if name == key and other > version]
    return bool(later) and min(later)[1]
