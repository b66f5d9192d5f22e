"""Pages served within a test: an event loop in a thread of its own, and what a browser opens there."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from masthead._ui.followed_cluster import FollowedCluster
from masthead._ui.live_history import LiveHistory
from masthead._ui.recorded_history import RecordedHistory
from masthead._ui.server import serving
from masthead._ui.service import Service
from masthead._ui.sessions import Gate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from typing import Self

    from masthead import aio
    from masthead._ui.history import History
    from masthead._ui.service import LiveSource

__all__ = ["LoopThread", "cluster_page", "history_page", "recorded_page"]


class LoopThread:
    """An event loop in a thread: the browser's own loop runs in that of the test."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    @contextmanager
    def running(self, make: Callable[[], AbstractAsyncContextManager[str]]) -> Generator[str]:
        """Run an async context manager on the loop during a block."""
        stack = AsyncExitStack()

        async def enter() -> str:
            return await stack.enter_async_context(make())

        address = asyncio.run_coroutine_threadsafe(enter(), self.loop).result(60)
        try:
            yield address
        finally:
            asyncio.run_coroutine_threadsafe(stack.aclose(), self.loop).result(60)

    def call(self, function: Callable[[], object]) -> None:
        """Call a function on the loop, and wait for it."""

        async def run() -> None:
            function()

        asyncio.run_coroutine_threadsafe(run(), self.loop).result(60)


@asynccontextmanager
async def history_page(
    history: History, live: LiveSource | None = None, *, gate: Gate | None = None, port: int = 0
) -> AsyncGenerator[str]:
    """Serve a history."""
    gate = gate or Gate()
    async with serving(Service(history, gate, live, title="test"), gate, host="127.0.0.1", port=port) as address:
        yield address


@asynccontextmanager
async def recorded_page(path: Path) -> AsyncGenerator[str]:
    """Serve a recording."""
    history = RecordedHistory(path)
    try:
        async with history_page(history) as address:
            yield address
    finally:
        history.close()


@asynccontextmanager
async def cluster_page(connect: Callable[[], aio.Client], now: Callable[[], int]) -> AsyncGenerator[str]:
    """Serve a cluster, live."""
    async with connect() as client:
        history = LiveHistory(now)
        cluster = FollowedCluster(client, history, None)
        async with cluster.following(await cluster.find([])), history_page(history, cluster) as address:
            yield address
