"""Locks of module-level state, which must be free in a process that was forked off.

A lock that another thread holds at the moment of a fork stays held in the child for ever, and what it guards stays half
done. So a fork waits until it has each of these locks itself, and parent and child let go of them.
"""

from __future__ import annotations

import os
import threading


def fork_safe_lock() -> threading.RLock:
    """A reentrant lock that is free, and guards something whole, after a fork.

    For module-level state only: it is never collected. Where one is taken while another is held, the outer one must
    have been made later, because a fork takes the newest first.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
