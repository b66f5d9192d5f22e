"""A handler that records its calls from any thread, and the threads of clients and handlers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead.api.core.v1 import ConfigMap

TIMEOUT = 30


def threads() -> list[str]:
    """The threads of clients and handlers."""
    names = [each.name for each in threading.enumerate()]
    return [name for name in names if name == "masthead-client" or name.startswith("masthead-handler-")]


class RecordingHandler:
    """Records the names of the objects that it is called with, from any thread."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.threads: set[str] = set()
        self._more = threading.Condition()

    def __call__(self, obj: ConfigMap) -> None:
        with self._more:
            self.names.append(obj.metadata.name)
            self.threads.add(threading.current_thread().name)
            self._more.notify_all()

    def until(self, name: str) -> list[str]:
        with self._more:
            assert self._more.wait_for(lambda: name in self.names, TIMEOUT)
            return list(self.names)
