"""Pauses of event loops during forks.

A fork copies locks as they are. A lock that another thread holds at that moment stays locked in the child for ever:
those of OpenSSL, of an import or of a log file, none of which masthead can release there. So a fork waits until the
event loops in threads of masthead are between two callbacks, where they hold no locks.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from masthead._meta.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["paused_at_forks"]

_TIMEOUT: Final = 1.0
"""Seconds that a fork waits for a loop, whose callback may in turn wait for the thread that forks."""

_loops: Final[dict[asyncio.AbstractEventLoop, int]] = {}
"""The loops to pause, with their threads."""
_hooks: Final[list[Callable[[], None]]] = []
"""The registered hook, if there is one."""
_registering: Final = fork_safe_lock()


@contextmanager
def paused_at_forks() -> Generator[None]:
    """Pause the running event loop while another thread forks, for the length of a block.

    The loop must run on for a moment after the block, or a fork at its end waits for the timeout.
    """
    _register_hooks()
    loop = asyncio.get_running_loop()
    _loops[loop] = threading.get_ident()
    try:
        yield
    finally:
        # The child of a fork has forgotten the loops of its parent.
        _loops.pop(loop, None)


class _Pause:
    """One fork, seen from the loops."""

    def __init__(self) -> None:
        self._standing = threading.Semaphore(0)
        self._is_over = threading.Event()

    def begin(self) -> None:
        """Wait until all loops of other threads stand still."""
        deadline = time.monotonic() + _TIMEOUT
        count = 0
        for loop, thread in list(_loops.items()):
            if thread == threading.get_ident():
                continue
            try:
                loop.call_soon_threadsafe(self._stand)
            except RuntimeError:  # the loop has closed
                continue
            count += 1
        for _ in range(count):
            if not self._standing.acquire(timeout=max(0.0, deadline - time.monotonic())):
                return

    def end(self) -> None:
        """Resume the loops; one that has not stopped in time does not stop any more."""
        self._is_over.set()

    def _stand(self) -> None:
        self._standing.release()
        self._is_over.wait()


class _Forks(threading.local):
    """The fork of each thread: several may fork at the same time."""

    pause: _Pause | None = None


_forks: Final = _Forks()


def _pause_loops() -> None:
    _forks.pause = _Pause()
    _forks.pause.begin()


def _resume_loops() -> None:
    pause, _forks.pause = _forks.pause, None
    if pause is not None:
        pause.end()


def _forget_loops() -> None:
    _forks.pause = None
    for loop, thread in list(_loops.items()):
        if thread != threading.get_ident():
            del _loops[loop]


def _register_hooks() -> None:
    """Pause loops at forks from now on."""
    # Not on import: a fork runs the newest hook first. It must not take the locks of `fork_safe_lock` before the loops
    # stand still, because a loop that waits for such a lock does not come to a stand.
    with _registering:
        if not _hooks and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_pause_loops, after_in_parent=_resume_loops, after_in_child=_forget_loops)
            _hooks.append(_pause_loops)
