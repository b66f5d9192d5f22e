"""Locks for module-level state that are safe across ``os.fork``.

A lock that another thread holds at the moment of a fork stays locked in the child for ever, and the state that it
guards may be inconsistent. So a fork first acquires all of these locks; parent and child then release them.
"""

from __future__ import annotations

import os
import threading


def fork_safe_lock() -> threading.RLock:
    """Create a reentrant lock that is unlocked, with consistent state, after a fork.

    For module-level state only: it is never garbage-collected. If two are nested, the outer one must be created later,
    because a fork acquires the newest first.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
