"""Steps, failures, and list-watch machines that have come to some point."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from masthead._sansio.listwatch import PAGE, ListWatchMachine
from masthead._sansio.listwatch_steps import Failure, List, Phase, Stream, VerifyServer

DROP = Failure()
SILENCE = Failure(silent=True)
EXPIRED = Failure(code=410, reason="Expired")
TOO_LARGE = Failure(code=504, reason="Timeout", too_large=True)
UNREACHABLE = Failure(unreachable=True)
UNAVAILABLE = Failure(code=503)
FORBIDDEN = Failure(code=403, reason="Forbidden")

MADE_UP = 300
"""The timeout of a watch in seconds, without jitter."""

PATIENT = 90.0
"""A silence limit beyond the interval of bookmarks, so that no watch has to be short."""

Make = Callable[[], ListWatchMachine]


def watching(version: str = "", *, initial_events: bool = True, page_size: int = 0) -> ListWatchMachine:
    return ListWatchMachine(
        random=lambda: 0.0,
        version=version,
        initial_events=initial_events,
        page_size=page_size,
        silence_limit=PATIENT,
    )


def state_at(version: str, after: float = 0.0) -> Stream:
    """The request for a watch with initial events."""
    return Stream(version, initial_events=True, seconds=MADE_UP, after=after, restarts=True)


def changes_since(version: str) -> Stream:
    return Stream(version, initial_events=False, seconds=MADE_UP)


def list_at(version: str, limit: int = PAGE, after: float = 0.0) -> List:
    return List(version, limit, after=after, restarts=True)


def streaming(version: str = "") -> ListWatchMachine:
    """A machine that waits for the initial objects of a stream that is open."""
    machine = watching(version)
    if isinstance(machine.start(), VerifyServer):
        machine.begin(0)
        machine.verified(is_same=False)
    machine.begin(0)
    machine.opened()
    return machine


def listing(version: str = "", *, page_size: int = 0) -> ListWatchMachine:
    """A machine whose list is on its way."""
    machine = watching(version, initial_events=False, page_size=page_size)
    machine.start()
    machine.begin(0)
    if version:
        machine.failed(0, FORBIDDEN)
        machine.begin(0)
    assert machine.phase is Phase.LISTING
    return machine


def streamed(version: str = "7") -> ListWatchMachine:
    """A machine that follows the stream which began with the initial objects."""
    machine = streaming()
    machine.event("BOOKMARK", version, ends_initial=True)
    return machine


def listed(version: str = "7") -> ListWatchMachine:
    """A machine that follows a stream behind a list."""
    machine = listing()
    machine.page(version, "")
    machine.begin(0)
    machine.opened()
    return machine


def proving(version: str = "7") -> ListWatchMachine:
    machine = watching(version)
    machine.start()
    machine.begin(0)
    return machine


def waiting_to_follow(version: str = "7") -> ListWatchMachine:
    """A machine whose request for changes is not answered yet."""
    machine = proving(version)
    machine.verified(is_same=True)
    machine.begin(0)
    return machine


FOLLOWERS = pytest.mark.parametrize("following", [streamed, listed], ids=["streamed", "listed"])
