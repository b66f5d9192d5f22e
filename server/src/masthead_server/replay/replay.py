"""The controls of a replay, for any thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from masthead._module import set_module
from masthead.errors import ArgumentError, ConfigError
from masthead_server.argument_checks import check_number, check_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead._recording.recording import RecordedMoment
    from masthead._recording.states import ObservedChange
    from masthead_server.loop_caller import LoopCaller
    from masthead_server.replay.playback import Playback

__all__ = ["Replay"]


@set_module("masthead.server")
class Replay:
    """The replay of a recording: the server has the state of a moment, and plays the changes after it.

    While it plays, the server refuses writes of clients with 403, so that every object has its recorded versions.

    Threads: any.
    """

    def __init__(self, playback: Playback, loop: LoopCaller) -> None:
        self._playback = playback
        self._loop = loop

    def __repr__(self) -> str:
        does = "plays" if self.is_playing else "stands"
        return f"<Replay {does} at {self.time}, version {self.version or 'none'}>"

    @property
    def time(self) -> datetime:
        """The recorded time that the server has reached."""
        return self._playback.time

    @property
    def version(self) -> str:
        """The version of the last change until now; empty before the first."""
        return self._playback.version

    @property
    def is_playing(self) -> bool:
        """Whether it plays now."""
        return self._playback.is_playing

    @property
    def is_finished(self) -> bool:
        """Whether it has reached the end of the recording."""
        return self._playback.is_finished

    def play(
        self,
        until: RecordedMoment | None = None,
        *,
        speed: float = 1.0,
        leave_out: Callable[[ObservedChange], bool] | None = None,
        accepts_writes: bool = False,
    ) -> None:
        """Play the changes until a moment; `wait` waits for it. A call while it plays changes moment and speed.

        Args:
            until: The moment; None for the end.
            speed: How many times faster than recorded, on the server's clock; 0 for as fast as possible.
            leave_out: Tells of a change whether it is not played.
            accepts_writes: Whether clients may write at the same time. On an object that they have written, only the
                fields of a change are set; a taken version gives way to the next free one.

        Raises:
            ArgumentError: If the moment is not one of the recording, or has passed, or the speed is negative.
            ClosedError: If the server has stopped.
        """
        check_number("speed", speed)
        if speed < 0:
            raise ArgumentError(f"speed is a factor, or 0 for as fast as possible, not {speed}", value=speed)
        self._loop.call(lambda: self._playback.play(until, speed, leave_out, accepts_writes=accepts_writes))

    async def wait(self) -> None:
        """Wait until it has stopped playing.

        Raises:
            ClosedError: If the server has stopped, or stops during the wait.
        """
        self._loop.check_running()
        if self._loop.is_own_thread():
            await self._wait()
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._wait(), self._loop.loop))

    def block(self, *, timeout: float | None = None) -> None:
        """Block until it has stopped playing, as `wait` awaits it.

        Args:
            timeout: Seconds of real time; None for any number.

        Raises:
            TimeoutError: If it still plays after that time.
            ClosedError: If the server has stopped, or stops during the wait.
            ConfigError: If it is called in the server's own event loop, which it would block.
        """
        if timeout is not None:
            check_seconds("timeout", timeout)
        self._loop.check_running()
        if self._loop.is_own_thread():
            raise ConfigError("this would block the server's own event loop: await server.replay.wait() instead")
        asyncio.run_coroutine_threadsafe(self._wait(), self._loop.loop).result(timeout)

    async def _wait(self) -> None:
        await self._playback.wait()
        self._loop.check_running()
