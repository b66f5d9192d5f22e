"""The watcher on kopf: an event handler with kopf's default settings. `benchmarks.recovery.watchers` has the protocol.

Imports nothing of masthead, since kopf may be in another interpreter.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

kopf: Any = importlib.import_module("kopf")


class Reporter:
    """Prints events; the first one is that of the object that the server has from the beginning."""

    def __init__(self) -> None:
        self._is_ready = False

    def report(self, name: str, body: Mapping[str, Any], **_: object) -> None:
        """Print an event."""
        value = body.get("data", {}).get("n")
        if value is None:
            return
        print("seen", name, value, flush=True)
        if not self._is_ready:
            self._is_ready = True
            print("ready", flush=True)


def main() -> None:
    """Watch until the process is ended."""
    kopf.on.event("", "v1", "configmaps")(Reporter().report)
    asyncio.run(kopf.operator(namespaces=["default"], standalone=True))


if __name__ == "__main__":
    main()
