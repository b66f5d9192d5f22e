"""Serve pods with FastAPI: reads come from a cache, writes go to the API server, and /docs describes both."""

import argparse
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import uvicorn
from fastapi import Body, Depends, FastAPI, Request
from fastapi.responses import JSONResponse

import masthead
from masthead.api.core.v1 import Pod


@dataclass
class State:
    """What lives as long as the application."""

    client: masthead.aio.Client
    pods: masthead.aio.SharedInformer[Pod]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """Keep client and cache while the application runs; /readyz is 503 until the cache has synced."""
    async with masthead.aio.Client() as client, masthead.aio.SharedInformer(client.core_v1.pods()) as pods:
        app.state.cluster = State(client, pods)
        yield


app = FastAPI(title="Pods", lifespan=lifespan)
Cluster = Annotated[State, Depends(lambda: app.state.cluster)]


@app.get("/pods")
async def list_pods(cluster: Cluster, selector: str = "") -> list[Pod]:
    """All pods, or those with the labels of a selector, as the API server would send them."""
    return sorted(cluster.pods.lister.list(selector), key=lambda pod: pod.key)


@app.get("/pods/{namespace}/{name}")
async def get_pod(namespace: str, name: str, cluster: Cluster) -> Pod:
    """One pod."""
    return cluster.pods.lister.namespace(namespace).get(name)


@app.post("/pods/{namespace}", status_code=201)
async def create_pod(namespace: str, pod: Annotated[Pod, Body()], cluster: Cluster) -> Pod:
    """Create a pod, and wait until the next GET finds it."""
    created = await cluster.client.core_v1.pods(namespace).create(pod)
    await cluster.pods.wait_for_version(created, timeout=10)
    return created


@app.get("/readyz")
async def readyz(cluster: Cluster) -> JSONResponse:
    """For the readiness probe: whether the cache has synced."""
    health = cluster.pods.health
    return JSONResponse({"pods": health.objects, "state": health.state}, 200 if health.is_synced else 503)


@app.exception_handler(masthead.MastheadError)
def answer_error(_: Request, error: Exception) -> JSONResponse:
    """Answer with the status of the API server; 400 for an invalid selector, 503 if the server does not answer."""
    other = 400 if isinstance(error, masthead.errors.ArgumentError) else 503
    return JSONResponse({"detail": str(error)}, error.code if isinstance(error, masthead.StatusError) else other)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="8080 by default, on this machine only")
    port = parser.parse_args().port
    try:
        masthead.config.load()  # without a cluster it ends here, before uvicorn starts
        uvicorn.run(app, host="127.0.0.1", port=port)
    except masthead.MastheadError as error:
        sys.exit(str(error))
