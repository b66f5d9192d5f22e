"""Replays of recordings: a server has the recorded state of a moment, and plays the changes after it."""

from __future__ import annotations

import json
import logging
import random
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, Caller
from tests.server.recordings import START, Recorder, config_map, maps, record

import masthead.server
from masthead.errors import ConfigError
from masthead.recording import Recording
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from masthead.server import Server

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def define(plural: str, scope: str = "Namespaced") -> Any:
    kind = plural.removesuffix("s").capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }


class History:
    """Random writes to a server."""

    PATHS = (
        ("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap"),
        ("/api/v1/namespaces/default/secrets", "v1", "Secret"),
        ("/apis/example.com/v1/namespaces/default/sites", "example.com/v1", "Site"),
        ("/apis/example.com/v1/zones", "example.com/v1", "Zone"),
        ("/apis/storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1", "StorageClass"),
    )

    def __init__(self, caller: Caller, seed: int) -> None:
        self._caller = caller
        self.random = random.Random(seed)

    def write(self, steps: int) -> None:
        for _ in range(steps):
            chosen = self.random.random()
            if chosen < 0.1:
                self._define()
            else:
                self._change(self.random.choice(self.PATHS))

    def _define(self) -> None:
        plural, scope = self.random.choice([("sites", "Namespaced"), ("zones", "Cluster")])
        if self._caller.call("POST", _DEFINITIONS, define(plural, scope)).code == 409 and self.random.random() < 0.3:
            self._caller.call("DELETE", f"{_DEFINITIONS}/{plural}.example.com")

    def _change(self, place: tuple[str, str, str]) -> None:
        path, version, kind = place
        name = self.random.choice("abc")
        body = {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": name},
            **({"provisioner": "x"} if kind == "StorageClass" else {}),
        }
        match self.random.choice(("create", "label", "label", "finalizer", "delete")):
            case "create":
                self._caller.call("POST", path, body)
            case "delete":
                self._caller.call("DELETE", f"{path}/{name}")
            case "finalizer":
                finalizers = self.random.choice([[], ["example.com/hold"]])
                patch: Any = {"metadata": {"finalizers": finalizers}}
                self._caller.call("PATCH", f"{path}/{name}", patch, content_type=MERGE_PATCH)
            case _:
                patch = {"metadata": {"labels": {"x": str(self.random.random())}}}
                self._caller.call("PATCH", f"{path}/{name}", patch, content_type=MERGE_PATCH)


def states(server: Server, since: int, until: int) -> dict[int, Any]:
    return {revision: server.dump(revision) for revision in range(since, until + 1)}


def check_random_history(seed: int, folder: Path) -> None:
    """Record a random history, replay it, and compare the states of all versions."""
    with masthead.server.run(record_changes=True, bootstrap=False, token=None) as origin:
        with closing(Caller(origin.url)) as caller:
            history = History(caller, seed)
            history.write(history.random.randrange(15))
            origin.block_until_idle()
            since = origin.revision if seed % 3 else 0
            history.write(25)
        origin.block_until_idle()
        path = record(origin, folder / f"{seed}.mhr", since=since, skew=history.random)
        with Recording(path) as recording:
            newest = max(int(change.version) for change in recording.changes())
            at = str(history.random.randint(max(since, 1), newest)) if newest > since else None
            with masthead.server.run(recording=recording, speed=0, token=None) as replayed:
                replayed.replay.block(timeout=30)
                assert replayed.revision == newest, seed
                # The state before the first change that is played is compacted.
                first = max(since, 1)
                assert states(replayed, first, newest) == states(origin, first, newest), seed
            with masthead.server.run(recording=recording, at=at, token=None) as replayed:
                moment = int(at or newest)
                print("AT", at, since, newest, replayed.revision, {k: list(v) for k, v in replayed.dump().items()}, {k: list(v) for k, v in origin.dump(moment).items()})
                assert replayed.dump() == dump_of_served(origin, replayed, moment), seed


def dump_of_served(origin: Server, replayed: Server, revision: int) -> Any:
    """The objects of a revision; those of definitions that exist only at one of the two moments cannot be compared."""
    served = set(origin.dump()) | {resource for resource in replayed.dump() if resource in origin.dump(revision)}
    return {resource: found for resource, found in origin.dump(revision).items() if resource in served}


@pytest.mark.parametrize("seed", range(3))
def test_a_replayed_random_history_has_the_state_of_every_version(seed: int, tmp_path: Path) -> None:
    check_random_history(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 25) for start in range(100, 300, 25)], ids=str)
def test_many_replayed_random_histories_have_the_state_of_every_version(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        check_random_history(seed, tmp_path)
