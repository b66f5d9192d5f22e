"""One informer and one handler of a faulty server: for tests of single faults."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

from tests.scenarios.cluster_model import ClusterModel
from tests.scenarios.runner import InformerUnderTest
from tests.scenarios.scenario import Handler, Informer

from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from tests.scenarios.checking_handler import CheckingHandler

    from masthead._cache.informer.informer import SharedInformer
    from masthead.aio import Client
    from masthead.server import Faults, RecordedRequest

PLAIN: Final = Informer((Handler("only"),))
_WITHIN: Final = 300.0


class Harness:
    """The observations and actions of such a test.

    Attributes:
        cluster: The server, and who writes to it.
        client: A client of it.
        informer: Who watches.
        handler: Its handler.
    """

    def __init__(self, cluster: ClusterModel, client: Client, plan: Informer) -> None:
        self._mirror = InformerUnderTest(plan, client, cluster)
        self.cluster = cluster
        self.client = client
        self.informer: SharedInformer[Any] = self._mirror.informer
        self.handler: CheckingHandler = self._mirror.handlers["only"]

    @property
    def faults(self) -> Faults:
        """The faults of the running server."""
        return self.cluster.server.faults

    @property
    def calls(self) -> list[str]:
        """The calls of the handler, in a few words each."""
        return self.handler.calls

    @property
    def requests(self) -> list[str]:
        """The requests to the server, in a word each."""
        return [_word(request) for request in self.cluster.requests]

    async def write(self, *names: str) -> None:
        """Create objects in the default namespace, or change those that are there."""
        for name in names:
            await self.cluster.put("default", name, "red")

    async def delete(self, *names: str) -> None:
        """Delete objects of the default namespace."""
        for name in names:
            await self.cluster.delete("default", name)

    async def requested(self, count: int) -> None:
        """Wait until the server has received so many requests."""
        while len(self.cluster.requests) < count:  # noqa: ASYNC110 - no event is set for requests
            await asyncio.sleep(0)

    async def converged(self) -> float:
        """Wait until cache, indices and handler equal the server; returns the seconds that this took.

        The informer must be healthy, and the handler must have found no problem.
        """
        began = now()
        while problems := [*self._mirror.differences(self.cluster.there), *self._mirror.ill_health()]:
            assert now() - began < _WITHIN, problems
            await asyncio.sleep(0.01 if now() - began < 0.1 else 0.5)
        assert self.handler.problems == []
        return now() - began


@contextlib.asynccontextmanager
async def running_harness(
    plan: Informer = PLAIN,
    *,
    there: Sequence[str] = (),
    data: Path | None = None,
    has_watch_list: bool = True,
) -> AsyncIterator[Harness]:
    """A server with some objects, a client, and an informer that is not started yet; it is stopped at the end."""
    cluster = ClusterModel(data=data, has_watch_list=has_watch_list)
    async with cluster.open() as client:
        harness = Harness(cluster, client, plan)
        await harness.write(*there)
        try:
            yield harness
        finally:
            await harness.informer.stop()
    assert asyncio.all_tasks() == {asyncio.current_task()}


def _word(seen: RecordedRequest) -> str:
    query = seen.query
    if seen.info.verb == "watch":
        return "watch-list" if "sendInitialEvents" in query else "watch"
    if "metadata.name" in query:
        return "proof"
    return "next page" if "continue=" in query else "list"
