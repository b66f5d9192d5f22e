"""What handlers in threads were told, and which threads there are."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead.api.core.v1 import ConfigMap

PATIENCE = 30


def threads() -> list[str]:
    """The threads of clients and handlers."""
    names = [each.name for each in threading.enumerate()]
    return [each for each in names if each == "masthead-client" or each.startswith("masthead-handler-")]


class Heard:
    """Names that a handler was told, from whatever thread."""

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
            assert self._more.wait_for(lambda: name in self.names, PATIENCE)
            return list(self.names)
