"""Writes that the caches of a controller do not show yet."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead._controller.flight import Flight
from masthead._controller.requests import Request
from masthead.errors import ClosedError, DeadlineError

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable, Sequence

    from masthead._controller.cache_reader import CacheReader
    from masthead._rest.client import RestClient
    from masthead._sansio.own_writes import OwnWrite

__all__ = ["UnseenWrites"]

_NO_REQUEST: Final = Request("", "")


class UnseenWrites:
    """Waits for the caches to show the writes of reconciles, and keeps the rest for the next run.

    Args:
        name: The name of the controller.
        reader: Its caches.
        log: Its logger.
        earlier: Unseen writes of an earlier run in this process.
    """

    def __init__(self, name: str, reader: CacheReader, log: logging.Logger, earlier: Iterable[OwnWrite]) -> None:
        self._name = name
        self._reader = reader
        self._log = log
        self._kept = list(earlier)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def tasks(self) -> frozenset[asyncio.Task[None]]:
        """The tasks that wait for caches."""
        return frozenset(self._tasks)

    async def wait_for_earlier(self, rest: RestClient) -> None:
        """Wait for the caches to show the writes of an earlier run, which may have ended just now."""
        flight = Flight(_NO_REQUEST, "", asyncio.get_running_loop().time(), self._reader, rest)
        flight.writes.extend(self._kept)
        await self._wait_visible(flight)
        self._kept.clear()

    def settle(self, flight: Flight, complete: Callable[[Flight], None]) -> None:
        """Complete a flight in the background, once the caches show its writes."""
        task = asyncio.get_running_loop().create_task(self._settle(flight, complete))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def keep(self, writes: Iterable[OwnWrite]) -> None:
        """Keep writes for the next run."""
        self._kept += writes

    def unseen(self) -> Sequence[OwnWrite]:
        """Return the writes for the next run that the caches do not show yet."""
        return [write for write in self._kept if not self._reader.is_visible(write)]

    async def _settle(self, flight: Flight, complete: Callable[[Flight], None]) -> None:
        try:
            if problem := await self._wait_visible(flight):
                flight.hold(None, problem)
        # The flight is completed all the same, in `finally`.
        except ClosedError:
            return  # the manager stops
        finally:
            complete(flight)

    async def _wait_visible(self, flight: Flight) -> str:
        """Wait, without a time limit, for the caches to show the writes of a flight.

        Returns:
            The reason why a cache will never show them; empty if all do.
        """
        began = asyncio.get_running_loop().time()
        while (problem := await self._wait_once(flight)) is not None:
            self._log.warning("controller %s: %s: %s", self._name, flight.request, problem)
            # Without this check, an etcd restore would block the object forever.
            if flight.is_refuted(asyncio.get_running_loop().time() - began):
                return problem
        return ""

    async def _wait_once(self, flight: Flight) -> str | None:
        """Wait up to a minute; return the problem if that is not enough."""
        try:
            await flight.wait_for_writes()
        except DeadlineError as error:
            return str(error)
        return None
