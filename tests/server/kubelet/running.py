"""Pods that run by themselves, in virtual time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.server.kubelet.remote import PODS, connected, pod

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.server.kubelet.remote import Plain, Remote


@asynccontextmanager
async def running_pods(clock: VirtualClock | None = None) -> AsyncIterator[Remote]:
    """A client of a server whose pods run by themselves."""
    async with (
        masthead.server.run(clock=clock or VirtualClock, token=None, bootstrap=False, kubelet=True) as server,
        connected(server) as made,
    ):
        yield made


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


async def run_pod(remote: Remote, *, spec: Plain | None = None, **container: Any) -> Plain:
    """Create a pod with one container; returns it once nothing happens any more."""
    body = pod("web", **(spec or {}))
    body["spec"]["containers"][0].update(container)
    await remote.create(body, start=False)
    return await settled(remote)


async def settled(remote: Remote, until: Callable[[Plain], bool] = lambda _: True) -> Plain:
    """The pod, once it is as expected."""
    async with asyncio.timeout(30):
        while True:
            await remote.server.wait_for_idle()
            found = await remote.get()
            if until(found):
                return found


async def advance(remote: Remote, seconds: float) -> Plain:
    """The pod some time later."""
    remote.server.advance(seconds)
    return await settled(remote)


async def patch(remote: Remote, body: Plain, subresource: str = "") -> Plain:
    """Patch the pod; returns it once nothing happens any more."""
    path = f"{PODS}/web/{subresource}" if subresource else f"{PODS}/web"
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    async with remote.http.patch(path, json=body, headers=headers) as response:
        assert response.status == 200, await response.text()
    return await settled(remote)


async def events(remote: Remote) -> list[tuple[str, str, int]]:
    """The reason, message and count of the Events of pods, in the order in which they were first written."""
    path = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=Pod"
    async with remote.http.get(path) as response:
        found: list[Plain] = (await response.json())["items"]
    found.sort(key=lambda event: int(event["metadata"]["name"].rpartition(".")[2], 16))
    return [(event["reason"], event["message"], event.get("count", 0)) for event in found]


def main(found: Plain) -> Plain:
    """The status of the container."""
    status: Plain = found["status"]["containerStatuses"][0]
    return status


def condition(found: Plain, kind: str) -> Plain:
    condition: Plain = next(each for each in found["status"]["conditions"] if each["type"] == kind)
    return condition


def is_ready(found: Plain) -> bool:
    ready = main(found)["ready"]
    assert ready == (condition(found, "Ready")["status"] == "True")
    return bool(ready)


def state_of(found: Plain) -> str:
    """The state of the container: running, or the reason of another."""
    [(kind, details)] = main(found)["state"].items()
    return str(details.get("reason", kind))
