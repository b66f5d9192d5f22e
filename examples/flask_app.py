"""A Flask app with a cache of the cluster: ``gunicorn --config gunicorn_conf.py 'flask_app:make_app()'``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Flask, abort, request

import masthead

if TYPE_CHECKING:
    from masthead.api.core.v1 import Pod


def node_of(pod: Pod) -> list[str]:
    """Return the keys of a pod in the index of nodes."""
    return [pod.spec.node_name] if pod.spec.node_name else []


def summary(pod: Pod) -> dict[str, object]:
    """Return the part of a pod that the API shows."""
    return {"name": pod.key, "node": pod.spec.node_name, "phase": pod.status.phase}


def make_app(client: masthead.Client | None = None) -> Flask:
    """Create the application. It sends nothing yet, so that it may be forked: each worker starts the informer."""
    app = Flask(__name__)
    client = client or masthead.Client()
    pods = masthead.SharedInformer(client.core_v1.pods(), indexers={"node": node_of})
    app.extensions["pods"] = pods

    @app.before_request
    def check_synced() -> None:
        # Before the first list, an empty answer would mean "not known yet".
        if not pods.has_synced:
            abort(503, f"the cache is not ready: {pods.health.state}")

    @app.get("/pods")
    def list_pods() -> list[dict[str, object]]:
        """All pods, or those of ?node=."""
        node = request.args.get("node")
        selected = pods.indexer.by_index("node", node) if node else pods.lister.list()
        return [summary(pod) for pod in sorted(selected, key=lambda pod: pod.key)]

    @app.get("/pods/<namespace>/<name>")
    def get_pod(namespace: str, name: str) -> dict[str, object]:
        """One pod."""
        try:
            return summary(pods.lister.namespace(namespace).get(name))
        except masthead.NotFoundError as error:
            abort(404, str(error))

    @app.get("/readyz")
    def readyz() -> dict[str, object]:
        """For the readiness probe, which has failed in `check_synced` before the first list."""
        return {"pods": pods.health.objects, "state": pods.health.state}

    return app
