"""Fights about objects: a controller writes the same content again and again, because others change it back.

Only repeated content counts, because it proves that the changes between were undone: a user who scales often makes the
controller write something else each time, and a status that others write is no reason to write the old content again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

__all__ = ["MAX_FIGHT_DELAY", "FightDetector", "fight_delay"]

K = TypeVar("K", bound=Hashable)

MAX_FIGHT_DELAY: Final = 1.0
"""Maximum seconds between two writes of a fight: longer, and the object would be wrong for longer, too."""
REPEATS: Final = 20
"""Repeated writes within `PERIOD` that are a fight. People and handshakes between programs repeat less often."""
PERIOD: Final = 60.0
WARNING_INTERVAL: Final = 300.0
"""Seconds between two warnings about one object."""
_FIRST_DELAY: Final = 0.05
_UNCOMPARED: Final = 3
"""Writes of an object whose content is not compared: most objects are written less often, and comparing costs time."""
_MAX_KEYS: Final = 10_000
"""Number of counted objects. A fight about another one is not slowed down."""


def fight_delay(repeats: int) -> float:
    """Seconds until the next reconcile of a fight: doubled each time.

    Args:
        repeats: The number of repeated writes since the fight was detected, from 1.
    """
    # The exponent is limited, because a long fight would overflow the power.
    return float(min(_FIRST_DELAY * 2.0 ** min(repeats - 1, 16), MAX_FIGHT_DELAY))


@dataclass(slots=True)
class _Series:
    """The writes of one object.

    Attributes:
        uid: Its uid.
        version: The version after the last write.
        since: The time of the first counted write.
        count: The number of writes since then.
        content: The content of the last compared write; empty if none was compared.
        repeats: The times of the last writes with this content.
        lasting: The number of repeated writes since the fight was detected.
        warned: The time of the last warning; None if there was none.
    """

    uid: str
    version: str
    since: float
    count: int = 0
    content: bytes = b""
    repeats: deque[float] = field(default_factory=lambda: deque[float](maxlen=REPEATS))
    lasting: int = 0
    warned: float | None = None


class FightDetector(Generic[K]):
    """Detects fights, by object and writer.

    Args:
        max_keys: The number of objects whose writes are counted.
    """

    def __init__(self, max_keys: int = _MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._series: OrderedDict[K, _Series] = OrderedDict()

    def count(self, key: K, uid: str, replaced: str | None, version: str, now: float) -> bool:
        """Count a write, and return whether its content is to be compared: pass it to `compare`.

        Args:
            key: The object and its writer.
            uid: The uid of the object.
            replaced: The version that the write replaced; empty if it created the object, None if unknown.
            version: The version after the write.
            now: The time.
        """
        series = self._series.get(key)
        if series is None or series.uid != uid:
            series = self._series[key] = _Series(uid, "", now)
            if len(self._series) > self._max_keys:
                self._series.popitem(last=False)
        self._series.move_to_end(key)
        # Without a change by another client since the last write, nothing was changed back.
        is_undisturbed = replaced in {"", series.version}
        series.version = version
        if is_undisturbed:
            return False
        # The count of a fight continues, or each period would begin with writes at full speed.
        if now - series.since > PERIOD and not series.lasting:
            series.since, series.count = now, 0
        series.count += 1
        return series.count > _UNCOMPARED

    def compare(self, key: K, content: bytes, now: float) -> float:
        """Compare the content of a counted write with that of the last one.

        Returns:
            Seconds until the next reconcile; 0 if there is no fight.
        """
        series = self._series[key]
        if content != series.content:
            series.content, series.lasting = content, 0
            series.repeats.clear()
            return 0.0
        times = series.repeats
        times.append(now)
        if len(times) < REPEATS or now - times[0] > PERIOD:
            series.lasting = 0
            return 0.0
        series.lasting += 1
        return fight_delay(series.lasting)

    def fights(self) -> list[K]:
        """Return the keys of the present fights."""
        return [key for key, series in self._series.items() if series.lasting]

    def is_warning_due(self, key: K, now: float) -> bool:
        """Whether to log a warning about a fight; then call `warned`."""
        warned = self._series[key].warned
        return warned is None or now - warned >= WARNING_INTERVAL

    def warned(self, key: K, now: float) -> None:
        """Note a warning, so that the next one follows only after an interval."""
        self._series[key].warned = now
