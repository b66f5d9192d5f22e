"""Plays a recording on a server's clock.

::

    IDLE ──play──> PLAYING ──the moment is reached──> IDLE
"""

from __future__ import annotations

import asyncio
import logging
import math
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead._recording.recording import Recording
from masthead.errors import ArgumentError, ConfigError, RecordingError
from masthead_server.clock import VirtualClock
from masthead_server.replay.initial_state import restore_state
from masthead_server.replay.player import Player
from masthead_server.replay.timeline import Point, Timeline
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead._recording.recording import RecordedMoment
    from masthead._recording.states import ObservedChange
    from masthead_server.clock import Timer
    from masthead_server.cluster import ClusterState
    from masthead_server.settings import Settings

__all__ = ["Playback", "open_playback"]

_log: Final = logging.getLogger("masthead.server")

_BATCH: Final = 200
"""Changes that are played as fast as possible before clients have their turn again."""


class Playback:
    """The server has the state of a moment, and plays the changes after it. All calls come from one thread.

    Args:
        cluster: The cluster state, which must be empty.
        recording: The recording.
        owns: Whether to close the recording at the end.
    """

    def __init__(self, cluster: ClusterState, recording: Recording, *, owns: bool) -> None:
        self._cluster = cluster
        self._recording = recording
        self._owns = owns
        self._timeline = Timeline(recording)
        # What follows the damage is missing from the replay as well.
        if recording.cut_off:
            _log.warning("the end of the recording is missing: %s", recording.cut_off)
        self._player = Player(cluster)
        self._point = self._target = self._timeline.begin
        self._next = 0
        """The number of steps that are played."""
        self._speed = 0.0
        self._began = cluster.clock.now()
        self._leave_out: Callable[[ObservedChange], bool] | None = None
        self._accepts_writes = False
        self._timer: Timer | None = None
        self._standing = asyncio.Event()
        self._standing.set()

    @property
    def time(self) -> datetime:
        """The recorded time that the server has reached."""
        if not self.is_playing or not self._speed:
            return self._point.time
        passed = (self._cluster.clock.now() - self._began) * self._speed
        return min(self._point.time + passed, self._target.time)

    @property
    def version(self) -> str:
        """The version of the last change until now; empty before the first."""
        return str(self._timeline.steps[self._next - 1].version) if self._next else ""

    @property
    def is_playing(self) -> bool:
        """Whether it plays now."""
        return not self._standing.is_set()

    @property
    def is_finished(self) -> bool:
        """Whether it has reached the end of the recording."""
        return not self.is_playing and self._point.steps == len(self._timeline.steps)

    def start(self, at: RecordedMoment | None, speed: float | None) -> None:
        """Give the server the state of a moment, and play if there is a speed.

        Args:
            at: The moment; None for the begin if there is a speed, otherwise for the end.
            speed: The speed; None to stand still.

        Raises:
            ArgumentError: If the moment is not one of the recording.
        """
        timeline = self._timeline
        first = timeline.begin if speed is not None else timeline.end
        self._point = first if at is None else timeline.find(at)
        self._next = self._point.steps
        restore_state(self._cluster, self._recording, timeline.steps[: self._next], self._player)
        self._cluster.check_writable = self._check_writable
        clock = self._cluster.clock
        if isinstance(clock, VirtualClock):
            clock.begin_after(self._point.time)
        if speed is not None:
            self.play(None, speed)

    def play(
        self,
        until: RecordedMoment | None,
        speed: float,
        leave_out: Callable[[ObservedChange], bool] | None = None,
        *,
        accepts_writes: bool = False,
    ) -> None:
        """Play until a moment; see `Replay.play`.

        Raises:
            ArgumentError: If the moment is not one of the recording, or has passed.
        """
        target = self._timeline.end if until is None else self._timeline.find(until)
        now = self.time
        if target.steps < self._next or target.time < now:
            raise ArgumentError(
                f"the replay has passed that moment: it is at {now}, version {self.version}", value=until
            )
        self._cancel()
        self._leave_out, self._accepts_writes = leave_out, accepts_writes
        self._point, self._target = Point(self._next, now), target
        self._speed = 0.0 if math.isinf(speed) else speed
        self._began = self._cluster.clock.now()
        self._standing.clear()
        # In the next turn: who has asked for it may open watches before.
        self._timer = asyncio.get_running_loop().call_soon(self._tick if self._speed else self._rush)

    async def wait(self) -> None:
        """Wait until it has stopped playing."""
        await self._standing.wait()

    def stop(self) -> None:
        """Stop playing."""
        self._cancel()
        self._standing.set()
        if self._owns:
            self._recording.close()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rush(self) -> None:
        """Play as fast as possible."""
        end = min(self._next + _BATCH, self._target.steps)
        while self._next < end:
            self._step()
        if self._next < self._target.steps:
            self._timer = asyncio.get_running_loop().call_soon(self._rush)
        else:
            self._stand()

    def _tick(self, reached: datetime | None = None) -> None:
        """Play the due changes, and come back for the next one.

        Args:
            reached: The time of the timer: rounding must not let it come too early.
        """
        now, steps = self.time, self._timeline.steps
        now = now if reached is None else max(now, reached)
        while self._next < self._target.steps and steps[self._next].due <= now:
            self._step()
        is_last = self._next == self._target.steps
        if is_last and now >= self._target.time:
            self._stand()
            return
        due = self._target.time if is_last else steps[self._next].due
        seconds = (due - now) / timedelta(seconds=self._speed)
        self._timer = self._cluster.clock.call_later(seconds, lambda: self._tick(due))

    def _step(self) -> None:
        step = self._timeline.steps[self._next]
        self._next += 1
        change = self._recording.change(step.position)
        if self._leave_out is not None and self._leave_out(change):
            self._player.leave_out(change)
            return
        self._cluster.is_replaying = True
        try:
            self._player.play(change, step.version)
        finally:
            self._cluster.is_replaying = False

    def _stand(self) -> None:
        self._timer = None
        # The time of the moment, which may be later than the last change.
        self._point = self._target
        self._leave_out, self._accepts_writes = None, False
        self._standing.set()

    def _check_writable(self) -> None:
        if self.is_playing and not self._cluster.is_replaying and not self._accepts_writes:
            raise StatusFailure(
                403,
                "Forbidden",
                f"this server replays a recording until {self._target.time:%Y-%m-%dT%H:%M:%SZ}, and refuses writes "
                "until then",
            )


def open_playback(settings: Settings, cluster: ClusterState) -> Playback:
    """Open the recording of a server.

    Raises:
        ConfigError: If it cannot be read.
    """
    source = settings.recording
    owns = not isinstance(source, Recording)
    try:
        recording = source if isinstance(source, Recording) else Recording(source or "")
    except RecordingError as error:
        raise ConfigError(str(error)) from None
    try:
        return Playback(cluster, recording, owns=owns)
    except BaseException as error:
        if owns:
            recording.close()
        if isinstance(error, RecordingError):
            raise ConfigError(str(error)) from None
        raise
