"""Both work queues, by one name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.workqueue.drivers import DRIVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.workqueue.drivers import Driver


@pytest.fixture(params=DRIVERS)
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Driver]]:
    """Makes queues of one kind, which are closed at the end of the test."""
    made: list[Driver] = []

    def make(**options: Any) -> Driver:
        made.append(DRIVERS[request.param](**options))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


@pytest.fixture
def driver(make: Callable[..., Driver]) -> Driver:
    return make()
