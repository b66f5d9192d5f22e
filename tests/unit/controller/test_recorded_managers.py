"""Recordings of managers: caches, and why and how each reconcile ran."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.real_server import wait_until

import masthead
import masthead.aio
import masthead.server
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.config import from_kubeconfig
from masthead.controller import Request, Result
from masthead.errors import NotFoundError, RecordingError
from masthead.recording import RecordedReconcile, Recorder, Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from masthead.config import Config

pytestmark = pytest.mark.slow

OFF: Any = {"probe_bind": "0", "metrics_bind": "0"}
PATIENCE = 60


@pytest.fixture(scope="module")
def config() -> Iterator[Config]:
    with masthead.server.run(bootstrap=False) as server:
        yield from_kubeconfig(server.kubeconfig())


@pytest.fixture
def client(config: Config) -> Iterator[masthead.Client]:
    with masthead.Client(config, field_manager="test") as client:
        yield client
        for kind in (client.core_v1.config_maps("default"), client.core_v1.secrets("default")):
            kind.delete_collection()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "manager.mhr"


def write(client: masthead.Client, value: str) -> None:
    client.core_v1.config_maps("default").apply(ConfigMap.new("a", data={"value": value}))


def run_until(
    app: masthead.Manager, config: Config, path: Path, is_done: Callable[[], bool], change: Callable[[], object]
) -> list[RecordedReconcile]:
    """Run a manager, change something, and return what it recorded."""
    with app.running_in_thread(config, **OFF) as runtime:
        assert wait_until(lambda: runtime.is_idle, within=PATIENCE)
        change()
        assert wait_until(is_done, within=PATIENCE)
        assert wait_until(lambda: runtime.is_idle, within=PATIENCE)
    with Recording(path) as recording:
        return list(recording.reconciles())


def test_reconciles_have_triggers_reads_and_writes(client: masthead.Client, config: Config, path: Path) -> None:
    app = masthead.Manager("recorded", record=path)
    seen: list[str] = []

    @app.controller(ConfigMap, owns=[Secret])
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        if ctx.get(Secret, "out") is None:
            with pytest.raises(NotFoundError):
                ctx.client.core_v1.secrets("default").get("missing")
        ctx.apply(Secret.new("out", string_data=obj.data))
        seen.append(obj.data["value"])

    write(client, "1")
    found = run_until(app, config, path, lambda: "2" in seen, lambda: write(client, "2"))

    first = found[0]
    assert (first.controller, first.key, first.outcome, first.error) == ("configmaps", "default/a", "done", "")
    assert first.trigger["why"] == "initial"
    assert first.queued is not None
    assert first.queued <= first.began <= first.ended
    reads = [(read["verb"], read["kind"], read["from"], read.get("name"), read.get("code")) for read in first.reads]
    assert reads[:2] == [("get", "Secret", "cache", "out", None), ("get", "Secret", "server", "missing", 404)]
    (written,) = first.writes
    assert (written["verb"], written["kind"], written["name"], written["code"]) == ("apply", "Secret", "out", 201)

    echo = next(each for each in found if each.trigger.get("why") == "own write")
    assert (echo.trigger["kind"], echo.trigger["version"]) == ("Secret", written["version"])
    changed = next(each for each in found if each.trigger.get("fields") == ["data.value"])
    assert changed.trigger["op"] == "MODIFIED"
    with Recording(path) as recording:
        # The write of a reconcile leads to the change that it caused.
        assert written["version"] in {change.version for change in recording.changes()}
        assert recording.server_version.startswith("v1.")
        assert {kind.gvk.kind for kind in recording.kinds} == {"ConfigMap", "Secret"}


def test_failures_and_requeues_say_why(client: masthead.Client, config: Config, path: Path) -> None:
    app = masthead.Manager("failing", record=path)
    runs: list[int] = []

    @app.controller(ConfigMap)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> Result | None:
        runs.append(ctx.attempt)
        if len(runs) == 1:
            raise ValueError("not yet")
        return Result(requeue_after=0.1) if len(runs) == 2 else None

    found = run_until(app, config, path, lambda: len(runs) >= 3, lambda: write(client, "1"))

    failed, retried, requeued = found[:3]
    assert (failed.outcome, retried.outcome, requeued.outcome) == ("failed", "requeued", "done")
    assert "ValueError: not yet" in failed.error
    assert "raise ValueError" in failed.error
    assert retried.trigger == {"why": "backoff", "text": "retry after ValueError: not yet"}
    assert retried.requeue_after == 0.1
    assert requeued.trigger["why"] == "requeue"


async def test_sources_and_cancelled_reconciles_are_recorded(config: Config, path: Path) -> None:
    app = masthead.Manager("cancelled", record=path)
    running = asyncio.Event()

    @app.controller(ConfigMap)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap | None) -> None:
        del ctx, obj
        running.set()
        await asyncio.Event().wait()

    @app.source(controller=reconcile)
    async def wake() -> Any:
        yield Request("default", "absent")

    async with asyncio.timeout(PATIENCE), app.running(config, graceful_timeout=0.01, **OFF):
        await running.wait()
    with Recording(path) as recording:
        (found,) = recording.reconciles()
    assert found.outcome == "cancelled"
    assert "source" in str(found.trigger["why"])


def test_calls_beyond_200_are_counted(client: masthead.Client, config: Config, path: Path) -> None:
    app = masthead.Manager("busy", record=path)
    runs: list[str] = []

    @app.controller(ConfigMap)
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        for _ in range(210):
            ctx.cache.get(ConfigMap, obj.metadata.name, "default")
        runs.append(obj.key)

    found = run_until(app, config, path, lambda: bool(runs), lambda: write(client, "1"))
    assert (len(found[0].reads), found[0].dropped) == (200, 10)


def test_options_come_from_a_function(client: masthead.Client, config: Config, path: Path) -> None:
    app = masthead.Manager("labelled", record=lambda factory: Recorder(factory, path, labels={"run": "1"}))
    runs: list[str] = []

    @app.controller(ConfigMap)
    def reconcile(_: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        runs.append(obj.key)

    run_until(app, config, path, lambda: bool(runs), lambda: write(client, "1"))
    with Recording(path) as recording:
        assert recording.labels == {"run": "1"}


def test_manager_does_not_start_without_its_recording(config: Config, path: Path) -> None:
    app = masthead.Manager("nowhere", record=path / "missing" / "file")

    @app.controller(ConfigMap)
    def reconcile(_: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        del obj

    with pytest.raises(RecordingError, match="cannot be written"), app.running_in_thread(config, **OFF):
        pass
