"""Serve a JSON API over a cache of the cluster: every answer comes from memory, and the API server is not asked."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from aiohttp import web

import masthead

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.api.core.v1 import Pod

PODS: web.AppKey[masthead.aio.SharedInformer[Pod]] = web.AppKey("pods", masthead.aio.SharedInformer)
routes = web.RouteTableDef()


def node_of(pod: Pod) -> list[str]:
    """Where a pod is found in the index."""
    return [pod.spec.node_name] if pod.spec.node_name else []


def summary(pod: Pod) -> dict[str, object]:
    """What the API tells about a pod."""
    return {"name": pod.key, "node": pod.spec.node_name, "phase": pod.status.phase}


@routes.get("/pods")
async def list_pods(request: web.Request) -> web.Response:
    """All pods, or those of ?node=."""
    informer, node = request.app[PODS], request.query.get("node")
    found = informer.indexer.by_index("node", node) if node else informer.lister.list()
    return web.json_response([summary(pod) for pod in sorted(found, key=lambda pod: pod.key)])


@routes.get("/pods/{namespace}/{name}")
async def get_pod(request: web.Request) -> web.Response:
    """One pod."""
    try:
        pods = request.app[PODS].lister.namespace(request.match_info["namespace"])
        return web.json_response(summary(pods.get(request.match_info["name"])))
    except masthead.NotFoundError as error:
        raise web.HTTPNotFound(text=str(error)) from error


@routes.get("/readyz")
async def readyz(request: web.Request) -> web.Response:
    """For the readiness probe: whether the cache has synced."""
    health = request.app[PODS].health
    answer = {"pods": health.objects, "state": health.state}
    return web.json_response(answer, status=200 if health.is_synced else 503)


def make_app(config: masthead.Config | None = None) -> web.Application:
    """The application; its cache lives as long as it does."""

    async def cache(app: web.Application) -> AsyncIterator[None]:
        async with masthead.aio.Client(config) as client:
            indexers = {"node": node_of}
            async with masthead.aio.SharedInformer(client.core_v1.pods(), indexers=indexers) as app[PODS]:
                yield

    app = web.Application()
    app.add_routes(routes)
    app.cleanup_ctx.append(cache)
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="8080 by default, on this machine only")
    port = parser.parse_args().port
    try:
        web.run_app(make_app(), host="127.0.0.1", port=port)
    except masthead.MastheadError as error:
        sys.exit(str(error))
