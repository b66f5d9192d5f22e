"""flask_app.py and gunicorn_conf.py, with real workers of gunicorn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from examples.flask_app import make_app
from tests.examples.gunicorn_process import gunicorn, wait_for_watches
from tests.examples.pods import new_pod

if TYPE_CHECKING:
    import masthead
    from masthead.server import Server

CONFIG = str(Path(__file__).parents[2] / "examples" / "gunicorn_conf.py")
FLASK = ("--config", CONFIG, "flask_app:make_app()")


def test_answers_come_from_the_cache(kube_server: Server, kube_client: masthead.Client) -> None:
    pods = kube_client.core_v1.pods("default")
    pods.create(new_pod("a", node="node-1"))
    made = pods.create(new_pod("b"))
    app = make_app(kube_client)
    http = app.test_client()
    early = http.get("/pods")
    assert (early.status_code, "the cache is not ready: new" in early.text) == (503, True)

    with app.extensions["pods"] as informer:
        informer.wait_for_version(made, timeout=30)
        before = len(kube_server.requests)
        a = {"name": "default/a", "node": "node-1", "phase": "Pending"}
        b = {"name": "default/b", "node": None, "phase": "Pending"}
        assert http.get("/pods").json == [a, b]
        assert http.get("/pods?node=node-1").json == [a]
        assert http.get("/pods/default/a").json == a
        missing = http.get("/pods/default/absent")
        assert (missing.status_code, "not found" in missing.text) == (404, True)
        assert http.get("/readyz").json == {"pods": 2, "state": "watching"}
        assert len(kube_server.requests) == before


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--worker-class", "sync", "--threads", "1", "--workers", "2"], id="sync"),
        pytest.param(["--worker-class", "gthread", "--preload"], id="gthread, preloaded"),
    ],
)
def test_each_worker_of_gunicorn_has_a_cache_and_ends_its_watch(
    kubeconfig_file: Path, kube_client: masthead.Client, options: list[str]
) -> None:
    kube_client.core_v1.pods("default").create(new_pod("a"))
    workers = 2 if "sync" in options else 1

    with gunicorn(kubeconfig_file, *options, *FLASK) as running:
        assert [each["name"] for each in json.loads(running.get("/pods")[1])] == ["default/a"]
        wait_for_watches(kube_client, workers)
        assert running.terminate() == 0

    assert "Traceback" not in running.log
    wait_for_watches(kube_client, 0)


def test_a_recycled_worker_leaves_no_watch_behind(kubeconfig_file: Path, kube_client: masthead.Client) -> None:
    with gunicorn(kubeconfig_file, "--max-requests", "2", *FLASK) as running:
        # A worker that does not end is not replaced, and the next request would not be answered.
        assert [running.get("/pods") for _ in range(5)] == [(200, "[]\n")] * 5
        wait_for_watches(kube_client, 1)
        assert running.terminate() == 0

    assert running.log.count("Booting worker") == 3
    wait_for_watches(kube_client, 0)


def test_a_worker_starts_while_the_cluster_is_away(tmp_path: Path, kubeconfig_file: Path) -> None:
    away = tmp_path / "away"
    away.write_text(kubeconfig_file.read_text("utf-8").replace("server: ", "server: http://127.0.0.1:9 # "), "utf-8")
    hook = tmp_path / "hook.py"
    hook.write_text(Path(CONFIG).read_text("utf-8").replace("timeout=20", "timeout=0.1"), "utf-8")

    with gunicorn(away, "--config", str(hook), "flask_app:make_app()") as running:
        status, text = running.get("/readyz")
        assert running.terminate() == 0

    assert (status, "the cache is not ready" in text) == (503, True)


def test_gevent_is_refused_when_the_worker_starts(kubeconfig_file: Path) -> None:
    with gunicorn(kubeconfig_file, "--worker-class", "gevent", *FLASK) as running:
        assert running.wait() == 3

    assert "ConfigError: a blocking client has an event loop in a thread of its own, and gevent has" in running.log
    assert "use workers with real threads (gunicorn's gthread" in running.log


def test_with_gevent_every_use_of_a_client_is_refused_in_the_response(kubeconfig_file: Path) -> None:
    app = "tests.examples.wsgi_apps:make_app(is_used=False)"

    with gunicorn(kubeconfig_file, "--worker-class", "gevent", app) as running:
        for path in ("/client", "/new-client", "/watch", "/start", "/factory"):
            status, text = running.get(path)
            assert (status, text.startswith("ConfigError: a blocking client has")) == (500, True), (path, text)
        assert running.terminate() == 0


def test_a_client_that_was_used_before_the_fork_is_refused_in_the_response(
    kubeconfig_file: Path, kube_client: masthead.Client
) -> None:
    app = "tests.examples.wsgi_apps:make_app(is_used=True)"

    with gunicorn(kubeconfig_file, "--preload", app) as running:
        for path in ("/client", "/watch", "/factory"):
            status, text = running.get(path)
            assert (status, text.startswith("ClosedError: the client was used before")) == (500, True), (path, text)
        for path in ("/list", "/start"):
            status, text = running.get(path)
            assert (status, text.startswith("InformerStateError: informer pods belongs to")) == (500, True), (
                path,
                text,
            )
        assert running.get("/state") == (200, "forked")
        assert running.get("/new-client") == (200, "0")
        wait_for_watches(kube_client, 1)  # that of the parent
        assert running.terminate() == 0
