"""django_app.py, with real workers of gunicorn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.examples.gunicorn_process import gunicorn, wait_for_watches
from tests.examples.pods import new_pod

if TYPE_CHECKING:
    from pathlib import Path

    import masthead
    from masthead.server import Server


def test_the_first_request_of_a_worker_starts_its_cache(
    kube_server: Server, kubeconfig_file: Path, kube_client: masthead.Client
) -> None:
    kube_client.core_v1.pods("default").create(new_pod("a"))

    # The application is imported before the fork.
    with gunicorn(kubeconfig_file, "--preload", "--threads", "4", "django_app:application") as running:
        assert running.get("/readyz")[0] in {200, 503}
        assert running.get("/pods/default") == (200, '{"a": "Pending"}')
        assert running.get("/pods/shop") == (200, "{}")
        assert json.loads(running.get("/readyz")[1]) == {"pods": 1, "state": "watching"}
        wait_for_watches(kube_client, 1)
        assert running.terminate() == 0

    assert "Traceback" not in running.log
    wait_for_watches(kube_client, 0)
    assert {each.info.resource for each in kube_server.requests if each.info.verb == "watch"} == {"pods"}
