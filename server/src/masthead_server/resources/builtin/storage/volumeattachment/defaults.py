"""Defaults of VolumeAttachments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import round_up, shape
from masthead_server.resources.defaulting.pod_template import STORAGE

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

_INLINE_VOLUME: Final = shape(inside={"capacity": round_up, **STORAGE})
DEFAULTS: Final[Fill] = shape(
    inside={"spec": shape(inside={"source": shape(inside={"inlineVolumeSpec": _INLINE_VOLUME})})}
)
