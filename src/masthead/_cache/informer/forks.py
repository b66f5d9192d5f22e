"""Informers in forked processes.

A fork copies the store, but neither the event loop nor the threads that fill it. Such a copy would be frozen, and look
healthy. So in the child, informers that run in the parent are disowned: reading them is an error.

Reading costs nothing for it: the hook that runs in the child replaces the store.
"""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet

__all__ = ["Disownable", "forget_running", "note_running"]


class Disownable(Protocol):
    """Something that runs in one process only."""

    def disown(self) -> None:
        """Refuse to work: this is a forked child, and it runs in the parent."""
        ...


_running: Final[WeakSet[Disownable]] = WeakSet()


def note_running(started: Disownable) -> None:
    """Disown something if the process is forked from now on."""
    _running.add(started)


def forget_running(ended: Disownable) -> None:
    """Leave something alone in forked processes: it has ended, and its store may be read everywhere."""
    _running.discard(ended)


def _disown_all() -> None:
    for running in list(_running):
        running.disown()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
