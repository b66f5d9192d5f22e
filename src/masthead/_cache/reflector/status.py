"""What a reflector records about itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from masthead._module import set_module
from masthead._sansio.listwatch_steps import Phase

__all__ = ["ReflectorStatus"]

_NEVER: Final = float("inf")


@set_module("masthead.aio.cache")
@dataclass(slots=True)
class ReflectorStatus:
    """What one reflector notes down about itself. Written on the loop, read from any thread.

    Attributes:
        phase: What it is doing.
        is_waiting: Whether it waits before its next attempt.
        is_open: Whether a watch is open.
        contact: When the server last sent a state, an event or a bookmark; in the loop's time.
        event: When the last change came.
        error: What went wrong last.
        error_at: When.
        failures: How many attempts have failed in a row.
        relists: How often a full state was asked for, though there was one.
        reconnects: How often a watch went on from where another had ended.
        broken: Keys of objects that cannot be used, and why.
        other_shards: How many objects of shards came that are not selected, and were dropped.
    """

    phase: Phase = Phase.STREAMING
    is_waiting: bool = False
    is_open: bool = False
    contact: float = -_NEVER
    event: float = -_NEVER
    error: str = ""
    error_at: float = -_NEVER
    failures: int = 0
    relists: int = 0
    reconnects: int = 0
    broken: dict[str, str] = field(default_factory=dict[str, str])
    other_shards: int = 0

    @property
    def state(self) -> str:
        """The phase, in a word for people."""
        if self.is_waiting and self.failures:
            return "waiting"
        return "listing" if self.phase in {Phase.STREAMING, Phase.PROBING, Phase.LISTING} else "watching"
