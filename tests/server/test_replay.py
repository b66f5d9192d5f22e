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
                assert replayed.revision <= moment, seed
                assert comparable(replayed.dump(), origin) == comparable(origin.dump(moment), replayed), seed


def comparable(dump: Any, other: Server) -> Any:
    """Leave out custom resources that the other server cannot decode, because it has no definition of them now."""
    defined = other.dump().get("customresourcedefinitions.apiextensions.k8s.io", {})
    return {
        resource: objects
        for resource, objects in dump.items()
        if not resource.endswith(".example.com") or resource in defined
    }


@pytest.mark.parametrize("seed", range(3))
def test_a_replayed_random_history_has_the_state_of_every_version(seed: int, tmp_path: Path) -> None:
    check_random_history(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 25) for start in range(100, 300, 25)], ids=str)
def test_many_replayed_random_histories_have_the_state_of_every_version(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        check_random_history(seed, tmp_path)


def versions(server: Server) -> dict[str, str]:
    found = server.dump().get("configmaps", {})
    return {key: cast("Any", each)["metadata"]["resourceVersion"] for key, each in found.items()}


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    """A ConfigMap that existed before, one that is created, changed and deleted, and one that is created last."""
    return maps(
        tmp_path / "incident.mhr",
        [
            ("STATE", config_map("old", 10)),
            ("ADDED", config_map("web", 20)),
            ("MODIFIED", config_map("web", 31, data={"x": "1"})),
            ("DELETED", config_map("web", 44, data={"x": "1"})),
            ("ADDED", config_map("last", 50)),
        ],
    )


def test_a_server_stands_at_the_end_of_a_recording_and_accepts_writes(incident: Path) -> None:
    with masthead.server.run(recording=incident, token=None) as server, closing(Caller(server.url)) as caller:
        assert server.replay.is_finished
        assert server.replay.version == "50"
        old = caller.call("GET", f"{MAPS}/old").json
        assert old["metadata"]["uid"] == "uid-old"
        assert old["metadata"]["creationTimestamp"] == "2026-02-01T00:00:00Z"
        created = caller.call("POST", MAPS, {"metadata": {"name": "new"}}).json
        assert created["metadata"]["resourceVersion"] == "51"


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("10", {"default/old": "10"}),
        ("+0s", {"default/old": "10"}),
        ("30", {"default/old": "10", "default/web": "20"}),
        ("+2s", {"default/old": "10", "default/web": "20"}),
        (START + timedelta(seconds=3), {"default/old": "10", "default/web": "31"}),
        (timedelta(seconds=4.5), {"default/old": "10"}),
        (2, {"default/old": "10", "default/web": "31"}),
    ],
)
def test_a_server_begins_at_any_moment(incident: Path, at: Any, expected: dict[str, str]) -> None:
    with masthead.server.run(recording=incident, at=at, token=None) as server:
        assert versions(server) == expected
        assert server.revision == max(map(int, expected.values())) or at == timedelta(seconds=4.5)


def test_watches_see_the_recorded_versions_at_their_times(incident: Path) -> None:
    """On a virtual clock, at twice the speed: a change that was a second later is half a second later."""
    clock = VirtualClock()
    with masthead.server.run(recording=incident, speed=2, clock=clock, token=None) as server:
        seen = []
        for _ in range(9):
            seen.append((str(server.replay.time - START), server.revision))
            server.advance(0.25)
        assert seen == [
            ("0:00:01", 10),
            ("0:00:01.500000", 10),
            ("0:00:02", 20),
            ("0:00:02.500000", 20),
            ("0:00:03", 31),
            ("0:00:03.500000", 31),
            ("0:00:04", 44),
            ("0:00:04.500000", 44),
            ("0:00:05", 50),
        ]
        assert server.replay.is_finished
        with closing(Caller(server.url)) as caller:
            events = caller.events(f"{MAPS}?watch=1&resourceVersion=10", 4)
        assert [
            (each["type"], each["object"]["metadata"]["name"], each["object"]["metadata"]["resourceVersion"])
            for each in events
        ] == [("ADDED", "web", "20"), ("MODIFIED", "web", "31"), ("DELETED", "web", "44"), ("ADDED", "last", "50")]


