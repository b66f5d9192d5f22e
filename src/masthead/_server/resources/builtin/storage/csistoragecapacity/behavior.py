"""Behavior of CSIStorageCapacities."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.behavior import Behavior, always
from masthead._server.resources.builtin.storage.csistoragecapacity.warnings import capacity_warnings

BEHAVIOR: Final = Behavior(warnings=always(capacity_warnings))
