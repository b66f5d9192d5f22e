"""Detection of green threads that replace threads of the operating system.

gevent and eventlet replace `threading.Thread` by greenlets, which run until they yield. An event loop in such a
"thread" never yields to its callers: both would wait for ever. If only sockets are replaced, every thread gets its own
scheduler of greenlets, which ends the wait of our loop with errors.
"""

from __future__ import annotations

import sys
from typing import Final

from masthead.errors import ConfigError

__all__ = ["refuse_green_threads"]

_CHECKS: Final = (
    ("gevent", "gevent.monkey", "is_module_patched", ("threading", "select", "socket")),
    ("eventlet", "eventlet.patcher", "is_monkey_patched", ("thread", "select", "socket")),
)
"""The library, its module, the function that reports patches, and the patches that break an event loop in a thread."""


def refuse_green_threads(what: str) -> None:
    """Check that threads and sockets are those of the operating system.

    Args:
        what: What needs such threads, for the message.

    Raises:
        ConfigError: If a library has replaced them.
    """
    for library, module, function, names in _CHECKS:
        # Only a library that was imported can have patched anything.
        patched = getattr(sys.modules.get(module), function, None)
        if patched is not None and any(map(patched, names)):
            raise ConfigError(
                f"{what} has an event loop in a thread of its own, and {library} has replaced threads or sockets "
                "by green ones, with which it would wait for ever; use workers with real threads (gunicorn's gthread, "
                "Celery's threads or prefork), or masthead.aio in an asyncio server"
            )
