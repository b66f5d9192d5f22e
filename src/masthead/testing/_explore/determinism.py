"""Repeatable runs: the random sources of Python give the same numbers in each run with one seed."""

from __future__ import annotations

import os
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["seeded_process"]


@contextmanager
def seeded_process(seed: int) -> Generator[None]:
    """Seed ``random``, ``os.urandom``, ``secrets`` and ``uuid.uuid4`` of this process for a block.

    Operators generate names and passwords with them. Keys of TLS are not affected: OpenSSL has its own source.
    """
    state, urandom = random.getstate(), os.urandom
    source = random.Random(f"masthead {seed}")
    random.seed(source.getrandbits(64))
    os.urandom = source.randbytes
    random._urandom = source.randbytes  # type: ignore[attr-defined] # noqa: SLF001 - the source of `secrets`
    try:
        yield
    finally:
        random._urandom = os.urandom = urandom  # type: ignore[attr-defined] # noqa: SLF001
        random.setstate(state)
