"""Operators run against recorded incidents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.recordings import START, Recorder, config_map

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ArgumentError, ManagerStateError
from masthead.recording import Recording
from masthead.testing import BlockingEnvironment, Environment, in_virtual_time

if TYPE_CHECKING:
    from pathlib import Path

_TIME = "2026-03-01T00:00:00Z"


def entry(manager: str, field: str = "f:data", time: str = _TIME) -> dict[str, Any]:
    fields: dict[str, Any] = {field: {"f:x": {}}}
    return {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": time, "fieldsV1": fields}


def secret(name: str, version: int, **fields: Any) -> dict[str, Any]:
    managers = fields.pop("managers", ["kubectl"])
    metadata = {**fields.pop("metadata", {}), "managedFields": [entry(each) for each in managers]}
    return config_map(name, version, **fields, metadata=metadata) | {"kind": "Secret"}


def copied(name: str, version: int, *managers: str, **fields: Any) -> dict[str, Any]:
    return config_map(name, version, metadata={"managedFields": [entry(each) for each in managers]}, **fields)


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    """Two secrets; the operator of then has copied one of them wrongly, and a user has corrected it."""
    path = tmp_path / "incident.mhr"
    with Recorder(path) as recorder:
        recorder.write("secrets", "STATE", secret("old", 10, data={"x": "UkVEQUNURUQ="}))
        recorder.write("configmaps", "STATE", copied("old", 11, "copies"))
        recorder.write("secrets", "ADDED", secret("web", 20))
        recorder.write("configmaps", "ADDED", copied("web", 21, "copies", data={"x": "wrong"}))
        recorder.write("configmaps", "MODIFIED", copied("web", 22, "copies", "kubectl", data={"x": "wrong", "y": "1"}))
        recorder.write("configmaps", "ADDED", copied("other", 23, "kubectl"))
        recorder.write("secrets", "DELETED", secret("web", 40))
    return path


def make_operator() -> masthead.Manager:
    app = masthead.Manager("copies")

    @app.controller(Secret, name="copies", owns=[ConfigMap])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], found: Secret) -> None:
        await ctx.apply(ConfigMap.new(found.metadata.name, data={"x": "right"}))

    return app


@in_virtual_time
async def test_an_operator_makes_its_own_writes_instead_of_the_recorded_ones(incident: Path) -> None:
    async with Environment(make_operator, recording=incident, until="+6s") as env:
        # The time of the incident: it began with the second entry of the first state.
        assert env.server.replay.time == START.replace(second=6)
        assert env.writes == ["apply configmaps default/old", "apply configmaps default/web"]
        maps = env.client.core_v1.config_maps("default")
        web = await maps.get("web")
        # What another manager has changed is played.
        assert web.data == {"x": "right", "y": "1"}
        assert web.metadata.uid != "uid-web"
        assert (await maps.get("other")).metadata.uid == "uid-other"
        secrets = env.client.core_v1.secrets("default")
        assert (await secrets.get("old")).data == {"x": b"REDACTED"}

        await env.play()
        assert [each.metadata.name for each in (await secrets.list()).items] == ["old"]
        assert env.server.replay.is_finished


@in_virtual_time
async def test_the_field_managers_whose_writes_are_left_out_can_be_chosen(incident: Path) -> None:
    async with Environment(recording=incident, leave_out=["kubectl"]) as env:
        await env.play()
        names = [each.metadata.name for each in (await env.client.core_v1.config_maps("default").list()).items]
        assert names == ["old", "web"]
        assert [each.metadata.name for each in (await env.client.core_v1.secrets("default").list()).items] == ["old"]


def test_an_operator_replayed_twice_writes_the_same(incident: Path) -> None:
    runs = []
    for _ in range(2):
        with BlockingEnvironment(make_operator, recording=incident, seed=1) as env:
            env.play()
            dump = env.server.dump()
            runs.append(([(str(write), write.body) for write in env.writes], dump))
    assert runs[0] == runs[1]


@in_virtual_time
async def test_an_open_recording_and_a_later_moment_are_accepted(incident: Path) -> None:
    with Recording(incident) as recording:
        async with Environment(make_operator, recording=recording, at="20") as env:
            await env.wait_for_idle()
            assert env.writes == ["apply configmaps default/old", "apply configmaps default/web"]
        assert len(recording) == 7


@in_virtual_time
async def test_writes_and_deletions_of_recorded_reconciles_are_left_out(tmp_path: Path) -> None:
    """Without managers in the objects: the reconcile tells what the operator has done."""
    with Recorder(tmp_path / "reconciles.mhr") as recorder:
        recorder.write("secrets", "STATE", secret("old", 10))
        recorder.write("configmaps", "STATE", config_map("stale", 11))
        recorder.write("configmaps", "ADDED", config_map("new", 12))
        recorder.write("configmaps", "ADDED", config_map("foreign", 13))
        recorder.write("configmaps", "DELETED", config_map("stale", 14))
        place = {"kind": "ConfigMap", "namespace": "default", "code": 200}
        recorder.reconcile(
            "copies",
            "old",
            {**place, "verb": "apply", "name": "new", "version": "12"},
            {**place, "verb": "delete", "name": "stale"},
        )
        recorder.write("secrets", "MODIFIED", secret("old", 20))
    async with Environment(make_operator, recording=tmp_path / "reconciles.mhr", until="+6s") as env:
        found = (await env.client.core_v1.config_maps("default").list()).items
        assert sorted(each.metadata.name for each in found) == ["foreign", "old", "stale"]


@in_virtual_time
async def test_a_deletion_waits_for_the_finalizer_of_the_operator(tmp_path: Path) -> None:
    with Recorder(tmp_path / "deletion.mhr") as recorder:
        recorder.write("secrets", "STATE", secret("web", 10))
        held = {"finalizers": ["copies/cleanup"], "deletionTimestamp": _TIME, "deletionGracePeriodSeconds": 0}
        recorder.write("secrets", "MODIFIED", secret("web", 20, metadata=held))
        recorder.write("secrets", "DELETED", secret("web", 30))
    app = masthead.Manager("copies")
    ended: list[str] = []

    @app.controller(Secret, name="copies", finalizer="copies/cleanup")
    async def clean(ctx: masthead.aio.ReconcileContext[Secret], found: Secret) -> None:
        async def clean_up() -> None:
            ended.append(found.metadata.name)

        await ctx.finalize(clean_up)

    async with Environment(app, recording=tmp_path / "deletion.mhr", until="+3s") as env:
        assert ended == ["web"]
        assert (await env.client.core_v1.secrets("default").list()).items == []


@in_virtual_time
async def test_wrong_uses_are_refused() -> None:
    with pytest.raises(ArgumentError, match="at, until and leave_out are for a recording"):
        Environment(until="+5s")
    async with Environment() as env:
        with pytest.raises(ManagerStateError, match="there is no recording to play: pass recording="):
            await env.play()