def test_a_server_that_plays_refuses_writes(incident: Path) -> None:
    running = masthead.server.run(recording=incident, speed=1, clock=VirtualClock, token=None)
    with running as server, closing(Caller(server.url)) as caller:
        refused = caller.call("POST", MAPS, {"metadata": {"name": "new"}})
        assert refused.code == 403
        assert "replays a recording until 2026-03-01T00:00:05Z" in refused.json["message"]
        server.advance(10)
        server.replay.block(timeout=60)
        assert caller.call("POST", MAPS, {"metadata": {"name": "new"}}).code == 201


def test_a_test_plays_until_a_moment_and_goes_on(incident: Path) -> None:
    with masthead.server.run(recording=incident, at="10", token=None) as server:
        for until, expected in (("20", 20), ("+3s", 31), (None, 50)):
            server.replay.play(until, speed=0)
            server.replay.block(timeout=60)
            assert server.revision == expected
        with pytest.raises(ValueError, match=r"the replay has passed that moment: it is at .* version 50"):
            server.replay.play("20")


def test_changes_apply_to_objects_that_a_client_has_written_meanwhile(incident: Path) -> None:
    with masthead.server.run(recording=incident, at="20", token=None) as server, closing(Caller(server.url)) as caller:
        patch = {"data": {"mine": "1"}, "metadata": {"finalizers": ["example.com/hold"]}}
        caller.call("PATCH", f"{MAPS}/web", patch, content_type=MERGE_PATCH)
        server.replay.play("31", speed=0, accepts_writes=True)
        server.replay.block(timeout=60)
        assert caller.call("GET", f"{MAPS}/web").json["data"] == {"mine": "1", "x": "1"}
        assert versions(server)["default/web"] == "31"
        server.replay.play(speed=0, accepts_writes=True)
        server.replay.block(timeout=60)
        # Whoever has added the finalizer removes it.
        assert caller.call("GET", f"{MAPS}/web").json["metadata"]["deletionTimestamp"]
        caller.call("PATCH", f"{MAPS}/web", {"metadata": {"finalizers": []}}, content_type=MERGE_PATCH)
        assert caller.call("GET", f"{MAPS}/web").code == 404


def test_a_deletion_that_only_a_list_has_shown_gets_a_free_version(tmp_path: Path) -> None:
    with Recorder(tmp_path / "gap.mhr") as recorder:
        recorder.write("configmaps", "STATE", config_map("a", 10))
        recorder.write("configmaps", "STATE", config_map("b", 12))
        recorder.write("configmaps", "DELETED", config_map("a", 10), listed=True)
        recorder.write("configmaps", "MODIFIED", config_map("b", 13))
        recorder.write("configmaps", "ADDED", config_map("a", 15, metadata={"uid": "second"}), listed=True)
    with masthead.server.run(recording=tmp_path / "gap.mhr", speed=0, token=None) as server:
        server.replay.block(timeout=60)
        assert [sorted(server.dump(each)["configmaps"]) for each in (12, 13, 14, 15)] == [
            ["default/a", "default/b"],
            ["default/a", "default/b"],
            ["default/b"],
            ["default/a", "default/b"],
        ]


def test_deletions_with_the_version_of_the_last_state_do_not_shift_later_versions(tmp_path: Path) -> None:
    changes = [
        ("ADDED", config_map("a", 10)),
        ("DELETED", config_map("a", 10)),
        ("ADDED", config_map("b", 12)),
        ("ADDED", config_map("c", 13)),
    ]
    with masthead.server.run(recording=maps(tmp_path / "a.mhr", changes), speed=0, token=None) as server:
        server.replay.block(timeout=60)
        assert versions(server) == {"default/b": "12", "default/c": "13"}
        assert server.dump(11).get("configmaps") is None


