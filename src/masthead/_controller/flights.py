"""The reconciles in flight of a controller."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

from masthead._controller.flight import Flight
from masthead._sansio.randomness import token_hex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.requests import Request
    from masthead._rest.client import RestClient

__all__ = ["Flights"]


class Flights:
    """The reconciles in flight, by request.

    Args:
        reader: The caches of the controller.
        rest: The REST client whose writes are observed.
    """

    def __init__(self, reader: CacheReader, rest: RestClient) -> None:
        self._reader = reader
        self._rest = rest
        self._flights: dict[Request, Flight] = {}
        self._clock = asyncio.get_running_loop().time
        self._run_id = token_hex(4)
        self._numbers = itertools.count(1)
        self._reconcile_ended = asyncio.Event()

    def __len__(self) -> int:
        return len(self._flights)

    def __iter__(self) -> Iterator[Flight]:
        # A copy, because flights begin and end while callers iterate.
        return iter(list(self._flights.values()))

    def get(self, request: Request) -> Flight | None:
        """Return the flight of a request, or None."""
        return self._flights.get(request)

    def begin(self, request: Request, attempt: int, reasons: tuple[str, ...]) -> Flight:
        """Add a reconcile that begins now."""
        # Unique across restarts by the random part, and short enough for every log line.
        number = f"{self._run_id}-{next(self._numbers):x}"
        flight = Flight(request, number, self._clock(), self._reader, self._rest, attempt=attempt, reasons=reasons)
        self._flights[request] = flight
        return flight

    def end_reconcile(self, flight: Flight) -> float:
        """Mark the reconciler of a flight as returned, and return its duration. The flight stays until `remove`."""
        flight.is_reconciling = False
        self._reconcile_ended.set()
        return self._clock() - flight.started

    def remove(self, flight: Flight) -> None:
        """Remove a flight whose writes are visible."""
        self._flights.pop(flight.request, None)

    def clear(self) -> None:
        """Remove all flights."""
        self._flights.clear()

    async def wait_ended(self, includes: Callable[[Request], bool]) -> None:
        """Wait for the reconcilers of some requests to return."""
        while any(flight.is_reconciling and includes(flight.request) for flight in self):
            self._reconcile_ended.clear()
            await self._reconcile_ended.wait()
