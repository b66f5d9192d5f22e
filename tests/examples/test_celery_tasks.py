"""celery_tasks.py, with real workers of Celery and a broker in a folder."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples.pods import new_deployment

import masthead
from masthead.api.core.v1 import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples"
WITHIN = 60.0
QUIET = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "info"]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module of the tasks, as a program has it that sends them; once, because Celery keeps all tasks for ever."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASKS_FOLDER", str(tmp_path_factory.mktemp("tasks")))
        patch.syspath_prepend(str(EXAMPLES))
        module = importlib.import_module("celery_tasks")
        yield module
        module.app.close()
        del sys.modules["celery_tasks"]


@contextmanager
def worker(*options: str) -> Iterator[subprocess.Popen[str]]:
    """Run a worker for the length of a block, and end it as an orchestrator does."""
    command = [sys.executable, "-m", "celery", "--app", "celery_tasks", "worker", *QUIET, *options]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            log = process.communicate(timeout=WITHIN)[1]
    assert (process.returncode, "unclosed" in log) == (0, False), log


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_tasks_change_the_cluster_and_bring_objects_and_errors(
    tasks: Any, kube_client: masthead.Client, kubeconfig_file: Path, monkeypatch: pytest.MonkeyPatch, pool: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig_file))
    deployments = kube_client.apps_v1.deployments("default")
    made = deployments.create(new_deployment("web"))
    settings = kube_client.core_v1.config_maps("default").create(ConfigMap.new("settings"))

    with worker("--pool", pool, "--concurrency", "2"):
        assert tasks.restart.delay("default", "web").get(timeout=WITHIN) == made.metadata.generation + 1
        annotated = tasks.annotate.delay(settings, "team", "shop").get(timeout=WITHIN)
        with pytest.raises(masthead.NotFoundError, match='"absent" not found'):
            tasks.restart.delay("default", "absent").get(timeout=WITHIN)

    assert (type(annotated), annotated.metadata.annotations) == (ConfigMap, {"team": "shop"})
    assert deployments.get("web").metadata.generation == made.metadata.generation + 1
