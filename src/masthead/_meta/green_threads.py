"""Detection of green threads in place of threads of the operating system.

gevent and eventlet replace `threading.Thread` by greenlets, which run one at a time until they switch by themselves. An
event loop in such a "thread" never gives way to its callers: each would wait for the other for ever. With threads left alone and
sockets replaced, every thread gets a scheduler of greenlets of its own, which ends our loop's wait with errors.
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
"""The library, its module, the function that reports patches, and its names for what an event loop in a thread needs."""


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
                "by green ones, with which it would wait for ever; use workers with real threads (gunicorn's gthread, Celery's "
                "threads or prefork), or masthead.aio"
            )
