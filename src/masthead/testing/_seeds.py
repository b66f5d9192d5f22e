"""The random numbers of an environment, all from one seed."""

from __future__ import annotations

from random import Random
from typing import Final

from masthead._sansio.randomness import current_source, token_hex, use_source

__all__ = ["SeededStreams"]

_TEST: Final = "test"
_TOKEN_BYTES: Final = 16


class SeededStreams:
    """A stream of random numbers for each replica and for the test itself, so that none depends on the others' use.

    Args:
        seed: The seed of all streams; None for the system's randomness.
    """

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self._streams: dict[str, Random] = {}
        self._previous: Random | None = None

    def enter(self) -> None:
        """Set the stream of the test."""
        self._previous = current_source()
        self.use(_TEST)

    def leave(self) -> None:
        """Restore the randomness that the test had before."""
        if self._seed is not None:
            use_source(self._previous)

    def use(self, name: str = _TEST) -> None:
        """Set the stream of the current task. A stream continues where its last user has left it."""
        if self._seed is None:
            return
        if name not in self._streams:
            self._streams[name] = Random(f"{self._seed} of {name}")
        use_source(self._streams[name])

    def server_options(self) -> dict[str, object]:
        """Return the options of an embedded server that uses the seed."""
        return {} if self._seed is None else {"seed": self._seed, "token": token_hex(_TOKEN_BYTES)}
