"""Defaults of PersistentVolumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import round_up, shape
from masthead_server.resources.defaulting.pod_template import STORAGE

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            blank={"persistentVolumeReclaimPolicy": "Retain"},
            unset={"volumeMode": "Filesystem"},
            inside={"capacity": round_up, **STORAGE},
        ),
        "status": shape(blank={"phase": "Pending"}),
    }
)
