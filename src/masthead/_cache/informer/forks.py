"""Informers in forked processes.

A fork copies the store, but neither the event loop nor the threads that fill it. The copy would be frozen, and look
healthy. So in the child, informers that run in the parent are disowned: reading them is an error.

Reads pay nothing for that, because the hook in the child replaces the store. Informers of a virtual loop that was
forked go on in the child.
"""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet

from masthead._meta.forks import is_forked_with_loop

__all__ = ["Disownable", "forget_running", "note_running"]


class Disownable(Protocol):
    """An object that runs in one process only."""

    def disown(self) -> None:
        """Refuse all reads: this is a forked child, and the object runs in the parent."""
        ...


_running: Final[WeakSet[Disownable]] = WeakSet()


def note_running(started: Disownable) -> None:
    """Disown an object in processes forked from now on."""
    _running.add(started)


def forget_running(ended: Disownable) -> None:
    """Let forked processes read an object that has ended."""
    _running.discard(ended)


def _disown_all() -> None:
    if is_forked_with_loop():
        return
    for running in list(_running):
        running.disown()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
