"""The random numbers of the library: from the system, or from one seed for all tasks of a test."""

from __future__ import annotations

import random as _random
import secrets
from contextvars import ContextVar
from typing import Final

__all__ = ["current_source", "random", "token_hex", "use_source"]

_source: Final[ContextVar[_random.Random | None]] = ContextVar("masthead.randomness", default=None)
"""The generator of a task, inherited by its child tasks and by the threads of its functions."""


def random() -> float:
    """Return a number in [0, 1): the next one of the task's generator, or of Python's global one."""
    source = _source.get()
    return _random.random() if source is None else source.random()


def token_hex(size: int) -> str:
    """Return a number of random bytes in hexadecimal digits, which nobody can guess unless a test has set a seed."""
    source = _source.get()
    return secrets.token_hex(size) if source is None else source.randbytes(size).hex()


def current_source() -> _random.Random | None:
    """Return the generator of the current task; None for the system's randomness."""
    return _source.get()


def use_source(source: _random.Random | None) -> None:
    """Set the generator of the current task, and of the tasks that it starts from now on."""
    _source.set(source)
