"""Small requests beside other work, to find out how long they wait for it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from benchmarks.harness.wire import Connection

if TYPE_CHECKING:
    from benchmarks.harness.wire import Address


class Pings:
    """Sends small requests one after the other during a block.

    Attributes:
        longest: Seconds that the slowest of them took.
    """

    def __init__(self, address: Address) -> None:
        self.longest = 0.0
        self._address = address
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _send(self) -> None:
        request = self._address.request("GET", "/version")
        with Connection(self._address) as connection:
            # A pause, so that the load itself takes little of the machine.
            while not self._is_over.wait(0.002):
                began = time.perf_counter()
                connection.send(request)
                self.longest = max(self.longest, time.perf_counter() - began)
