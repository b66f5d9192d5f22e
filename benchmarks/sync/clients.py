"""What the sync benchmark measures: informers and, of those who have none, lists.

Each is used as its own documentation shows it, with its own types. Nothing is imported before it is opened, and
nothing of ours but for our own: the peers may live in another interpreter.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import threading
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from benchmarks.harness.contenders import Informer
from benchmarks.requests.clients import CLIENTS, OFFICIAL

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

LAZY: Final = "lazy"
EAGER: Final = "eager"
COMPACT: Final = "compact"
OURS: Final = (LAZY, EAGER, COMPACT)
"""The three ways to hold objects."""
TIMEOUT: Final = 300.0
"""Seconds after which a contender counts as failed."""

Holding: TypeAlias = Literal["lazy", "eager", "compact"]


@dataclasses.dataclass(frozen=True)
class Synced:
    """What a client has when it has synced.

    Attributes:
        kept: Keeps all of it alive.
        count: How many objects there are.
    """

    kept: object
    count: int


Start: TypeAlias = "Callable[[str, int], Awaitable[Synced]]"
"""Reads all pods of a namespace, of which there are so many, and returns when it has them.

Ours read all namespaces' if none is named."""
Opener: TypeAlias = "Callable[[str], AbstractAsyncContextManager[Start]]"
"""Connects, given the path of a kubeconfig."""


# -- Ours --------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _masthead_aio(kubeconfig: str, *, hold: Holding, watch_list: bool = True) -> AsyncGenerator[Start]:
    from masthead.aio import Client, SharedInformer

    async with Client(kubeconfig=kubeconfig) as client, contextlib.AsyncExitStack() as running:

        async def start(namespace: str, _: int) -> Synced:
            source = client.core_v1.pods(namespace or None)
            informer = SharedInformer(source, hold=hold, watch_list=watch_list)
            await running.enter_async_context(informer)
            await informer.wait_for_cache_sync(TIMEOUT)
            return Synced(informer, len(informer.indexer))

        yield start


@contextlib.asynccontextmanager
async def _masthead(kubeconfig: str, *, hold: Holding) -> AsyncGenerator[Start]:
    from masthead import Client, SharedInformer

    with Client(kubeconfig=kubeconfig) as client, contextlib.ExitStack() as running:

        async def start(namespace: str, _: int) -> Synced:
            informer = SharedInformer(client.core_v1.pods(namespace or None), hold=hold)
            running.enter_context(informer)
            informer.wait_for_cache_sync(TIMEOUT)
            return Synced(informer, len(informer.indexer))

        yield start


# -- Peers -------------------------------------------------------------------------------------------------


class Adds:
    """Waits for an informer that does not say when it has synced: its handler then knows as many as there are."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._synced = threading.Event()

    def on_add(self, _: object) -> None:
        """Count one."""
        self._left -= 1
        if not self._left:
            self._synced.set()

    def wait(self) -> None:
        """Return when all have been received.

        Raises:
            TimeoutError: if that does not come about.
        """
        if not self._synced.wait(TIMEOUT):
            raise TimeoutError("the informer has not synced")


@contextlib.asynccontextmanager
async def _kubernetes(kubeconfig: str) -> AsyncGenerator[Start]:
    client: Any = importlib.import_module("kubernetes.client")
    config: Any = importlib.import_module("kubernetes.config")
    informer: Any = importlib.import_module("kubernetes.informer")
    connected = config.new_client_from_config(kubeconfig)
    core = client.CoreV1Api(connected)

    async def start(namespace: str, count: int) -> Synced:
        adds = Adds(count)
        made = informer.SharedInformer(core.list_namespaced_pod, namespace=namespace)
        made.add_event_handler(informer.ADDED, adds.on_add)
        made.start()
        adds.wait()
        return Synced(made, len(made.cache.list_keys()))

    yield start


@contextlib.asynccontextmanager
async def _listing(kubeconfig: str, *, name: str) -> AsyncGenerator[Start]:
    """A client that has no informer lists; it is the one of that name in the request benchmark."""
    client = CLIENTS[name]
    async with contextlib.AsyncExitStack() as opened:
        if client.open is not None:
            calls = opened.enter_context(client.open(kubeconfig))

            async def start(namespace: str, _: int) -> Synced:
                pods = calls.pods(namespace)
                return Synced(pods, len(pods))
        else:
            assert client.open_async is not None
            async_calls = await opened.enter_async_context(client.open_async(kubeconfig))

            async def start(namespace: str, _: int) -> Synced:
                pods = await async_calls.pods(namespace)
                return Synced(pods, len(pods))

        yield start


# -- All of them -------------------------------------------------------------------------------------------


def _ours(title: str, *, hold: Holding, watch_list: bool = True, module: str = "") -> Informer[Opener]:
    opener = functools.partial(_masthead_aio, hold=hold, watch_list=watch_list)
    return Informer(title, module=module, open=opener)


def _lister(peer: str, *, most: int | None = None) -> Informer[Opener]:
    return Informer(f"{peer}, list", peer, peer, most, open=functools.partial(_listing, name=peer))


CONTENDERS: Final[Mapping[str, Informer[Opener]]] = {
    LAZY: _ours("masthead.aio, lazy", hold="lazy"),
    EAGER: _ours("masthead.aio, eager", hold="eager"),
    COMPACT: _ours("masthead.aio, compact", hold="compact", module="zstandard"),
    "lazy_list": _ours("masthead.aio, lazy, by list instead of watch-list", hold="lazy", watch_list=False),
    "lazy_blocking": Informer("masthead (blocking), lazy", open=functools.partial(_masthead, hold="lazy")),
    OFFICIAL: Informer("kubernetes informer", "kubernetes", "kubernetes.informer", open=_kubernetes),
    "lightkube": _lister("lightkube"),
    "kubernetes_asyncio": _lister("kubernetes_asyncio", most=2_000),
    "kr8s": _lister("kr8s", most=1_000),
}
"""By the name that the JSON has for them."""
