"""Forks of the process, and the event loops that go on in the child."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

__all__ = ["fork_with_loop", "is_forked_with_loop", "loop_process"]


@dataclass(slots=True)
class _State:
    """The state of this process.

    Attributes:
        pid: The process in which its event loops were started.
        keeps_loop: Whether a fork is under way whose child takes over the loop.
    """

    pid: int
    keeps_loop: bool = False


_state: Final = _State(os.getpid())


def loop_process() -> int:
    """Return the id of the process in which the event loops of this process were started.

    It changes with every fork but `fork_with_loop`: what ran in the parent's loop does not run in the child.
    """
    return _state.pid


def is_forked_with_loop() -> bool:
    """Return whether the child of the fork under way takes over the loop of its parent."""
    return _state.keeps_loop


def fork_with_loop() -> int:
    """Fork as `os.fork` does, for a caller that runs its event loop in the child, too.

    The loop must have no threads, and no sockets that the child would share with the parent.
    """
    _state.keeps_loop = True
    try:
        return os.fork()
    finally:
        _state.keeps_loop = False


def _note_fork() -> None:
    if not _state.keeps_loop:
        _state.pid = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
