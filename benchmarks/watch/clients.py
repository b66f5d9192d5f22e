"""What the watch benchmark measures: informers and, of those who have none, their watch in a loop that does the same.

The same is: keep every pod in a store by its key, and in an index by its node, and call a handler. Each is used as its
own documentation shows it. Nothing is imported before it is opened, and nothing of ours but for our own: the peers may
live in another interpreter.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import os
import threading
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from benchmarks.harness.contenders import Informer
from benchmarks.harness.measure import resident_bytes
from benchmarks.requests.clients import OFFICIAL
from benchmarks.sync.clients import COMPACT, EAGER, LAZY, TIMEOUT, Adds

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from benchmarks.sync.clients import Holding
    from masthead.api.core.v1 import Pod

LISTED: Final = 1_000_000_000
"""The version of the list; updates have those that follow, which are all of one length."""
EARLY_SHARE: Final = 5
"""Memory is looked at after this part of the events, and in the end."""


class Handler:
    """Counts the updates that it receives, and measures the memory twice.

    It may receive fewer than were sent, if an informer delivers to a handler that falls behind only the newest state of
    each object. The last one is always delivered.

    Attributes:
        events: How many there will be.
        pods: How many pods there are.
        observed: How many it has received.
        is_done: Whether it has received the last one.
        early_bytes: The process's memory after the first fifth of the events; None where the system does not report it.
        ended: The same, after the last one.
    """

    def __init__(self, events: int, pods: int) -> None:
        self.events = events
        self.pods = pods
        self.observed = 0
        self.is_done = False
        self.early_bytes: int | None = None
        self.ended: int | None = None
        self._early = max(1, events // EARLY_SHARE)
        self._last = str(LISTED + events)

    def observe(self, version: str | None) -> None:
        """Count one, which has this version."""
        self.observed += 1
        if self.observed == self._early:
            self.early_bytes = resident_bytes(os.getpid())
        if version == self._last:
            self.ended = resident_bytes(os.getpid())
            self.is_done = True


class Mirror:
    """A store with an index and a handler, for clients that have none: the least that an informer does."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._store: dict[str, object] = {}
        self._nodes: dict[str, dict[str, object]] = {}

    def put(self, namespace: str, name: str, node: str, version: str, pod: object) -> bool:
        """Store a pod and call the handler; returns whether this was the last one."""
        key = f"{namespace}/{name}"
        self._store[key] = pod
        self._nodes.setdefault(node, {})[key] = pod
        self._handler.observe(version)
        return self._handler.is_done


Finish: TypeAlias = "Callable[[], Awaitable[object]]"
"""Returns when the handler has received all updates."""
Opener: TypeAlias = "Callable[[str, Handler], AbstractAsyncContextManager[Finish]]"
"""Connects, given the path of a kubeconfig, and syncs, where there is an informer."""


# -- Ours --------------------------------------------------------------------------------------------------


def node_of(pod: Pod) -> list[str]:
    """The index: by something that the spec has, all of which is decoded for it."""
    return [pod.spec.node_name or ""]


def app_of(pod: Pod) -> list[str]:
    """Another index: by a label, which takes no more than the metadata."""
    return [pod.metadata.labels.get("app", "")]


def telling(handler: Handler, done: asyncio.Event | threading.Event) -> Callable[[Pod, Pod], None]:
    """What an informer is to call for each update."""

    def on_update(_old: Pod, new: Pod) -> None:
        handler.observe(new.metadata.resource_version)
        if handler.is_done:
            done.set()

    return on_update


def waiting(handler: Handler, done: threading.Event) -> Finish:
    """Waits in this thread: the updates come in another."""

    async def finish() -> None:
        if not done.wait(TIMEOUT):
            raise TimeoutError(f"the handler has received {handler.observed} updates, and not of the last one")

    return finish


@contextlib.asynccontextmanager
async def _masthead_aio(
    kubeconfig: str, handler: Handler, *, hold: Holding, index: Callable[[Pod], list[str]] = node_of
) -> AsyncGenerator[Finish]:
    from masthead.aio import Client, SharedInformer

    done = asyncio.Event()

    async with Client(kubeconfig=kubeconfig) as client:
        informer = SharedInformer(client.core_v1.pods(), hold=hold, indexers={"index": index})
        informer.add_event_handler(on_update=telling(handler, done))
        async with informer:
            await informer.wait_for_cache_sync(TIMEOUT)
            yield done.wait


@contextlib.asynccontextmanager
async def _masthead(kubeconfig: str, handler: Handler, *, hold: Holding) -> AsyncGenerator[Finish]:
    from masthead import Client, SharedInformer

    done = threading.Event()

    with Client(kubeconfig=kubeconfig) as client:
        informer = SharedInformer(client.core_v1.pods(), hold=hold, indexers={"node": node_of})
        informer.add_event_handler(on_update=telling(handler, done))
        with informer:
            informer.wait_for_cache_sync(TIMEOUT)
            yield waiting(handler, done)


