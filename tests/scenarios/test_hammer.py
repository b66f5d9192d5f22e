"""Real threads, sockets and time: no deadlock, no leak, and every cache equals the server.

``MASTHEAD_HAMMER_SECONDS`` sets for how long.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import threading
from typing import Any, Final

import pytest
from tests.scenarios.hammer import Hammer, hammer
from tests.scenarios.runner import open_files

import masthead.server
from masthead._cache.informer.processor_listener import ProcessorListener

SECONDS: Final = float(os.environ.get("MASTHEAD_HAMMER_SECONDS", "15"))
_TO_CONVERGE: Final = 120


@pytest.mark.guarantee(12)
@pytest.mark.timeout(SECONDS + 2 * _TO_CONVERGE)
def test_the_cache_stays_correct_and_leaks_nothing_under_concurrent_writers_readers_and_handlers(
    capfd: pytest.CaptureFixture[str],
) -> None:
    logging.getLogger("masthead").setLevel(logging.CRITICAL + 1)
    with masthead.server.run():
        pass  # the first loop of a process may open something for all that follow
    before = open_files(), set(threading.enumerate())
    known = _listeners()  # of tests before, which may have kept some
    with capfd.disabled():
        faulthandler.dump_traceback_later(SECONDS + _TO_CONVERGE)
        try:
            played = hammer(SECONDS)
        finally:
            faulthandler.cancel_dump_traceback_later()
            logging.getLogger("masthead").setLevel(logging.NOTSET)
    assert played.problems == []
    _check_that_all_did_something(played)
    del played
    assert _listeners() - known == set()
    assert set(threading.enumerate()) - before[1] == set()
    assert open_files() - before[0] == set()


def _listeners() -> set[ProcessorListener[Any]]:
    """The listeners that are still referenced."""
    gc.collect()
    return {each for each in gc.get_objects() if type(each) is ProcessorListener}


def _check_that_all_did_something(played: Hammer) -> None:
    least = {"writes": 100, "reads": 100, "guests": 5, "faults": 5}
    assert {what: played.counts.get(what, 0) >= count for what, count in least.items()} == dict.fromkeys(least, True)
