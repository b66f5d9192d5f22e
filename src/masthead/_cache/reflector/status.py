"""The status of a reflector."""

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
    """The status of one reflector. Written on the event loop, read from any thread.

    Attributes:
        phase: The phase of its list-watch.
        is_waiting: Whether it waits before its next attempt.
        is_open: Whether a watch is open.
        contact: The time of the last list, event or bookmark, by the event loop's clock.
        event: The time of the last change.
        error: The last error.
        error_at: The time of the last error.
        failures: The number of failed attempts in a row.
        relists: The number of lists after the first.
        reconnects: The number of watches that resumed where another had ended.
        broken: The problems of objects that cannot be stored, by key.
        other_shards: The number of dropped objects whose shard is not selected.
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
        """The phase in one word, for people."""
        if self.is_waiting and self.failures:
            return "waiting"
        return "listing" if self.phase in {Phase.STREAMING, Phase.PROBING, Phase.LISTING} else "watching"