# -- Peers -------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _kubernetes(kubeconfig: str, handler: Handler) -> AsyncGenerator[Finish]:
    client: Any = importlib.import_module("kubernetes.client")
    config: Any = importlib.import_module("kubernetes.config")
    informers: Any = importlib.import_module("kubernetes.informer")
    core = client.CoreV1Api(config.new_client_from_config(kubeconfig))
    mirror, adds, done = Mirror(handler), Adds(handler.pods), threading.Event()

    def on_update(updated: object) -> None:  # it has no index, so the handler keeps one
        pod: Any = updated
        meta = pod.metadata
        if mirror.put(meta.namespace, meta.name, pod.spec.node_name, meta.resource_version, pod):
            done.set()

    informer = informers.SharedInformer(core.list_pod_for_all_namespaces)
    informer.add_event_handler(informers.ADDED, adds.on_add)
    informer.add_event_handler(informers.MODIFIED, on_update)
    informer.start()
    adds.wait()
    yield waiting(handler, done)


@contextlib.asynccontextmanager
async def _kubernetes_asyncio(kubeconfig: str, handler: Handler) -> AsyncGenerator[Finish]:
    client: Any = importlib.import_module("kubernetes_asyncio.client")
    config: Any = importlib.import_module("kubernetes_asyncio.config")
    watch: Any = importlib.import_module("kubernetes_asyncio.watch")
    mirror = Mirror(handler)
    async with await config.new_client_from_config(kubeconfig) as connected:
        core = client.CoreV1Api(connected)

        async def finish() -> None:
            listing = core.list_pod_for_all_namespaces
            async with watch.Watch().stream(listing, resource_version=str(LISTED)) as events:
                async for event in events:
                    pod = event["object"]
                    meta = pod.metadata
                    if mirror.put(meta.namespace, meta.name, pod.spec.node_name, meta.resource_version, pod):
                        return

        yield finish


@contextlib.asynccontextmanager
async def _lightkube(kubeconfig: str, handler: Handler) -> AsyncGenerator[Finish]:
    lightkube: Any = importlib.import_module("lightkube")
    core: Any = importlib.import_module("lightkube.resources.core_v1")
    client = lightkube.Client(config=lightkube.KubeConfig.from_file(kubeconfig))
    mirror = Mirror(handler)

    async def finish() -> None:
        for _, pod in client.watch(core.Pod, namespace="*", resource_version=str(LISTED)):
            meta = pod.metadata
            if mirror.put(meta.namespace, meta.name, pod.spec.nodeName, meta.resourceVersion, pod):
                return

    yield finish


@contextlib.asynccontextmanager
async def _kr8s(kubeconfig: str, handler: Handler) -> AsyncGenerator[Finish]:
    kr8s: Any = importlib.import_module("kr8s.asyncio")
    objects: Any = importlib.import_module("kr8s.asyncio.objects")
    everywhere: Any = importlib.import_module("kr8s").ALL
    api = await kr8s.api(kubeconfig=kubeconfig)
    mirror = Mirror(handler)

    async def finish() -> None:
        async for _, pod in api.watch(objects.Pod, namespace=everywhere, since=str(LISTED)):
            version = pod.metadata.resourceVersion
            if mirror.put(pod.namespace, pod.name, pod.spec.nodeName, version, pod):
                return

    yield finish


# -- All of them -------------------------------------------------------------------------------------------


def _ours(
    title: str, *, hold: Holding, index: Callable[[Pod], list[str]] = node_of, module: str = ""
) -> Informer[Opener]:
    return Informer(title, module=module, open=functools.partial(_masthead_aio, hold=hold, index=index))


def _watcher(peer: str, opener: Opener, *, most: int) -> Informer[Opener]:
    return Informer(f"{peer}, watch", peer, peer, most, open=opener)


CONTENDERS: Final[Mapping[str, Informer[Opener]]] = {
    LAZY: _ours("masthead.aio, lazy", hold="lazy"),
    EAGER: _ours("masthead.aio, eager", hold="eager"),
    COMPACT: _ours("masthead.aio, compact", hold="compact", module="zstandard"),
    "lazy_label": _ours("masthead.aio, lazy, indexed by a label instead of the node", hold="lazy", index=app_of),
    "lazy_blocking": Informer("masthead (blocking), lazy", open=functools.partial(_masthead, hold="lazy")),
    OFFICIAL: Informer("kubernetes informer", "kubernetes", "kubernetes.informer", 5_000, open=_kubernetes),
    "lightkube": _watcher("lightkube", _lightkube, most=10_000),
    "kubernetes_asyncio": _watcher("kubernetes_asyncio", _kubernetes_asyncio, most=2_000),
    "kr8s": _watcher("kr8s", _kr8s, most=500),
}
"""By the name that the JSON has for them."""