def test_an_object_that_was_recorded_in_two_versions_of_its_kind_is_written_once(tmp_path: Path) -> None:
    scaler = {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "10"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web"}},
    }
    later = {**scaler, "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "12"}}
    with Recorder(tmp_path / "scalers.mhr") as recorder:
        for found, op in ((scaler, "STATE"), (later, "MODIFIED")):
            for version in ("autoscaling/v1", "autoscaling/v2"):
                resource = "horizontalpodautoscalers.autoscaling"
                recorder.write(resource, cast("Any", op), {**found, "apiVersion": version}, version=version)
    with masthead.server.run(recording=tmp_path / "scalers.mhr", speed=0, token=None) as server:
        server.replay.block(timeout=60)
        assert server.revision == 12


def test_watches_survive_versions_that_are_far_apart(tmp_path: Path) -> None:
    """Other kinds of a cluster use up most versions; the history of the server is not that short."""
    far = [(10, "a"), (10_000_000, "b"), (90_000_000, "c")]
    path = maps(tmp_path / "far.mhr", [("ADDED", config_map(name, version)) for version, name in far])
    with masthead.server.run(recording=path, speed=0, token=None) as server, closing(Caller(server.url)) as caller:
        server.replay.block(timeout=60)
        events = caller.events(f"{MAPS}?watch=1&resourceVersion=10", 2)
    assert [each["object"]["metadata"]["resourceVersion"] for each in events] == ["10000000", "90000000"]


def test_kinds_without_a_recorded_definition_are_served_without_a_schema(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = {
        "apiVersion": "example.com/v1",
        "kind": "Site",
        "metadata": {
            "name": "a",
            "namespace": "shop",
            "uid": "u",
            "resourceVersion": "5",
            "generation": 3,
            "creationTimestamp": "2026-02-01T00:00:00Z",
        },
        "spec": {"anything": [1, {"x": None}]},
    }
    with Recorder(tmp_path / "sites.mhr") as recorder:
        recorder.write("sites.example.com", "STATE", site)
    with (
        caplog.at_level(logging.WARNING, logger="masthead.server"),
        masthead.server.run(recording=tmp_path / "sites.mhr", token=None) as server,
        closing(Caller(server.url)) as caller,
    ):
        assert caller.call("GET", "/apis/example.com/v1/namespaces/shop/sites/a").json == site
        assert caller.call("GET", "/api/v1/namespaces/shop").code == 200
    assert "sites.example.com was not recorded: its objects are served without a schema" in caplog.messages


def test_controllers_leave_recorded_objects_alone(tmp_path: Path) -> None:
    """A definition that was not yet established stays so; a new one is established."""
    found = define("sites")
    found["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    with Recorder(tmp_path / "definitions.mhr") as recorder:
        recorder.write("customresourcedefinitions.apiextensions.k8s.io", "STATE", found)
    running = masthead.server.run(recording=tmp_path / "definitions.mhr", token=None)
    with running as server, closing(Caller(server.url)) as caller:
        server.block_until_idle()
        assert server.revision == 7
        assert caller.call("GET", "/apis/example.com/v1/sites").code == 404
        caller.call("POST", _DEFINITIONS, define("zones"))
        server.block_until_idle()
        assert caller.call("GET", "/apis/example.com/v1/zones").code == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": "+1h"}, r"\+1h is after the end of the recording, 2026-03-01T00:00:05"),
        ({"at": "9"}, "version 9 is outside of the recording, which has 10 to 50"),
        ({"at": "soon"}, "'soon' is no moment of a recording: write a time as"),
        ({"at": 7}, "there is no change 7; there are 0 to 4"),
        ({"load": "x"}, r"leave out load=... \(--load\), or recording=... \(--from\)"),
        ({"data": "x"}, r"leave out data=... \(--data\), or"),
        ({"like": "kind"}, r"leave out like=... \(--like\), or"),
        ({"kubelet": True}, "leave out kubelet=True, or"),
        ({"nodes": 1}, r"leave out nodes=... \(--nodes, --node-template\), or"),
        ({"speed": -1}, "speed is a factor, or 0 for as fast as possible, not -1"),
        ({"speed": 1, "controllers": ["garbage"]}, "would be refused while it plays"),
    ],
)
def test_wrong_options_are_refused_in_one_line(incident: Path, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised, masthead.server.run(recording=incident, **options):
        pass
    assert "\n" not in str(raised.value)


def test_moments_and_speeds_are_for_recordings() -> None:
    for options in ({"at": "5"}, {"speed": 1}):
        with (
            pytest.raises(ConfigError, match="is for a replay: give recording="),
            masthead.server.run(**cast("Any", options)),
        ):
            pass
    with masthead.server.run() as server, pytest.raises(ConfigError, match="this server replays no recording"):
        _ = server.replay


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mhr"
    broken.write_text(json.dumps({"kind": "List"}))
    for recording, message in ((broken, "broken.mhr is no recording: "), (tmp_path / "none", "none does not exist")):
        with pytest.raises(ConfigError, match=message), masthead.server.run(recording=recording):
            pass
