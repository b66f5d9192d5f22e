"""Signals to the built-in shell, and the traps for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

__all__ = ["ShellSignals"]


class ShellSignals:
    """The traps of a shell, and the signals that wait for them.

    Attributes:
        traps: The command for each signal; empty to ignore the signal.
        sleepers: Events that a signal sets.
    """

    def __init__(self) -> None:
        self.traps: dict[str, str] = {}
        self.sleepers: set[asyncio.Event] = set()
        self._pending: list[str] = []

    @property
    def is_pending(self) -> bool:
        """Whether a trap has to run next."""
        return bool(self._pending)

    def deliver(self, name: str) -> bool:
        """Send a signal; return False if the shell has no trap for it, and so ends."""
        if name not in self.traps:
            return False
        if self.traps[name]:
            self._pending.append(name)
            for sleeper in self.sleepers:
                sleeper.set()
        return True

    def take(self) -> str:
        """Return the text of the next trap to run; empty for none."""
        return self.traps.get(self._pending.pop(0), "") if self._pending else ""
