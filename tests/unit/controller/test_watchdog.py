"""The watchdog detects a blocked event loop, and logs its stack."""

from __future__ import annotations

import asyncio
import logging
import threading

from masthead._controller.watchdog import Watchdog

WITHIN = 60.0


class Arrival(logging.Handler):
    """Sets an event when a message arrives that contains a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.message = ""
        self.arrived = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self.text in record.getMessage() and not self.arrived.is_set():
            self.message = record.getMessage()
            self.arrived.set()


def block_until(event: threading.Event) -> bool:
    return event.wait(WITHIN)


def test_a_blocked_loop_is_logged_with_its_stack_and_its_reconciles() -> None:
    blocked, goes_on = Arrival("is blocked"), Arrival("goes on")
    log = logging.getLogger("masthead.controller")
    log.addHandler(blocked)
    log.addHandler(goes_on)

    async def main() -> None:
        with Watchdog(lambda: "sites default/blog", limit=0.01):
            assert block_until(blocked.arrived)
            await asyncio.to_thread(goes_on.arrived.wait, WITHIN)

    try:
        asyncio.run(main())
    finally:
        log.removeHandler(blocked)
        log.removeHandler(goes_on)
    assert "sites default/blog" in blocked.message
    assert "in block_until" in blocked.message
    assert goes_on.arrived.is_set()


def test_the_thread_ends_with_the_watchdog() -> None:
    async def main() -> list[str]:
        with Watchdog(lambda: "", limit=0.01):
            pass
        others = [thread for thread in threading.enumerate() if thread.name == "masthead watchdog"]
        for other in others:
            await asyncio.to_thread(other.join, WITHIN)
        return [other.name for other in others if other.is_alive()]

    assert asyncio.run(main()) == []
